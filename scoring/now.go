package scoring

import "fmt"

// What the evidence says while a trial still goes on: for conversations whose
// course depends on it.

// FailsNow says whether a validator that reads the final output or the
// conversation would not pass if the trial was scored now, and which. Those that
// read nothing of the kind, and those that would have to run code, are not asked;
// neither does one count whose evidence is not there for no fault of the agent's.
func (s *Scorer) FailsNow(ev Evidence) (fails bool, key, reason string) {
	t := s.trial(ev)
	for i := range s.validators {
		v := &s.validators[i]
		if v.Type == CodeExecution || !v.target.said() && !v.expected.said() {
			continue
		}
		r := t.judge(v)
		if r.Verdict == VerdictPass || r.State == Unavailable && r.cause != causeAgent {
			continue
		}
		return true, v.Key, r.Reason
	}
	return false, "", ""
}

// said says that a reference is to what agent and user said.
func (r reference) said() bool {
	return r.kind == refOutput || r.kind == refTranscript || r.kind == refTurns
}

// BelowNow says whether a judge that a dimension reads has scored under the
// dimension's threshold (or half, where it sets none) by the replies that the
// evidence holds, and which. unreached is the code of a call that failed, so that
// it is not known.
func (s *Scorer) BelowNow(ev Evidence) (below bool, key, reason, unreached string) {
	t := s.trial(ev)
	for i := range s.judges {
		j := &s.judges[i]
		if !j.used || j.Mode == judgeNWise {
			continue
		}
		o := t.opinion(s, j)
		switch {
		case o.unreached && key == "":
			key, reason, unreached = j.Key, o.Reason, o.code
		case o.State == Available && *o.NormalizedScore < j.mark:
			return true, j.Key, fmt.Sprintf("%.2f, under %.2f", *o.NormalizedScore, j.mark), ""
		}
	}
	return false, key, reason, unreached
}

// WithOutput is the evidence of a trial that goes on as if what the agent said
// last was its final output.
func (ev Evidence) WithOutput(text string) Evidence {
	ev.FinalOutput = &text
	return ev
}
