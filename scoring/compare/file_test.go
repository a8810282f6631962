package compare_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

func baselineFile(t *testing.T) (compare.File, []byte) {
	t.Helper()
	s := standard()
	f := compare.File{Name: "main", SetAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Snapshot: snapshot("r", s, planned("a", "b"),
		trial(s, "a", 1, scoring.OutcomePassed, scores{1, 1, 0.5, 0.5}), trial(s, "a", 2, scoring.OutcomeFailed, scores{0, 1, 0.5, 0.5}),
		trial(s, "b", 1, scoring.OutcomeInvalid, nil))}
	var b bytes.Buffer
	if err := compare.WriteFile(&b, f); err != nil {
		t.Fatal(err)
	}
	return f, b.Bytes()
}

func TestBaselineFileReadsBack(t *testing.T) {
	t.Parallel()
	f, raw := baselineFile(t)
	got, err := compare.ReadFile(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if c := compare.Compare(got.Snapshot, f.Snapshot); c.Status != compare.Comparable || c.KeyDeltas[0].Outcome != compare.OutcomeSame {
		t.Errorf("compared with itself: %+v", c)
	}
	var compact bytes.Buffer // as a formatter may leave it
	if err := json.Compact(&compact, raw); err != nil {
		t.Fatal(err)
	}
	if _, err := compare.ReadFile(&compact); err != nil {
		t.Errorf("white space is no change: %v", err)
	}
}

// A byte that is changed anywhere in what is compared is noticed.
func TestBaselineFileChanged(t *testing.T) {
	t.Parallel()
	_, raw := baselineFile(t)
	start := bytes.Index(raw, []byte(`"digest"`))
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		changed := bytes.Clone(raw)
		at := start + rng.IntN(len(raw)-start)
		if b := changed[at]; b == ' ' || b == '\n' {
			continue
		}
		changed[at] ^= 1 << rng.IntN(7)
		if bytes.ContainsAny(changed[at:at+1], " \n\t\r") {
			continue
		}
		if _, err := compare.ReadFile(bytes.NewReader(changed)); err == nil {
			t.Fatalf("byte %d changed from %q to %q is not noticed", at, raw[at], changed[at])
		}
	}
	for _, cut := range []int{0, 1, len(raw) / 2, len(raw) - 3} {
		if _, err := compare.ReadFile(bytes.NewReader(raw[:cut])); err == nil {
			t.Errorf("cut at %d is not noticed", cut)
		}
	}
}

func TestBaselineFileRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*compare.File)
		old    string
		new    string
		want   string
	}{
		"another kind":    {old: "agentclash.baseline", new: "agentclash.ballad", want: "not a baseline"},
		"a newer version": {old: `"version": 1`, new: `"version": 2`, want: "version 2"},
		"no scorecard":    {change: func(f *compare.File) { f.Snapshot.Scorecard = nil }, want: "no scorecard"},
		"a case twice":    {change: func(f *compare.File) { f.Snapshot.Cases[1].CaseKey = "a" }, want: "twice"},
		"endless trials": {change: func(f *compare.File) {
			f.Snapshot.Cases[0].Passed, f.Snapshot.Cases[0].Valid = 1<<60, 1<<60
		}, want: "more than 10000 trials"},
		"wrong sums":        {change: func(f *compare.File) { f.Snapshot.Cases[0].Valid = 7 }, want: "add up"},
		"a score above one": {change: func(f *compare.File) { f.Snapshot.Cases[0].OverallScore.Value = new(1.5) }, want: "0 to 1"},
		"nobody":            {change: func(f *compare.File) { f.Snapshot.RunAgentID = "" }, want: "no run agent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _ := baselineFile(t)
			if c.change != nil {
				c.change(&f)
			}
			var b bytes.Buffer
			if err := compare.WriteFile(&b, f); err != nil {
				t.Fatal(err)
			}
			raw := b.String()
			if c.old != "" {
				raw = strings.Replace(raw, c.old, c.new, 1)
			}
			if _, err := compare.ReadFile(strings.NewReader(raw)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestAnOldBaselineIsSaid(t *testing.T) {
	t.Parallel()
	s := standard()
	base, next := oneTrial("a", s, 1, 1, 1, 1), oneTrial("b", s, 1, 1, 1, 1)
	base.RanAt = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for ahead, want := range map[time.Duration]bool{24 * time.Hour: false, 24*time.Hour + 1: true} {
		c := compare.Compare(base, next).At(base.RanAt.Add(-ahead), base)
		if said := strings.Contains(strings.Join(c.EvidenceQuality.Warnings, ""), "ahead of this clock"); said != want || (c.State == compare.PartialEvidence) != want {
			t.Errorf("%s ahead: got %q, state %s", ahead, c.EvidenceQuality.Warnings, c.State)
		}
	}
	for age, want := range map[time.Duration]bool{compare.OldBaseline - 1: false, compare.OldBaseline: true} {
		c := compare.Compare(base, next).At(base.RanAt.Add(age), base)
		if said := strings.Contains(strings.Join(c.EvidenceQuality.Warnings, ""), "days old"); said != want || (c.State == compare.PartialEvidence) != want {
			t.Errorf("at %s: got %q, state %s", age, c.EvidenceQuality.Warnings, c.State)
		}
	}
}
