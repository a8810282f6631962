package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const goldenDir = "testdata/golden/json"

// noJSON are the commands whose output is no document, and why.
var noJSON = map[string]string{
	"agentclash completion":            "it prints a script for a shell",
	"agentclash schema":                "testdata/schema.golden has it",
	"agentclash challenge-pack schema": "docs/challenge-pack.schema.json has it",
	"agentclash ui":                    "it is for people at a terminal",
	"agentclash doctor":                "it speaks of the machine; testdata/script/doctor.txtar reads it",
}

// jsonLines are the lines that are run with --json, where it is not the first of help.
var jsonLines = map[string]string{
	"agentclash serve":         "agentclash serve --port 0 --json",
	"agentclash sandbox gc":    "TMPDIR=$WORLD DOCKER_HOST=tcp://127.0.0.1:1 agentclash sandbox gc --dry-run --json", // an engine has others' boxes too
	"agentclash eval start":    "agentclash eval start --pack my-pack.yaml --deployment next",
	"agentclash run retry":     "agentclash run retry latest --failed",
	"agentclash run resume":    "agentclash run resume latest --budget-usd 20",
	"agentclash run scorecard": "agentclash run scorecard $(agentclash run agents --json --query .items[0].run_agent_id) --json",
}

// jsonErrors are errors as programs read them, by the class that they are of.
var jsonErrors = map[string]string{
	"usage":         "agentclash eval start",
	"unknown_flag":  "agentclash eval start --modle x",
	"not_found":     "agentclash run get nothing-of-the-name",
	"no_file":       "agentclash eval start --pack nowhere.yaml --deployment prod",
	"invalid_pack":  "agentclash eval start --pack gate.yaml --deployment prod",
	"conflict":      "agentclash workspace create default",
	"no_key":        "agentclash infra provider-account test mistral",
	"no_service":    "DOCKER_HOST=tcp://127.0.0.1:1 agentclash eval start --pack builtin:quickstart-native --image builtin --model scripted/builtin:quickstart-native-good --sandbox docker --quiet",
	"bad_query":     "agentclash run list --query '.['",
	"wrong_default": "agentclash config set output xml",
}

// TestJSONOutputs pins what each command prints with --json, in the world that the
// examples of help are run in. Names, types and all that is the same in every run stand
// in testdata/golden/json; -update writes them anew.
func TestJSONOutputs(t *testing.T) {
	t.Parallel()
	base := preparedWorld(t)
	lines := map[string]shownExample{}
	for _, shown := range shownExamples(t) {
		if _, known := lines[shown.command]; known || shown.group {
			continue
		}
		if line, ok := jsonLines[shown.command]; ok {
			shown.line = line
		}
		lines[shown.command] = shown
	}
	pinned := map[string]bool{}
	for _, command := range slices.Sorted(maps.Keys(lines)) {
		if noJSON[command] != "" {
			continue
		}
		shown, name := lines[command], strings.ReplaceAll(strings.TrimPrefix(command, "agentclash "), " ", "_")+".json"
		pinned[name] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, e := shown.facts()
			if e.docker && !dockerAnswers(t) {
				t.Skip("no Docker engine")
			}
			w, asked := base.copy(t), shown
			if !strings.Contains(asked.line, "--json") {
				asked.line = strings.Replace(asked.line, command, command+" --json", 1)
			}
			said := w.try(t, asked, e)
			if said.status != e.status {
				t.Errorf("%s: status %d, want %d\n%s%s", asked.line, said.status, e.status, said.out, said.err)
			}
			if n, err := documents(said.out); err != nil || n == 0 {
				t.Errorf("%s: %d documents, %v in\n%s", asked.line, n, err, said.out)
			}
			golden(t, name, "$ "+asked.line+"\n"+base.steady(w, said.out))
		})
	}
	for name, line := range jsonErrors {
		name = "error_" + name + ".json"
		pinned[name] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := base.copy(t)
			said := w.run(t, line+" --json", "")
			var failure struct {
				Error struct{ Code, Message string }
			}
			if err := json.Unmarshal([]byte(said.err), &failure); err != nil || failure.Error.Code == "" || said.status == 0 || said.out != "" {
				t.Errorf("%s: status %d, %v: %s%s", line, said.status, err, said.out, said.err)
			}
			golden(t, name, fmt.Sprintf("$ %s --json # ends with %d\n%s", line, said.status, base.steady(w, said.err)))
		})
	}
	for command := range noJSON {
		if lines[command].line == "" {
			t.Errorf("there is no command %q any more, of which a reason is known for having no JSON", command)
		}
	}
	for command := range jsonLines {
		if lines[command].line == "" {
			t.Errorf("there is no command %q any more, of which a line is known", command)
		}
	}
	kept, err := os.ReadDir(goldenDir)
	if missing := errors.Is(err, os.ErrNotExist); err != nil && (!*update || !missing) {
		t.Fatal(err)
	}
	for _, f := range kept {
		if !pinned[f.Name()] {
			t.Errorf("%s is of no command", filepath.Join(goldenDir, f.Name()))
		}
	}
}

