package tool_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/itchyny/gojq"
	_ "modernc.org/sqlite"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/engine/tool/query"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/sandbox/scratch"
)

// TestMain makes the test binary able to be the process that answers queries.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == query.Subcommand {
		os.Exit(query.Main(os.Stdin, os.Stdout, os.Stderr, os.Exit))
	}
	os.Exit(m.Run())
}

func queries(t testing.TB) *query.Runner {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return query.NewRunner(self)
}

// vector is one case of testdata/tools: its lines, each with its number.
type vector struct {
	name, file string
	lines      []string
	first      int
}

func vectors(t *testing.T) []vector {
	t.Helper()
	files, err := filepath.Glob("testdata/tools/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(b), "\n") {
			if name, ok := strings.CutPrefix(line, "== "); ok {
				all = append(all, vector{name: name, file: file, first: i + 2})
			} else if len(all) > 0 {
				all[len(all)-1].lines = append(all[len(all)-1].lines, line)
			}
		}
	}
	if len(all) < 20 {
		t.Fatalf("found %d cases, which cannot be all", len(all))
	}
	return all
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, boxes := range []struct {
		name      string
		provider  func(testing.TB) sandbox.Provider
		processes bool
	}{
		{"memory", func(testing.TB) sandbox.Provider { return sandboxtest.Memory() }, false},
		{"scratch", scratchBoxes, false},
		{"docker", dockerBoxes, true},
	} {
		t.Run(boxes.name, func(t *testing.T) {
			t.Parallel()
			p := boxes.provider(t)
			for _, v := range vectors(t) {
				t.Run(v.name, func(t *testing.T) {
					if slices.Contains(v.lines, "needs process") && !boxes.processes {
						t.Skip("no programs here")
					}
					(&player{t: t, v: v, files: map[string][]byte{}}).play(opened(t, p))
				})
			}
		})
	}
}

func opened(t testing.TB, p sandbox.Provider) sandbox.Session {
	t.Helper()
	box, err := p.Open(t.Context(), sandbox.Spec{})
	var lost *sandbox.BoxError
	if errors.As(err, &lost) && lost.Kind == sandbox.Image && os.Getenv("AGENTCLASH_REQUIRE_DOCKER") != "1" {
		t.Skipf("no image: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(context.Background()); err != nil {
			t.Errorf("close the box: %v", err)
		}
	})
	return box
}

func scratchBoxes(t testing.TB) sandbox.Provider {
	t.Helper()
	p, err := scratch.New(scratch.Options{Dir: t.TempDir(), Owner: "test", Alive: func(string) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// guest builds the program that runs in containers once.
var guest = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "agentclash-tool-test")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "agent")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, "../../sandbox/guest/internal/agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the guest: %w\n%s", err, out)
	}
	return os.ReadFile(bin)
})

func dockerBoxes(t testing.TB) sandbox.Provider {
	t.Helper()
	return imageBoxes(t, docker.BuiltinImage)
}

func imageBoxes(t testing.TB, image string) sandbox.Provider {
	t.Helper()
	o := docker.Options{
		Getenv: os.Getenv, Image: image, Guest: func(string) ([]byte, error) { return guest() },
		Owner: fmt.Sprintf("test/%d/%s", os.Getpid(), t.Name()), HostID: "agentclash-tool-test", Alive: func(string) bool { return true },
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	if _, err := docker.Probe(ctx, o); err != nil {
		if os.Getenv("AGENTCLASH_REQUIRE_DOCKER") == "1" {
			t.Fatalf("AGENTCLASH_REQUIRE_DOCKER is set: %v", err)
		}
		t.Skipf("no Docker engine: %v", err)
	}
	p, err := docker.Open(t.Context(), o)
	var lost *sandbox.BoxError
	if errors.As(err, &lost) && lost.Kind == sandbox.Image && os.Getenv("AGENTCLASH_REQUIRE_DOCKER") != "1" {
		t.Skipf("no image: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("close the provider: %v", err)
		}
	})
	return p
}

