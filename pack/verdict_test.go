package pack_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/pack"
)

// pending are the files whose verdicts hold once the checks they are about are
// built. Until then their documents are only read.
var pending = []string{}

func isPending(t *testing.T, file string) bool {
	t.Helper()
	return slices.ContainsFunc(pending, func(pattern string) bool {
		match, err := filepath.Match(pattern, filepath.Base(file))
		if err != nil {
			t.Fatal(err)
		}
		return match
	})
}

// beside is what lies beside the documents.
func beside() fstest.MapFS {
	return fstest.MapFS{"file.txt": {Data: []byte("text\n")}, "dir/gold.txt": {Data: []byte("gold\n")}}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, file := range verdictFiles(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		for _, v := range readVerdicts(t, file) {
			t.Run(name+"/"+v.about, func(t *testing.T) {
				t.Parallel()
				p, problems := pack.Parse("pack.yaml", []byte(v.src), beside())
				checkParsed(t, []byte(v.src), p, problems)
				if !isPending(t, file) {
					v.check(t, problems)
				}
				if t.Failed() {
					t.Logf("%s:%d: %s\n%s\n%v", v.file, v.line, v.about, v.src, problems)
				}
			})
		}
	}
}

func (v verdict) check(t *testing.T, problems pack.Problems) {
	t.Helper()
	var got []string
	for _, p := range problems.Errors() {
		got = append(got, p.Field)
	}
	if diff := cmp.Diff(v.want, got); diff != "" {
		t.Errorf("fields of the errors (-want +got):\n%s", diff)
	}
	warnings := problems.Warnings()
	for _, field := range v.warn {
		if !slices.ContainsFunc(warnings, func(p pack.Problem) bool { return p.Field == field }) {
			t.Errorf("no warning at %s", field)
		}
	}
	if v.quiet && len(warnings) > 0 {
		t.Errorf("got warnings, want none")
	}
	if v.message == "" {
		return
	}
	about := append(slices.Clone(v.want), v.warn...)[0]
	if !slices.ContainsFunc(problems, func(p pack.Problem) bool { return p.Field == about && strings.Contains(p.Message, v.message) }) {
		t.Errorf("%q is not said about %s", v.message, about)
	}
}

var caseNumber = regexp.MustCompile(`^([0-9]+[a-d]?)(, [0-9]+[a-d]?)*: `)

// There are many entries, each with a name of its own, and no numbered case is
// forgotten.
func TestVerdictsAreComplete(t *testing.T) {
	t.Parallel()
	const atLeast, lastCase = 1000, 98
	entries, valid := 0, 0
	numbers := map[string]bool{}
	for _, file := range verdictFiles(t) {
		names := map[string]bool{}
		for _, v := range readVerdicts(t, file) {
			entries++
			if len(v.want) == 0 {
				valid++
			}
			if names[v.about] {
				t.Errorf("%s:%d: there is another %q", v.file, v.line, v.about)
			}
			names[v.about] = true
			for n := range strings.SplitSeq(strings.TrimSuffix(caseNumber.FindString(v.about), ": "), ", ") {
				numbers[n] = true
			}
		}
	}
	if broken := entries - valid; entries < atLeast || valid < atLeast/4 || broken < atLeast/4 {
		t.Errorf("got %d entries, %d of them valid; want %d, a quarter of each sort at least", entries, valid, atLeast)
	}
	for n := 1; n <= lastCase; n++ {
		if !numbers[strconv.Itoa(n)] {
			t.Errorf("case %d is missing", n)
		}
	}
	for _, n := range []string{"84a", "84b", "84c", "84d"} {
		if !numbers[n] {
			t.Errorf("case %s is missing", n)
		}
	}
}
