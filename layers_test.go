package main_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/agentclash/agentclash/"

// outside stands for every room that is not below cmd: rooms of commands put the others
// together.
const outside = "(outside cmd)"

// layers is the architecture: each room and the rooms it may import. A room
// that ends in /... stands for itself and everything below it.
var layers = map[string][]string{
	".":                                 {"cmd", "cmd/cli"},
	"scoring":                           {"scoring/encodings", "scoring/jsondoc", "scoring/mathexpr", "scoring/similarity", "scoring/textnorm"},
	"scoring/encodings":                 {},
	"scoring/jsondoc":                   {},
	"scoring/mathexpr":                  {},
	"scoring/similarity":                {},
	"scoring/textnorm":                  {},
	"scoring/stats":                     {},
	"scoring/compare":                   {"scoring", "scoring/sequential", "scoring/stats"},
	"scoring/sequential":                {"scoring", "scoring/stats"},
	"scoring/review":                    {"scoring"},
	"scoring/session":                   {"scoring", "scoring/compare", "scoring/stats"},
	"pack/template":                     {},
	"pack":                              {"scoring", "pack/template"},
	"pack/regression":                   {"pack", "scoring", "scoring/review"},
	"pack/convert":                      {"pack", "scoring"},
	"sandbox":                           {},
	"sandbox/egress":                    {},
	"sandbox/guest":                     {},
	"sandbox/guest/shell":               {},
	"sandbox/guest/embedded":            {},
	"sandbox/guest/small":               {"sandbox/guest", "sandbox/guest/shell"},
	"sandbox/guest/internal/agent":      {"sandbox/guest", "sandbox/guest/shell"},
	"sandbox/guestbox":                  {"sandbox", "sandbox/guest"},
	"sandbox/docker":                    {"sandbox", "sandbox/guest", "sandbox/guest/shell", "sandbox/guestbox"},
	"sandbox/e2b":                       {"sandbox", "sandbox/guest", "sandbox/guestbox"},
	"sandbox/e2b/e2btest":               {},
	"sandbox/scratch":                   {"sandbox"},
	"sandbox/sandboxtest":               {"sandbox"},
	"engine/provider":                   {},
	"engine/provider/wire":              {"engine/provider"},
	"engine/provider/openai":            {"engine/provider", "engine/provider/wire"},
	"engine/provider/anthropic":         {"engine/provider", "engine/provider/wire"},
	"engine/provider/gemini":            {"engine/provider", "engine/provider/wire"},
	"engine/provider/scripted":          {"engine/provider"},
	"engine/provider/endpoint":          {"engine/provider"},
	"engine/provider/providertest":      {"engine/provider"},
	"engine/provider/openai/openaitest": {},
	"engine/provider/vendortest":        {"engine/provider", "engine/provider/providertest", "engine/provider/wire"},
	"engine/event":                      {"scoring", "engine/provider"},
	"engine/event/diverge":              {"engine/event"},
	"engine/budget":                     {"engine/provider"},
	"engine/timebox":                    {},
	"engine/filelock":                   {},
	"engine/record":                     {"engine/event", "engine/filelock", "engine/provider", "engine/redact", "scoring/encodings"},
	"engine/tool":                       {"sandbox", "sandbox/egress", "engine/provider", "engine/redact", "engine/tool/query", "pack/template"},
	"engine/tool/query":                 {},
	"engine/proxy":                      {"engine/provider"},
	"engine/redact":                     {"scoring/encodings"},
	"engine/otlp":                       {"engine/event", "engine/provider", "scoring"},
	"engine/turn":                       {"pack", "scoring"},
	"engine/peers":                      {},
	"engine/steer":                      {},
	"engine/plan":                       {"pack", "scoring", "scoring/sequential", "sandbox", "sandbox/egress", "engine/budget", "engine/event", "engine/peers", "engine/provider", "engine/tool", "engine/tool/query", "engine/turn"},
	"engine/packtest":                   {"engine", "engine/plan", "engine/event", "engine/provider", "engine/tool", "engine/tool/query", "pack", "sandbox", "scoring"},
	"engine":                            {"pack", "scoring", "scoring/sequential", "sandbox", "sandbox/egress", "engine/event", "engine/plan", "engine/budget", "engine/timebox", "engine/provider", "engine/peers", "engine/proxy", "engine/record", "engine/redact", "engine/steer", "engine/tool", "engine/tool/query", "engine/turn"},
	"store":                             {"engine", "engine/plan", "engine/event", "scoring", "store/bundle"},
	"store/bundle":                      {"engine/plan", "engine/event", "scoring"},
	"cmd/view":                          {"engine/event", "engine/event/diverge", "scoring", "scoring/compare", "scoring/review", "scoring/sequential", "scoring/session", "scoring/stats"},
	"cmd/spec":                          {"engine/plan", "engine/provider", "pack", "scoring"},
	"cmd/ci":                            {"cmd/view", "pack", "scoring/compare", "scoring/stats"},
	"cmd/ci/git":                        {},
	"cmd/config":                        {"engine/plan"},
	"cmd/errcode":                       {},
	"cmd/manual":                        {},
	"docs/gen":                          {"cmd", "cmd/cli", "cmd/contract", "cmd/manual"},
	"cmd/report":                        {"cmd/view", "engine/event", "scoring", "scoring/compare"},
	"cmd/tui":                           {"engine/event", "scoring", "scoring/compare", "cmd/view", "cmd/tui/terminal", "cmd/tui/widget"},
	"cmd/tui/browse":                    {"engine/event", "cmd/view", "cmd/tui/terminal", "cmd/tui/widget"},
	"cmd/tui/tuitest":                   {"cmd/tui/widget"},
	"cmd/tui/widget":                    {"engine/event", "cmd/view"},
	"cmd/report/page":                   {"cmd/view", "engine/event", "scoring", "scoring/compare"},
	"cmd/report/page/pagetest":          {"cmd/report/page", "cmd/view", "engine/event", "engine/provider", "scoring"},
	"cmd/report/web":                    {"cmd/report/page", "cmd/view"},
	"cmd/tui/quiet":                     {},
	"cmd/tui/terminal":                  {"cmd/tui/quiet"},
	"cmd":                               {"..."},
	"cmd/cli":                           {outside, "cmd/config", "cmd/spec", "cmd/tui", "cmd/view"},
	"cmd/selector":                      {outside, "cmd/cli", "cmd/view"},
	"cmd/sandboxes":                     {outside, "cmd/agents", "cmd/cli", "cmd/config", "cmd/view"},
	"cmd/infra":                         {outside, "cmd/agents", "cmd/cli", "cmd/selector", "cmd/spec", "cmd/view"},
	"cmd/artifacts":                     {outside, "cmd/cli", "cmd/selector", "cmd/view"},
	"cmd/agents":                        {outside, "cmd/ci", "cmd/cli", "cmd/config", "cmd/selector", "cmd/spec", "cmd/view"},
	"cmd/packs":                         {outside, "cmd/agents", "cmd/cli", "cmd/report", "cmd/sandboxes", "cmd/selector", "cmd/view"},
	"cmd/datasets":                      {outside, "cmd/agents", "cmd/cli", "cmd/regressions", "cmd/selector", "cmd/view"},
	"cmd/regressions":                   {outside, "cmd/agents", "cmd/cli", "cmd/packs", "cmd/selector", "cmd/view"},
	"cmd/verdict":                       {outside, "cmd/cli", "cmd/report", "cmd/selector", "cmd/view"},
	"cmd/sessions":                      {outside, "cmd/cli", "cmd/selector", "cmd/view"},
	"cmd/runs":                          {outside, "cmd/agents", "cmd/cli", "cmd/regressions", "cmd/report", "cmd/sandboxes", "cmd/selector", "cmd/sessions", "cmd/verdict", "cmd/view"},
	"cmd/site":                          {outside, "cmd/cli", "cmd/report/page", "cmd/report/web", "cmd/runs", "cmd/selector", "cmd/verdict", "cmd/view"},
	"cmd/browser":                       {outside, "cmd/artifacts", "cmd/cli", "cmd/runs", "cmd/selector", "cmd/site", "cmd/tui/browse", "cmd/tui/widget", "cmd/verdict", "cmd/view"},
	"cmd/evaluation":                    {outside, "cmd/agents", "cmd/cli", "cmd/infra", "cmd/packs", "cmd/regressions", "cmd/report", "cmd/runs", "cmd/sandboxes", "cmd/selector", "cmd/sessions", "cmd/site", "cmd/tui", "cmd/verdict", "cmd/view"},
	"cmd/pipeline":                      {outside, "cmd/agents", "cmd/ci", "cmd/ci/git", "cmd/cli", "cmd/evaluation", "cmd/regressions", "cmd/report", "cmd/runs", "cmd/selector", "cmd/spec", "cmd/verdict", "cmd/view"},
	"cmd/setup":                         {outside, "cmd/agents", "cmd/cli", "cmd/config", "cmd/sandboxes", "cmd/selector", "cmd/view"},
	"cmd/contract":                      {outside, "cmd/agents", "cmd/cli", "cmd/config", "cmd/errcode", "cmd/evaluation", "cmd/manual", "cmd/view"},
	"bench":                             {"..."},
	"bench/stats":                       {"scoring/stats"},
}

