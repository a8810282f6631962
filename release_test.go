package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/cmd"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/manual"
)

// release is what the tests read of .goreleaser.yaml.
type release struct {
	ProjectName string `yaml:"project_name"`
	Builds      []struct {
		Binary       string
		Env          []string
		Goos, Goarch []string
		Flags, Tags  []string
		Ldflags      []string
		ModTimestamp string `yaml:"mod_timestamp"`
	}
	Archives []struct {
		NameTemplate    string `yaml:"name_template"`
		Formats         []string
		FormatOverrides []struct {
			Goos    string
			Formats []string
		} `yaml:"format_overrides"`
		Files []struct{ Src string }
	}
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
	}
}

// TestRelease holds .goreleaser.yaml against what the project promises: systems,
// builds that can be repeated, and the archives that action.yml asks for.
func TestRelease(t *testing.T) {
	t.Parallel()
	var r release
	if err := yaml.Unmarshal([]byte(read(t, ".goreleaser.yaml")), &r); err != nil {
		t.Fatal(err)
	}
	var systems []string
	for _, b := range r.Builds {
		for _, goos := range b.Goos {
			for _, arch := range b.Goarch {
				systems = append(systems, goos+"/"+arch)
			}
			if carries := slices.Contains(b.Tags, "embed_guests"); carries != (goos != "linux") {
				t.Errorf("%s: whether it carries guests is %v", goos, carries)
			}
		}
		if b.Binary != "agentclash" || !slices.Contains(b.Env, "CGO_ENABLED=0") || !slices.Contains(b.Flags, "-trimpath") || b.ModTimestamp != "{{ .CommitTimestamp }}" {
			t.Errorf("the build for %v cannot be repeated: %+v", b.Goos, b)
		}
		if len(b.Ldflags) != 1 || !strings.HasPrefix(b.Ldflags[0], "-s -w -X github.com/agentclash/agentclash/cmd/cli.version=") || strings.Contains(b.Ldflags[0], ".Date") {
			t.Errorf("the build for %v is linked with %q", b.Goos, b.Ldflags)
		}
	}
	slices.Sort(systems)
	if want := []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64"}; !slices.Equal(systems, want) {
		t.Errorf("systems: got %v, want %v", systems, want)
	}
	if len(r.Archives) != 1 || len(r.Archives[0].Files) < 5 {
		t.Fatalf("archives: got %+v", r.Archives)
	}
	for _, f := range r.Archives[0].Files {
		if strings.HasPrefix(f.Src, "bin/pages/") {
			continue // made by the hook before
		}
		if _, err := os.Stat(f.Src); err != nil {
			t.Errorf("an archive holds %s: %v", f.Src, err)
		}
	}
}

// TestActionAsksForTheArchives: what action.yml downloads is what a release has.
func TestActionAsksForTheArchives(t *testing.T) {
	t.Parallel()
	var r release
	if err := yaml.Unmarshal([]byte(read(t, ".goreleaser.yaml")), &r); err != nil {
		t.Fatal(err)
	}
	action := read(t, "action.yml")
	name := strings.NewReplacer("{{ .ProjectName }}", r.ProjectName, "{{ .Version }}", "${VERSION#v}", "{{ .Os }}", "${os}", "{{ .Arch }}", "${arch}").
		Replace(r.Archives[0].NameTemplate)
	if want := `archive="` + name + "." + r.Archives[0].Formats[0] + `"`; !strings.Contains(action, want) {
		t.Errorf("action.yml does not ask for %s", want)
	}
	if !strings.Contains(action, "get "+r.Checksum.NameTemplate) {
		t.Errorf("action.yml does not get %s", r.Checksum.NameTemplate)
	}
	for _, o := range r.Archives[0].FormatOverrides {
		if o.Goos != "windows" { // there the action builds from source
			t.Errorf("%s has archives of another format, which action.yml does not know", o.Goos)
		}
	}
}

