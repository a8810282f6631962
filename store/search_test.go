package store_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/store"
)

// Every word has to be somewhere, or in the field that it is of; case does not matter,
// and what looks like a pattern is none.
func TestRunsByWords(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	for n, name := range []string{"Nightly Éclair", "nightly 100%", "weekly"} {
		p := makePlan(id('r', (n+1)<<24), 2, 1)
		p.Name = name
		if n == 2 {
			p.Agents[1].Label = "Sonnet"
		}
		createRun(t, db, p)
	}
	must(t, db.SetRunStatus(t.Context(), id('r', 3<<24), me, store.Running))
	for _, row := range []struct {
		words []store.Word
		want  []string
	}{
		{nil, []string{"weekly", "nightly 100%", "Nightly Éclair"}},
		{[]store.Word{{Text: "NIGHTLY"}}, []string{"nightly 100%", "Nightly Éclair"}},
		{[]store.Word{{Text: "nightly"}, {Text: "éCLAIR"}}, []string{"Nightly Éclair"}},
		{[]store.Word{{Field: "name", Text: "100%"}}, []string{"nightly 100%"}},
		{[]store.Word{{Field: "name", Text: "1%0"}}, nil},
		{[]store.Word{{Field: "status", Text: "run"}}, []string{"weekly"}},
		{[]store.Word{{Field: "agent", Text: "sonn"}}, []string{"weekly"}},
		{[]store.Word{{Field: "pack", Text: "SUM"}, {Field: "name", Text: "weekly"}}, []string{"weekly"}},
		{[]store.Word{{Field: "name", Text: "sums"}}, nil},
		{[]store.Word{{Field: "id", Text: id('r', 2<<24)[28:]}}, []string{"nightly 100%"}},
		{[]store.Word{{Text: "no ' such"}}, nil},
		{[]store.Word{{Field: "agent", Text: "SONNET", Whole: true}}, []string{"weekly"}},
		{[]store.Word{{Field: "agent", Text: "sonn", Whole: true}}, nil},
		{[]store.Word{{Field: "name", Text: "Weekly", Whole: true}, {Field: "status", Text: "running", Whole: true}}, []string{"weekly"}},
		{[]store.Word{{Field: "name", Text: "week", Whole: true}}, nil},
		{[]store.Word{{Field: "id", Text: id('r', 2<<24), Whole: true}}, []string{"nightly 100%"}},
		{[]store.Word{{Field: "id", Text: id('r', 2<<24)[28:], Whole: true}}, nil},
		{[]store.Word{{Field: "color", Text: "x"}}, nil},
	} {
		runs, total, err := db.Runs(t.Context(), store.RunFilter{Words: row.words})
		must(t, err)
		var names []string
		for _, r := range runs {
			names = append(names, r.Name)
		}
		if diff := cmp.Diff(row.want, names); diff != "" || total != len(row.want) {
			t.Errorf("%v: total %d (-want +got):\n%s", row.words, total, diff)
		}
	}
}

// Of a run of ten thousand trials only the part is read that is asked for.
func TestRunTrials(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	createRun(t, db, makePlan(id('r', 1), 2, 5000))
	createRun(t, db, makePlan(id('q', 2<<24), 1, 3))
	for _, row := range []struct {
		words         []store.Word
		limit, offset int
		total         int
		want          []string
	}{
		{nil, 3, 0, 10_000, []string{"case-00000", "case-00000", "case-00001"}},
		{nil, 3, 9_998, 10_000, []string{"case-04999", "case-04999"}},
		{nil, 3, 20_000, 10_000, nil},
		{[]store.Word{{Field: "agent", Text: "AGENT-1"}}, 2, 4_000, 5_000, []string{"case-04000", "case-04001"}},
		{[]store.Word{{Field: "case", Text: "CASE-0123"}, {Field: "agent", Text: "agent-0"}}, 2, 8, 10, []string{"case-01238", "case-01239"}},
		{[]store.Word{{Field: "outcome", Text: "queued"}, {Text: "04999"}}, 9, 0, 2, []string{"case-04999", "case-04999"}},
		{[]store.Word{{Field: "outcome", Text: "passed"}}, 9, 0, 0, nil},
		{[]store.Word{{Field: "name", Text: "x"}}, 9, 0, 0, nil},
		{[]store.Word{{Field: "case", Text: "Case-00012", Whole: true}}, 9, 0, 2, []string{"case-00012", "case-00012"}},
		{[]store.Word{{Field: "case", Text: "case-00012#1", Whole: true}, {Field: "agent", Text: "Agent-1", Whole: true}}, 9, 0, 1, []string{"case-00012"}},
		{[]store.Word{{Field: "case", Text: "00012#1"}}, 9, 0, 2, []string{"case-00012", "case-00012"}},
		{[]store.Word{{Field: "agent", Text: "agent-", Whole: true}}, 9, 0, 0, nil},
		{[]store.Word{{Field: "phase", Text: "sandbox"}}, 9, 0, 0, nil},
	} {
		trials, total, err := db.RunTrials(t.Context(), store.RunTrialFilter{RunID: id('r', 1), Words: row.words, Limit: row.limit, Offset: row.offset})
		must(t, err)
		var keys []string
		for _, trial := range trials {
			keys = append(keys, trial.CaseKey)
		}
		if diff := cmp.Diff(row.want, keys); diff != "" || total != row.total {
			t.Errorf("%s: total %d, want %d (-want +got):\n%s", fmt.Sprint(row.words, row.offset), total, row.total, diff)
		}
	}
	trials, _, err := db.RunTrials(t.Context(), store.RunTrialFilter{RunID: id('r', 1), Limit: 1})
	must(t, err)
	one, err := db.Trial(t.Context(), "", trials[0].ID)
	must(t, err)
	if trials[0].RunAgentID != one.RunAgentID || trials[0].Status != store.Queued {
		t.Errorf("got %+v, want what there is of %+v", trials[0], one)
	}
}
