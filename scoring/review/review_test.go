package review_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/review"
)

// vector is one row of testdata/classes.yaml.
type vector struct {
	About   string   `yaml:"about"`
	Outcome string   `yaml:"outcome"`
	Code    string   `yaml:"code"`
	Phase   string   `yaml:"phase"`
	Hosted  bool     `yaml:"hosted"`
	Black   bool     `yaml:"black_box"`
	Facts   []string `yaml:"facts"`
	Output  *string  `yaml:"output"`
	Checks  []struct {
		Key    string `yaml:"key"`
		Type   string `yaml:"type"`
		Reason string `yaml:"reason"`
	} `yaml:"checks"`
	Judges []struct {
		Key    string  `yaml:"key"`
		Score  float64 `yaml:"score"`
		Reason string  `yaml:"reason"`
	} `yaml:"judges"`
	Want struct {
		Class      string  `yaml:"class"`
		Severity   string  `yaml:"severity"`
		State      string  `yaml:"state"`
		Family     string  `yaml:"family"`
		Tier       string  `yaml:"tier"`
		Fault      *bool   `yaml:"fault"`
		Promotable *bool   `yaml:"promotable"`
		Modes      *string `yaml:"modes"`
	} `yaml:"want"`
}

func (v vector) trial() review.Trial {
	card := scoring.Scorecard{}
	for i, c := range v.Checks {
		card.Validators = append(card.Validators, scoring.ValidatorResult{
			Key: c.Key, Type: c.Type, State: scoring.Available, Verdict: scoring.VerdictFail, Reason: c.Reason,
			Source: &scoring.Source{Kind: "output", Sequence: int64(i + 5), EventType: "system.output.finalized"},
		})
	}
	for _, j := range v.Judges {
		card.Judges = append(card.Judges, scoring.JudgeResult{Key: j.Key, Mode: "rubric", State: scoring.Available, NormalizedScore: &j.Score, Reason: j.Reason})
	}
	t := review.Trial{RunID: "r", RunAgentID: "a", Agent: "bot", ChallengeKey: "ch", Hosted: v.Hosted, BlackBox: v.Black, Result: scoring.Trial{
		TrialID: "t", CaseKey: "c", Repetition: 1, Attempt: 1, Outcome: scoring.OutcomeFailed, Code: v.Code, Phase: v.Phase,
		FinalOutput: v.Output, Scorecard: &card,
	}}
	if v.Outcome != "" {
		t.Result.Outcome = scoring.Outcome(v.Outcome)
	}
	for i, f := range v.Facts {
		t.Facts = append(t.Facts, review.Fact{Sequence: int64(i + 1), Type: f, Kind: "run"})
	}
	return t
}