// documents counts the JSON documents of an output, and wants nothing else in it.
func documents(out string) (n int, err error) {
	for d := json.NewDecoder(strings.NewReader(out)); ; n++ {
		var doc any
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

// golden compares what was said with what is kept under a name.
func golden(t *testing.T, name, said string) {
	t.Helper()
	file := filepath.Join(goldenDir, name)
	if *update {
		must(t, os.MkdirAll(goldenDir, 0o755))
		must(t, os.WriteFile(file, []byte(said), 0o644))
		return
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: go test . -run TestJSONOutputs -update writes it", err)
	}
	if diff := cmp.Diff(string(kept), said); diff != "" {
		t.Errorf("%s is not what is printed; if that is meant: go test . -run TestJSONOutputs -update\n%s", file, diff)
	}
}

var (
	idPattern    = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	timePattern  = regexp.MustCompile(`\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?`)
	portPattern  = regexp.MustCompile(`(127\.0\.0\.1|localhost):\d+`)
	namePattern  = regexp.MustCompile(`-\d{8}-\d{6}-[0-9a-f]{4}\b`) // of runs that were given none
	shortPattern = regexp.MustCompile("`[0-9a-f]{8}`")
	buildPattern = regexp.MustCompile(`("(?:version|commit|go|os|arch|platform)": )"(?:[0-9a-f]{7,40}(?:-dirty)?|v[0-9.]+[^"]*|go[0-9.]+|devel[^"]*|\(devel\)|linux|amd64|arm64)"`)
	// what is a digest of ids and times
	hashPattern = regexp.MustCompile(`(frf_|"sha256": "|"set_at": "<time>",\n  "digest": ")[0-9a-f]{64}`)
	// keys of which the number is another one in every run
	numberPattern = regexp.MustCompile(`("(?:[a-z_]*(?:_ms|_seconds|bytes|age_days)|port|pid)": ?)-?\d[\d.e+-]*`)
)

// steady is an output without what is another in every run: ids are numbered in the
// order in which they come, so that one that comes again is seen to be the same.
func (w world) steady(in world, out string) string {
	out = strings.NewReplacer(in.dir, "$WORLD", w.dir, "$WORLD").Replace(out)
	var ids []string
	for _, id := range idPattern.FindAllString(out, -1) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for i, id := range ids {
		out = strings.ReplaceAll(out, id, fmt.Sprintf("<id %d>", i+1))
		out = strings.ReplaceAll(out, id[len(id)-8:], fmt.Sprintf("<end of id %d>", i+1))
	}
	out = timePattern.ReplaceAllString(out, "<time>")
	out = namePattern.ReplaceAllString(out, "-<started>")
	out = shortPattern.ReplaceAllString(out, "`<end of an id>`")
	out = buildPattern.ReplaceAllString(out, `${1}"<build>"`)
	out = hashPattern.ReplaceAllString(out, "${1}<sha256>")
	out = portPattern.ReplaceAllString(out, "$1:PORT")
	return numberPattern.ReplaceAllString(out, "${1}0")
}
