package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// findings is what a trial's evidence shows, before it has a class.
type findings struct {
	result     scoring.Trial
	card       scoring.Scorecard
	tier       string
	checks     []scoring.ValidatorResult // that failed
	dimensions []string                  // that failed
	stable     []string                  // those of them that no clock and no bill decides
	judges     []JudgeRef
	metrics    []MetricRef
	facts      []Fact
}

func newFindings(t Trial) findings {
	f := findings{result: t.Result, facts: t.Facts, tier: tier(t), dimensions: []string{}, judges: []JudgeRef{}, metrics: []MetricRef{}}
	if t.Result.Scorecard == nil {
		return f
	}
	f.card = *t.Result.Scorecard
	for _, v := range f.card.Validators {
		if v.State != scoring.Available || v.Verdict != "" && v.Verdict != scoring.VerdictPass {
			f.checks = append(f.checks, v)
		}
	}
	for _, d := range f.card.Dimensions {
		if d.State == scoring.Available && d.Score != nil && *d.Score >= 1 {
			continue
		}
		f.dimensions = append(f.dimensions, d.Key)
		if d.Source != scoring.SourceLatency && d.Source != scoring.SourceCost && d.Source != scoring.SourceMetric {
			f.stable = append(f.stable, d.Key)
		}
	}
	f.gauges()
	return f
}

// gauges takes the judges that are not content and the metrics without a value.
func (f *findings) gauges() {
	for _, j := range f.card.Judges {
		if j.State == scoring.Available && (j.NormalizedScore == nil || *j.NormalizedScore >= 1) || len(f.judges) == maxRefs {
			continue
		}
		ref := JudgeRef{Key: j.Key, Kind: j.Mode, State: string(j.State), Score: j.NormalizedScore, Reason: clip(j.Reason, maxReason)}
		if j.Source != nil {
			ref.Sequence, ref.EventType = j.Source.Sequence, j.Source.EventType
		}
		f.judges = append(f.judges, ref)
	}
	for _, m := range f.card.Metrics {
		if m.State != scoring.Available && len(f.metrics) < maxRefs {
			f.metrics = append(f.metrics, MetricRef{Key: m.Key, Type: m.Collector, State: string(m.State), Reason: clip(m.Reason, maxReason)})
		}
	}
}

// tier is how much the evidence can carry. What a program or an endpoint does
// is seen only where it states facts of its work.
func tier(t Trial) string {
	switch {
	case !t.Hosted:
		return TierNative
	case !t.BlackBox && slices.ContainsFunc(t.Facts, func(f Fact) bool { return structured(f.Type) }):
		return TierHostedStructured
	case len(t.Facts) > 0:
		return TierHostedBlackBox
	}
	return TierNone
}

func structured(eventType string) bool {
	for _, prefix := range []string{"model.", "tool.", "sandbox.command.", "system.output.finalized"} {
		if strings.HasPrefix(eventType, prefix) {
			return true
		}
	}
	return false
}

func (f findings) invalid() bool { return f.result.Outcome == scoring.OutcomeInvalid }

func (f findings) checkKeys() []string {
	keys := []string{}
	for _, c := range f.checks {
		keys = append(keys, c.Key)
	}
	return keys
}

// state is how sure the failure is. An invalid trial whose sandbox failed has
// failed for a known reason; every other one lacks its evidence.
func (f findings) state(class string) string {
	blind := f.tier == TierHostedBlackBox && len(f.checks) == 0
	if class == Insufficient || f.invalid() && class != SandboxFailure || blind {
		return StateIncomplete
	}
	return StateFailed
}

// replayRefs are the events to look at: those that failed checks, judges and
// dimensions rest on, then those that say of themselves that something failed.
func (f findings) replayRefs() []ReplayRef {
	refs := []ReplayRef{}
	seen := map[int64]bool{}
	add := func(sequence int64, eventType, kind string) {
		if sequence > 0 && !seen[sequence] && len(refs) < maxRefs {
			seen[sequence] = true
			refs = append(refs, ReplayRef{sequence, eventType, kind})
		}
	}
	for _, c := range f.checks {
		if c.Source != nil {
			add(c.Source.Sequence, c.Source.EventType, c.Source.Kind)
		}
	}
	for _, j := range f.judges {
		add(j.Sequence, j.EventType, "judge_call")
	}
	for _, d := range f.card.Dimensions {
		if slices.Contains(f.dimensions, d.Key) && d.Event != nil {
			add(d.Event.Sequence, d.Event.EventType, d.Event.Kind)
		}
	}
	for _, fact := range f.facts {
		if strings.HasSuffix(fact.Type, ".failed") || strings.HasSuffix(fact.Type, ".lost") || strings.HasSuffix(fact.Type, ".reached") {
			add(fact.Sequence, fact.Type, fact.Kind)
		}
	}
	slices.SortFunc(refs, func(a, b ReplayRef) int { return int(a.Sequence - b.Sequence) })
	return refs
}

// artifactRefs are the captures that failed checks read.
func (f findings) artifactRefs() []ArtifactRef {
	refs := []ArtifactRef{}
	for _, c := range f.checks {
		key, is := strings.CutPrefix(c.Target, "file:")
		if ref := (ArtifactRef{key}); is && !slices.Contains(refs, ref) && len(refs) < maxRefs {
			refs = append(refs, ref)
		}
	}
	return refs
}

// detail says in a few sentences what there is to know.
func (f findings) detail() string {
	var says []string
	if f.result.Reason != "" {
		says = append(says, clip(f.result.Reason, maxReason))
	}
	for _, c := range f.checks {
		if c.Reason != "" && len(says) < 4 {
			says = append(says, c.Key+": "+clip(c.Reason, maxReason))
		}
	}
	for _, j := range f.judges {
		if j.Reason != "" && len(says) < 4 {
			says = append(says, j.Key+": "+j.Reason)
		}
	}
	if len(says) == 0 && len(f.checks) > 0 {
		says = append(says, "failed: "+shown(f.checkKeys()))
	}
	return strings.Join(says, "; ")
}

// evidence is what the remediation rests on, five facts at most.
func (f findings) evidence(item Item) []string {
	list := []string{}
	add := func(what string, names []string) {
		if len(names) > 0 && len(list) < 5 {
			list = append(list, what+" "+shown(names))
		}
	}
	add("failed dimensions:", f.dimensions)
	add("failed checks:", f.checkKeys())
	var judges, metrics []string
	for _, j := range f.judges {
		judges = append(judges, j.Key)
	}
	for _, m := range f.metrics {
		metrics = append(metrics, m.Key)
	}
	add("judges not content:", judges)
	add("metrics without a value:", metrics)
	if len(item.ReplayRefs) > 0 {
		r := item.ReplayRefs[0]
		add("first event to look at:", []string{fmt.Sprintf("%d %s", r.Sequence, r.EventType)})
	}
	if item.Code != "" {
		add("ended with:", []string{item.Code})
	}
	add("evidence:", []string{item.Tier})
	return list
}
