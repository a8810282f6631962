package pack_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/pack"
)

const authorsPage = "../docs/packs.md"

// example is a block of YAML on the page: a whole pack, or what is laid over
// the page's pack of a mode.
type example struct {
	page string
	line int
	into string
	text string
	doc  map[string]any
}

func (e example) name() string { return fmt.Sprintf("%s:%d", e.page, e.line) }

// examplePages are the pages whose blocks are packs, in the order in which they
// can be read.
var examplePages = []string{authorsPage, "../docs/judges.md", "../docs/conversations.md"}

var pageBlock = regexp.MustCompile("(?ms)^```yaml(?: into ([a-z_]+))?\n(.*?)^```$")

// pageExamples are all blocks of the pages, each as a whole pack.
func pageExamples(t *testing.T) []example {
	t.Helper()
	whole := map[string]string{}
	var all []example
	for _, name := range examplePages {
		all = append(all, examplesOf(t, name, whole)...)
	}
	return all
}

// examplesOf are the blocks of one page. whole holds the packs that stand as a
// whole so far, by mode.
func examplesOf(t *testing.T, name string, whole map[string]string) []example {
	t.Helper()
	page := read(t, name)
	if blocks := strings.Count(page, "```") / 2; blocks != len(pageBlock.FindAllString(page, -1)) {
		t.Fatalf("%s has %d blocks, some of which say neither yaml nor yaml into MODE", name, blocks)
	}
	var all []example
	for _, m := range pageBlock.FindAllStringSubmatchIndex(page, -1) {
		e := example{page: name, line: 1 + strings.Count(page[:m[0]], "\n"), text: page[m[4]:m[5]], doc: map[string]any{}}
		if m[2] >= 0 {
			e.into = page[m[2]:m[3]]
		}
		base, known := whole[e.into]
		if e.into != "" && !known {
			t.Fatalf("%s: there is no whole pack of mode %s above", e.name(), e.into)
		}
		for _, text := range []string{base, e.text} {
			var doc map[string]any
			if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
				t.Fatalf("%s: %v", e.name(), err)
			}
			lay(e.doc, doc)
		}
		if e.into == "" {
			mode, _ := e.doc["version"].(map[string]any)["execution_mode"].(string)
			whole[mode] = e.text
		}
		all = append(all, e)
	}
	return all
}

// lay puts a document over another: mappings become one, everything else
// replaces what was there.
func lay(under, over map[string]any) {
	for key, value := range over {
		below, both := under[key].(map[string]any)
		if above, ok := value.(map[string]any); ok && both {
			lay(below, above)
			continue
		}
		under[key] = value
	}
}

// pageFiles are the files that the examples name.
func pageFiles() fstest.MapFS {
	return fstest.MapFS{"files/notes.txt": {Data: []byte("a\n")}, "files/check.sh": {Data: []byte("exit 0\n")}, "files/old.txt": {}, "tests/apart.py": {}}
}

// parsedExample is an example as the program reads it. A whole pack is read as
// it stands, so that the places of its problems are those of the page.
func parsedExample(t *testing.T, e example) (*pack.Pack, pack.Problems) {
	t.Helper()
	text := []byte(e.text)
	if e.into != "" {
		text = []byte(mustJSON(e.doc))
	}
	return pack.Parse(e.name(), text, pageFiles())
}

func TestPageExamples(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	modes := map[string]int{}
	for _, e := range pageExamples(t) {
		modes[e.into]++
		p, problems := parsedExample(t, e)
		if p == nil {
			t.Errorf("%s: %v", e.name(), problems.Err())
			continue
		}
		modes[p.Mode()]++
		for _, problem := range problems {
			if !problem.Blocks && !slices.Contains(spoken, problem.Field) {
				t.Errorf("%s: the page teaches what is warned of: %v", e.name(), problem)
			}
		}
		if err := schema.Validate(plainValue(e.doc)); err != nil {
			t.Errorf("%s: %v", e.name(), err)
		}
	}
	for _, mode := range []string{"", pack.PromptEval, pack.Native, pack.Responses, pack.MultiTurn} {
		if modes[mode] == 0 {
			t.Errorf("%s has no example of %q", authorsPage, mode)
		}
	}
}

// spoken are the fields of warnings that the page itself speaks of.
var spoken = []string{"version.deployment_defaults"}

var pageMarker = regexp.MustCompile(`(?ms)^<!-- generated: ([A-Za-z ]+) -->\n(.*?)^<!-- end -->$`)

// The tables of the page are what the schema and the code say today. No test runs
// beside it, since others read the page that it rewrites.
func TestPageTables(t *testing.T) {
	page := read(t, authorsPage)
	w := newPageWriter(t, page)
	fresh := pageMarker.ReplaceAllStringFunc(page, func(block string) string {
		name := pageMarker.FindStringSubmatch(block)[1]
		return "<!-- generated: " + name + " -->\n" + w.section(name) + "<!-- end -->"
	})
	for name := range w.defs {
		if !w.told[name] {
			t.Errorf("%s has no table of %s: put a marker where it belongs", authorsPage, name)
		}
	}
	if *update {
		if err := os.WriteFile(authorsPage, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(page, fresh); diff != "" {
		t.Errorf("%s is not what the code says; go test ./pack -run TestPageTables -update rewrites it (-page +code):\n%s", authorsPage, diff)
	}
}