// commandRooms are the rooms whose files are commands.
func commandRooms() []string {
	rooms := []string{"cmd"}
	for room, may := range layers {
		if slices.Contains(may, outside) {
			rooms = append(rooms, room)
		}
	}
	return rooms
}

// only says which modules are fenced into which rooms.
var only = map[string][]string{
	"github.com/docker/docker":               {"sandbox/docker"},
	"github.com/openai/openai-go":            {"engine/provider/openai"},
	"github.com/anthropics/anthropic-sdk-go": {"engine/provider/anthropic"},
	// too large to be linked: tests hold the adapter against its types
	"google.golang.org/genai": {},
	"go.opentelemetry.io":     {"engine/otlp"},
	// query reads the databases that agents leave in a box, in memory
	"modernc.org/sqlite":                 {"store", "engine/tool/query"},
	"modernc.org/libc":                   {"engine/tool/query"},
	"github.com/charmbracelet/bubbletea": {"cmd/tui", "cmd/tui/browse", "cmd/tui/terminal"},
	"github.com/spf13/cobra":             append(commandRooms(), "cmd/manual", "docs/gen"),
	"gopkg.in/yaml.v3":                   {"pack", "pack/regression", "pack/convert", "engine/provider/scripted", "cmd/agents", "cmd/cli", "cmd/config"},
	"gonum.org/v1/gonum":                 {"scoring/stats"},
	"github.com/bmatcuk/doublestar":      {"cmd/ci"},
}