// player acts out one case.
type player struct {
	t             *testing.T
	v             vector
	files         map[string][]byte
	policy, tools map[string]any
	set           *tool.Set
	last          tool.Result
}

func (p *player) play(box sandbox.Session) {
	p.t.Helper()
	for i, line := range p.v.lines {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		where := fmt.Sprintf("%s:%d", p.v.file, p.v.first+i)
		switch verb {
		case "", "needs":
		case "policy":
			p.policy = p.object(where, rest)
		case "tools":
			p.tools = p.object(where, rest)
		case "file", "repeat", "sqlite":
			p.put(where, box, verb, rest)
		case "call":
			p.call(where, box, rest)
		case "want", "fails":
			p.check(where, rest, verb == "fails")
		case "from":
			origin := p.last.Origin
			if origin == "" {
				origin = "-"
			}
			if got := strings.Join(append([]string{origin}, p.last.Chain...), " "); got != rest {
				p.t.Errorf("%s: it came from %q, want %q", where, got, rest)
			}
		default:
			p.t.Fatalf("%s: unknown line %q", where, line)
		}
	}
}

func (p *player) object(where, text string) map[string]any {
	p.t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		p.t.Fatalf("%s: %v", where, err)
	}
	return m
}

func (p *player) put(where string, box sandbox.Session, verb, rest string) {
	p.t.Helper()
	name, rest, _ := strings.Cut(rest, " ")
	if strings.HasPrefix(name, `"`) {
		var err error
		if name, err = strconv.Unquote(name); err != nil {
			p.t.Fatalf("%s: %v", where, err)
		}
	}
	var data []byte
	if verb == "sqlite" {
		data = database(p.t, strings.Split(rest, ";")...)
	} else {
		times := 1
		if verb == "repeat" {
			count, text, _ := strings.Cut(rest, " ")
			n, err := strconv.Atoi(count)
			if err != nil {
				p.t.Fatalf("%s: %v", where, err)
			}
			times, rest = n, text
		}
		var text string
		if err := json.Unmarshal([]byte(rest), &text); err != nil {
			p.t.Fatalf("%s: %v", where, err)
		}
		data = []byte(strings.Repeat(text, times))
	}
	if err := box.WriteFile(p.t.Context(), name, data); err != nil {
		p.t.Fatalf("%s: %v", where, err)
	}
}

// database is a file as SQLite writes it.
func database(t testing.TB, statements ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	pool, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, s := range statements {
		if _, err := pool.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (p *player) call(where string, box sandbox.Session, rest string) {
	p.t.Helper()
	if p.set == nil {
		policy, err := tool.ParsePolicy(p.policy, p.tools)
		if err != nil {
			p.t.Fatalf("%s: %v", where, err)
		}
		if p.set, err = tool.NewSet(policy, queries(p.t)); err != nil {
			p.t.Fatalf("%s: %v", where, err)
		}
	}
	name, args, _ := strings.Cut(rest, " ")
	var err error
	p.last, err = p.set.Call(p.t.Context(), box, provider.ToolCall{ID: "1", Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		p.t.Fatalf("%s: %v", where, err)
	}
}

func (p *player) check(where, program string, failed bool) {
	p.t.Helper()
	if p.last.IsError != failed {
		p.t.Errorf("%s: error %v, want %v: %.300s", where, p.last.IsError, failed, p.last.Content)
	}
	var v any
	if err := json.Unmarshal([]byte(p.last.Content), &v); err != nil {
		p.t.Errorf("%s: the result is not JSON: %.300s", where, p.last.Content)
		return
	}
	q, err := gojq.Parse(program)
	if err != nil {
		p.t.Fatalf("%s: %v", where, err)
	}
	if got, _ := q.Run(v).Next(); got != true {
		p.t.Errorf("%s: %s says %v of %.600s", where, program, got, p.last.Content)
	}
}