// TestSchemaDocument pins what `agentclash schema` prints.
func TestSchemaDocument(t *testing.T) {
	t.Parallel()
	var d manual.Document
	text := schemaDocument(t, &d)
	d.CLIVersion = "VERSION"
	got, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "schema.golden")
	if *update {
		if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := read(t, golden); string(got)+"\n" != want {
		t.Errorf("the document is another: make update, and read what changed")
	}
	if d.SchemaVersion != 2 || len(d.Commands) < 15 || len(d.GlobalFlags) < 5 {
		t.Errorf("got version %d, %d commands, %d flags", d.SchemaVersion, len(d.Commands), len(d.GlobalFlags))
	}
	if bytes.Contains(text, []byte(": null")) {
		t.Error("a list is null")
	}
	var one manual.Document
	schemaDocument(t, &one, "eval", "start")
	if len(one.Commands) != 1 || one.Commands[0].Path != "agentclash eval start" || !one.Commands[0].Runnable {
		t.Errorf("eval start alone: got %+v", one.Commands)
	}
	for _, f := range one.Commands[0].Flags {
		if f.Name == "sandbox" && !slices.Equal(f.AllowedValues, []string{"auto", "docker", "scratch", "e2b"}) {
			t.Errorf("--sandbox: got %+v", f)
		}
	}
}

// TestEveryCommandHasAnExample: help shows each command in use.
func TestEveryCommandHasAnExample(t *testing.T) {
	t.Parallel()
	var d manual.Document
	schemaDocument(t, &d)
	seen := 0
	var walk func(list []manual.Command)
	walk = func(list []manual.Command) {
		for _, c := range list {
			if walk(c.Subcommands); !c.Runnable {
				continue
			}
			if seen++; !strings.Contains(c.Example, "  "+c.Path) && !strings.Contains(c.Example, "| "+c.Path) {
				t.Errorf("the help of %s has no example of it:\n%s", c.Path, c.Example)
			}
		}
	}
	walk(d.Commands)
	if seen < 60 {
		t.Fatalf("found %d commands, which cannot be all", seen)
	}
}

func schemaDocument(t *testing.T, into *manual.Document, of ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	p := cli.System()
	p.Out, p.Err = &out, &out
	if status := cmd.Main(p, append([]string{"schema"}, of...)); status != 0 {
		t.Fatalf("schema %v: status %d: %s", of, status, out.String())
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestForAgents: the commands and files that llms.txt names are there.
func TestForAgents(t *testing.T) {
	t.Parallel()
	page := read(t, "llms.txt")
	var d manual.Document
	schemaDocument(t, &d)
	paths := map[string]bool{}
	var walk func(list []manual.Command)
	walk = func(list []manual.Command) {
		for _, c := range list {
			paths[c.Path] = true
			walk(c.Subcommands)
		}
	}
	walk(d.Commands)
	named := 0
	for _, m := range regexp.MustCompile("`(agentclash [a-z][a-z -]*[a-z])").FindAllStringSubmatch(page, -1) {
		command := strings.TrimSpace(strings.Split(m[1], " --")[0])
		words := strings.Fields(command)
		for len(words) > 1 && !paths[strings.Join(words, " ")] {
			words = words[:len(words)-1]
		}
		if named++; len(words) < 2 || len(words) < 3 && !strings.Contains("doctor schema ui version", words[1]) {
			t.Errorf("llms.txt names the command %q, which is not there", m[1])
		}
	}
	files := 0
	for _, m := range regexp.MustCompile(`\]\(([^)#:]+)`).FindAllStringSubmatch(page, -1) {
		files++
		if _, err := os.Stat(m[1]); err != nil {
			t.Errorf("llms.txt names %s: %v", m[1], err)
		}
	}
	for _, c := range d.ExitCodes {
		if !regexp.MustCompile(`(?m)^- [0-9, ]*\b` + regexp.QuoteMeta(jsonNumber(c.Code)) + `\b[0-9, ]*: `).MatchString(page) {
			t.Errorf("llms.txt does not say what status %d is", c.Code)
		}
	}
	if named < 20 || files < 15 {
		t.Fatalf("found %d commands and %d files, which cannot be all", named, files)
	}
}

func jsonNumber(n int) string {
	b, _ := json.Marshal(n) // an int always can be
	return string(b)
}
