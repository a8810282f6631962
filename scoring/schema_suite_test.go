package scoring_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	// Its test data holds the files of the JSON Schema test suite.
	_ "github.com/google/jsonschema-go/jsonschema"

	"github.com/agentclash/agentclash/scoring"
)

// remote are the parts of the JSON Schema test suite that json_schema does not
// follow: the files and groups whose schema refers to another one at an address
// that the suite would serve. Nothing is loaded from anywhere, so that the pack
// has an error instead. All others hold.
func remote(group string) bool {
	switch group {
	case "dynamicRef.json: strict-tree schema, guards against misspelled properties",
		"dynamicRef.json: tests for implementation dynamic anchor and reference link",
		"dynamicRef.json: $ref and $dynamicAnchor are independent of order - $defs first",
		"dynamicRef.json: $ref and $dynamicAnchor are independent of order - $ref first",
		"dynamicRef.json: $ref to $dynamicRef finds detached $dynamicAnchor":
		return true
	}
	return strings.HasPrefix(group, "refRemote.json: ")
}

// suiteGroup is a schema of the suite with its documents.
type suiteGroup struct {
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string          `json:"description"`
		Data        json.RawMessage `json:"data"`
		Valid       bool            `json:"valid"`
	} `json:"tests"`
}

// TestSchemaSuite holds json_schema against the official JSON Schema test suite
// for draft 2020-12.
func TestSchemaSuite(t *testing.T) {
	t.Parallel()
	groups, tests, left := 0, 0, 0
	for _, file := range suiteFiles(t) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []suiteGroup
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, g := range list {
			name := filepath.Base(file) + ": " + g.Description
			groups, tests = groups+1, tests+len(g.Tests)
			if remote(name) {
				left++
			}
			for _, c := range g.Tests {
				want := "fail 0"
				switch {
				case remote(name):
					want = "error pack_error"
				case c.Valid:
					want = "pass 1"
				}
				checkSuite(t, name+": "+c.Description, string(g.Schema), string(c.Data), want)
			}
		}
	}
	if groups < 300 || tests < 1000 {
		t.Errorf("found %d groups with %d tests, which cannot be all", groups, tests)
	}
	t.Logf("%d groups with %d tests; %d groups load other schemas and are refused", groups, tests, left)
}

// suiteFiles are the suite's files, which ship in the test data of a module.
func suiteFiles(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Skipf("the module with the JSON Schema test suite is not in the module cache: go mod download github.com/google/jsonschema-go (%v)", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "jsonschema", "testdata", "draft2020-12", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("there is no test data in %s", dir)
	}
	return files
}

func checkSuite(t *testing.T, name, schema, document, want string) {
	t.Helper()
	spec, ev := oneValidator(), evidence()
	v := &spec.Validators[0]
	v.Type, v.ExpectedFrom = scoring.JSONSchema, "case.expectations.schema"
	ev.Case.Expectations = map[string]scoring.CaseInput{"schema": {Value: jsonText(t, schema)}}
	ev.FinalOutput = &document
	got := scoring.Score(spec, ev).Validators[0]
	if verdictText(got) != want {
		t.Errorf("%s: got %s (%s), want %s\nschema: %s\ndocument: %s", name, verdictText(got), got.Reason, want, schema, document)
	}
}
