package scoring_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring"
)

// contender reads "name overall correctness reliability latency cost pass",
// where - is no value and the last word says whether it passed.
func contender(t *testing.T, lane int, text string) scoring.Contender {
	t.Helper()
	w := strings.Fields(text)
	if len(w) == 1 {
		return scoring.Contender{RunAgentID: w[0], Lane: lane}
	}
	card := scoring.AgentScorecard{Passed: w[len(w)-1] == "pass"}
	if w[1] != "-" {
		card.OverallScore = new(float(t, w[1]))
	}
	for i, key := range []string{"correctness", "reliability", "latency", "cost"} {
		d := scoring.AggregateDimension{Key: key, State: scoring.Unavailable}
		if i+2 < len(w)-1 && w[i+2] != "-" {
			d.State, d.Score = scoring.Available, new(float(t, w[i+2]))
		}
		card.Dimensions = append(card.Dimensions, d)
	}
	return scoring.Contender{RunAgentID: w[0], Lane: lane, Scorecard: &card}
}

func contenders(t *testing.T, texts ...string) []scoring.Contender {
	t.Helper()
	var out []scoring.Contender
	for i, text := range texts {
		out = append(out, contender(t, i, text))
	}
	return out
}

func TestRank(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, sortBy string
		agents       []string
		want         string
	}{
		{"correctness, then reliability", "", []string{"a .9 .8 .5 fail", "b .9 .8 .9 fail", "c .9 .9 0 fail"}, "c#1+0 b#2+0.1 a#2+0.1"},
		{"row 393: equal values share a rank", "", []string{"a 1 .9 fail", "b 1 .9 fail", "c 1 .7 fail"}, "a#1+0 b#1+0 c#2+0.2"},
		{"what passed comes first", "", []string{"a 1 .9 fail", "b 1 .7 pass"}, "b#1+0.2 a#2+0"},
		{"passed and not passed never share a rank", "", []string{"a 1 .9 fail", "b 1 .9 pass"}, "b#1+0 a#2+0"},
		{"without a value there is no rank", "", []string{"a", "b 1 - pass", "c 1 .5 fail"}, "c#1+0 b#0 a#0"},
		{"rows 391 and 392: composite", "composite", []string{"a 1 .8 .7 .6 .5 pass", "b 1 1 1 .8 1 pass"}, "b#1+0 a#2+0.3"},
		{"by a dimension, whatever passed", "latency", []string{"a 1 1 1 .2 pass", "b 1 1 1 .9 fail"}, "b#1+0 a#2+0.7"},
		{"by overall score", "overall_score", []string{"a .2 1 pass", "b .4 1 pass"}, "b#1+0 a#2+0.2"},
	} {
		standings, err := scoring.Rank(contenders(t, c.agents...), c.sortBy)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, s := range standings {
			text := fmt.Sprintf("%s#%d", s.RunAgentID, s.Rank)
			if s.DeltaFromTop != nil {
				text += fmt.Sprintf("+%.4g", *s.DeltaFromTop)
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %s, want %s", c.name, strings.Join(got, " "), c.want)
		}
	}
}

func TestRankByAnUnknownDimension(t *testing.T) {
	t.Parallel()
	_, err := scoring.Rank(contenders(t, "a 1 1 pass"), "corectness")
	want := `rank by "corectness": no dimension is called that; did you mean "correctness"?`
	if err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

func TestWinner(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		agents []string
		want   string
	}{
		{"row 385", []string{"a .8 fail", "b .9 fail"}, "b winner best_overall_score"},
		{"row 386", []string{"a .8 .9 fail", "b .8 .7 fail"}, "a winner overall_score_correctness_tiebreaker"},
		{"row 387", []string{"a .8 .9 1 fail", "b .8 .9 0 fail"}, "a winner overall_score_reliability_tiebreaker"},
		{"row 388", []string{"a .8 .9 1 fail", "b .8 .9 1 fail"}, " tie overall_score_tie"},
		{"row 389", []string{"a - .8 fail", "b .9 .6 fail"}, "a winner best_correctness"},
		{"row 390", []string{"a"}, "a winner single_agent_trivial_winner"},
		{"a passed one beats a higher score", []string{"a .9 fail", "b .8 pass"}, "b winner only_passed"},
		{"of two that passed the better", []string{"a 1 fail", "b .8 pass", "c .9 pass"}, "c winner best_overall_score"},
		{"nobody is scored", []string{"a", "b"}, " inconclusive no_scored_agents"},
		{"no correctness", []string{"a - fail", "b .9 fail"}, " inconclusive missing_correctness"},
		{"a tie without reliability", []string{"a - .8 fail", "b .9 .8 fail"}, " inconclusive missing_reliability_tiebreaker"},
		{"a tie that reliability breaks", []string{"a - .8 1 fail", "b .9 .8 0 fail"}, "a winner reliability_tiebreaker"},
		{"a tie that it does not", []string{"a - .8 1 fail", "b .9 .8 1 fail"}, " tie correctness_reliability_tie"},
		{"full precision decides", []string{"a .80000001 fail", "b .8 fail"}, "a winner best_overall_score"},
	} {
		w := scoring.Winner(contenders(t, c.agents...))
		if got := w.RunAgentID + " " + w.Status + " " + w.ReasonCode; got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
