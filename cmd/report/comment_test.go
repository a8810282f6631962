package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

// commented is the page of a run in which a text stands wherever somebody else may put one.
func commented(t testing.TB, kind, word string, job bool) string {
	t.Helper()
	failed, invalid := trial(word, scoring.OutcomeFailed), trial(word, scoring.OutcomeInvalid)
	failed.Reason, invalid.Code, invalid.Phase, invalid.Reason = word, word, word, word
	a := agentOf(word, []view.Trial{failed, invalid})
	a.Headline = word
	a.Gate = &compare.GateResult{Verdict: compare.Verdict(word), Summary: word, EvaluationDetails: compare.EvaluationDetails{
		DimensionResults: map[string]compare.DimensionResult{word: {Outcome: word}},
	}}
	a.Comparison = &compare.Comparison{Cases: compare.CaseComparison{FlippedToFailing: []string{word}}}
	r := report.Run{ID: "01234567-0123-7012-8012-0123456789ab", Name: word, Status: word, Reason: word, Pack: view.Pack{Slug: word}, InputSet: word, Agents: []report.Agent{a}}
	if job {
		r.Job = &report.Job{Manifest: word, State: word, Verdict: word, Reason: word, Baseline: word, Errors: []string{word},
			Promoted: []view.Promotion{{Suite: word, CaseID: word, Status: word, Title: word}}}
	}
	var b strings.Builder
	if err := report.Write(&b, kind, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestCommentsCannotBeBrokenOutOf holds the pages that GitHub shows, with hostile texts in
// all places, against ones with plain texts: they have the same blocks, and nothing that
// does anything but the page's own mark.
func TestCommentsCannotBeBrokenOutOf(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{report.Markdown, report.Comment} {
		for _, job := range []bool{false, true} {
			want := shape(commented(t, kind, "plain", job))
			if len(want) < 75 {
				t.Fatalf("the page has %d nodes, which cannot be all: %v", len(want), want)
			}
			for _, word := range spiteful {
				page := commented(t, kind, word, job)
				_, text, marked := strings.Cut(page, "\n")
				if !marked || kind == report.Markdown {
					text = page
				}
				found := slices.DeleteFunc(active(text), func(what string) bool { return what == "List" }) // what changed and what went wrong
				if len(found) > 0 {
					t.Errorf("%s of %q: the page has %v\n%s", kind, word, found, page)
				}
				if got := shape(page); strings.TrimSpace(view.SanitizeLine(word)) != "" && !slices.Equal(got, want) {
					t.Errorf("%s of %q: got other blocks\n%v\nwant\n%v\n%s", kind, word, got, want, page)
				}
			}
		}
	}
}