func TestClasses(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/classes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := yaml.Unmarshal(src, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 30 {
		t.Fatalf("found %d vectors, which cannot be all", len(vectors))
	}
	met := map[string]bool{}
	for _, v := range vectors {
		t.Run(v.About, func(t *testing.T) {
			got := review.New(v.trial())
			met[got.Class] = true
			want := func(what, want, got string) {
				if want != "" && want != got {
					t.Errorf("%s is %q, want %q", what, got, want)
				}
			}
			want("class", v.Want.Class, got.Class)
			want("severity", v.Want.Severity, got.Severity)
			want("state", v.Want.State, got.State)
			want("family", v.Want.Family, got.Taxonomy.Family)
			want("tier", v.Want.Tier, got.Tier)
			if v.Want.Fault != nil && *v.Want.Fault != got.Taxonomy.AgentFault {
				t.Errorf("agent_fault is %v", got.Taxonomy.AgentFault)
			}
			if v.Want.Promotable != nil && *v.Want.Promotable != got.Promotable {
				t.Errorf("promotable is %v", got.Promotable)
			}
			if modes := strings.Join(got.PromotionModes, " "); v.Want.Modes != nil && *v.Want.Modes != modes {
				t.Errorf("promotion modes are %q, want %q", modes, *v.Want.Modes)
			}
			if got.Headline == "" || got.Action == "" || got.Remediation.Summary == "" || len(got.Remediation.Evidence) == 0 || len(got.Remediation.Evidence) > 5 {
				t.Errorf("the texts are not there: %+v", got)
			}
		})
	}
	for _, class := range review.Classes() {
		if !met[class] {
			t.Errorf("no vector has class %s", class)
		}
	}
}

func failing(checks ...string) vector {
	var v vector
	for _, c := range checks {
		v.Checks = append(v.Checks, struct {
			Key    string `yaml:"key"`
			Type   string `yaml:"type"`
			Reason string `yaml:"reason"`
		}{c, "contains", "no"})
	}
	return v
}

func TestKeys(t *testing.T) {
	t.Parallel()
	base := failing("a", "b").trial()
	one := review.New(base)
	if !strings.HasPrefix(one.Fingerprint, "frf_") || !strings.HasPrefix(one.ClusterKey, "frc_") || len(one.ClusterKey) != 4+64 {
		t.Fatalf("keys are %s and %s", one.Fingerprint, one.ClusterKey)
	}
	elsewhere := failing("b", "a").trial() // another run, other ids, other events, another order
	elsewhere.RunID, elsewhere.RunAgentID, elsewhere.Agent, elsewhere.Result.TrialID, elsewhere.Result.Repetition = "r2", "a2", "other", "t2", 3
	two := review.New(elsewhere)
	if two.ClusterKey != one.ClusterKey || two.Fingerprint == one.Fingerprint {
		t.Errorf("another run: cluster %v, fingerprint %v", two.ClusterKey == one.ClusterKey, two.Fingerprint == one.Fingerprint)
	}
	slow := failing("a", "b").trial() // a slower machine
	slow.Result.Scorecard.Dimensions = []scoring.DimensionResult{{Key: "latency", Source: scoring.SourceLatency, State: scoring.Available, Score: new(0.9)}}
	if got := review.New(slow); got.ClusterKey != one.ClusterKey || len(got.FailedDimensions) != 1 {
		t.Errorf("a slower machine has another cluster, or hides the dimension: %v", got.FailedDimensions)
	}
	for what, other := range map[string]review.Trial{"another check": failing("a").trial(), "another case": base, "another code": base} {
		switch what {
		case "another case":
			other.Result.CaseKey = "d"
		case "another code":
			other.Result.Code = "no_submit"
		}
		if got := review.New(other); got.ClusterKey == one.ClusterKey {
			t.Errorf("%s has the same cluster", what)
		}
	}
}

func TestTrend(t *testing.T) {
	t.Parallel()
	item := review.New(failing("a").trial())
	items := []review.Item{item, item}
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	run := func(id string, n, d int) review.Earlier {
		return review.Earlier{RunID: id, At: day(d), Counts: map[string]int{item.ClusterKey: n}}
	}
	for _, v := range []struct {
		about   string
		earlier []review.Earlier
		trend   string
		runs    int
	}{
		{"the first run", nil, review.TrendNew, 0},
		{"never seen", []review.Earlier{run("x", 0, 2)}, review.TrendNew, 0},
		{"as often as the newest that had it", []review.Earlier{run("x", 0, 3), run("y", 2, 2), run("z", 9, 1)}, review.TrendRecurring, 2},
		{"more", []review.Earlier{run("x", 1, 2), run("y", 5, 1)}, review.TrendIncreasing, 2},
		{"fewer", []review.Earlier{run("x", 3, 1)}, review.TrendDecreasing, 1},
	} {
		got := review.Clusters(items, v.earlier)
		if len(got) != 1 || got[0].Count != 2 || got[0].History.Trend != v.trend || got[0].History.PriorRuns != v.runs || got[0].History.Window != len(v.earlier) {
			t.Errorf("%s: %+v %+v", v.about, got, got[0].History)
		}
	}
}

func TestClustersAreSortedAndWorst(t *testing.T) {
	t.Parallel()
	mild, bad := review.New(failing("a").trial()), review.New(failing("policy.x").trial())
	got := review.Clusters([]review.Item{mild, mild, bad}, nil)
	if len(got) != 2 || got[0].Severity != review.Blocking || got[1].Count != 2 {
		t.Fatalf("clusters are %+v", got)
	}
	items := []review.Item{mild, mild}
	review.MarkFlaky(items[:1], func(agent, caseKey string) bool { return agent == "a" && caseKey == "c" })
	if items[0].State != review.StateFlaky || review.Clusters(items, nil)[0].State != review.StateFailed {
		t.Errorf("flaky is %s", items[0].State)
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	item := review.New(failing("a").trial())
	item.RunAgentID = "0199-abcdef12"
	for _, f := range []review.Filter{
		{}, {Agent: "BOT"}, {Agent: "abcdef12"}, {Class: review.Other}, {Severity: review.Warning}, {State: review.StateFailed}, {Case: "C"},
		{Cluster: item.ClusterKey[:12]},
	} {
		if !f.Keeps(item) {
			t.Errorf("%+v leaves it out", f)
		}
	}
	for _, f := range []review.Filter{
		{Agent: "bo"}, {Agent: "ef12"}, {Class: review.Flaky}, {Severity: review.Info}, {State: review.StateFlaky}, {Case: "d"}, {Cluster: "frc_x"}, {Tier: review.TierNone},
	} {
		if f.Keeps(item) {
			t.Errorf("%+v keeps it", f)
		}
	}
	if !slices.Contains(review.States(), review.StateWarning) {
		t.Error("the vocabulary lacks warning")
	}
}