// pure rooms may not reach the machine.
var pure = map[string][]string{
	"scoring":              machine,
	"scoring/compare":      machine,
	"scoring/review":       machine,
	"scoring/encodings":    machine,
	"scoring/jsondoc":      machine,
	"scoring/mathexpr":     machine,
	"scoring/sequential":   machine,
	"scoring/similarity":   machine,
	"scoring/session":      machine,
	"scoring/stats":        machine,
	"scoring/textnorm":     machine,
	"engine/event":         machine,
	"engine/event/diverge": machine,
	"engine/turn":          machine,
	"engine/peers":         machine,
	"cmd/view":             machine,
	"pack/convert":         machine,
	"store/bundle":         machine,
	"cmd/manual":           machine,
	"cmd/report":           machine,
	"cmd/report/page":      machine,
	"cmd/ci":               machine,
	"cmd/config":           machine,
	"cmd/errcode":          machine,
	"cmd/spec":             machine,
}

var machine = []string{"os", "net", "net/http", "os/exec", "database/sql"}

// wiring are the files where adapters may meet: those of models, and those of sandboxes.
var wiring = []string{"cmd/agents/wire.go", "cmd/sandboxes/wire.go"}

var adapters = []string{"engine/provider/openai", "engine/provider/anthropic", "engine/provider/gemini", "engine/provider/scripted", "engine/provider/endpoint", "sandbox/docker", "sandbox/e2b", "sandbox/scratch"}

// TestLayers reads the imports of every file that is built into the product.
func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	walkGo(t, func(room, file string, imports []string) {
		seen[room] = true
		allowed, known := layers[room]
		if !known {
			t.Errorf("%s: room %q is not on the floor plan: add it to layers, with what it may import", file, room)
			return
		}
		for _, imp := range imports {
			if dep, ours := strings.CutPrefix(imp, module); ours && !slices.Contains(allowed, dep) && !slices.Contains(allowed, "...") &&
				(strings.HasPrefix(dep, "cmd/") || !slices.Contains(allowed, outside)) {
				t.Errorf("%s: %s must not import %s", file, room, dep)
			}
			if dep := strings.TrimPrefix(imp, module); slices.Contains(commandRooms(), room) && slices.Contains(adapters, dep) && !slices.Contains(wiring, file) {
				t.Errorf("%s: adapters meet in %v only, so this file must not import %s", file, wiring, dep)
			}
			for fenced, rooms := range only {
				if (imp == fenced || strings.HasPrefix(imp, fenced+"/")) && !slices.Contains(rooms, room) {
					t.Errorf("%s: only %v may import %s, %s may not", file, rooms, fenced, room)
				}
			}
			if slices.Contains(pure[room], imp) {
				t.Errorf("%s: %s is pure and must not import %s", file, room, imp)
			}
		}
	})
	for room := range layers {
		if room != "bench" && !seen[room] {
			t.Errorf("layers names room %q, which has no Go file", room)
		}
	}
}

// TestDoorPlates wants a doc.go in every room.
func TestDoorPlates(t *testing.T) {
	has := map[string]bool{}
	rooms := map[string]bool{}
	walkGo(t, func(room, file string, _ []string) {
		rooms[room] = true
		if path.Base(file) == "doc.go" {
			has[room] = true
		}
	})
	for room := range rooms {
		if room != "." && !strings.Contains(room, "/internal/") && !has[room] {
			t.Errorf("room %s has no doc.go that says what is decided there", room)
		}
	}
}

// walkGo calls f for each Go file of the product that is no test, with its
// room and its imports. Seeing none is a failure.
func walkGo(t *testing.T, f func(room, file string, imports []string)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && p != "." || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		files++
		src, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, i := range src.Imports {
			imp, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			imports = append(imports, imp)
		}
		f(filepath.ToSlash(filepath.Dir(p)), filepath.ToSlash(p), imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Fatalf("found %d Go files, which cannot be all", files)
	}
}
