package packtest

import (
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// outcomes writes down how the agents did, and what of it is wrong.
func (s *subject) outcomes(r *Report, trials []trial) {
	broken := map[*testCase]bool{}
	var invalid []trial
	tried := false
	for _, t := range trials {
		if s.pack.Asks() && t.result.Code == scoring.CodeInfraError {
			t.result.Code = scoring.CodePackError // a capture, where there is nothing to capture
		}
		r.Trials = append(r.Trials, Trial{
			Agent: t.agent, InputSet: t.of.set, Case: t.of.Key(), Outcome: t.result.Outcome,
			Code: t.result.Code, Reason: clip(t.result.Reason, maxReason), Own: t.own,
		})
		f := Finding{Severity: Error, InputSet: t.of.set, Case: t.of.Key(), Agent: t.agent}
		tried = tried || t.agent == Hardcoded && !t.own
		switch {
		case t.result.Outcome == scoring.OutcomeInvalid && t.result.Code == scoring.CodePackError:
			if broken[t.of] {
				continue
			}
			broken[t.of] = true
			f.Agent, f.Code, f.Message = "", CodePackError, "the case cannot be judged: "+clip(t.result.Reason, maxReason)
		case t.result.Outcome == scoring.OutcomeInvalid:
			invalid = append(invalid, t)
			continue
		case t.agent == Reference && t.result.Outcome != scoring.OutcomePassed:
			f.Code, f.Message = CodeReferenceFailed, "the reference agent does not pass: "+whyFailed(t)
		case t.agent != Reference && t.result.Outcome == scoring.OutcomePassed && !t.own:
			f.Code, f.Message = CodeCheatPassed, passing(t)
		default:
			continue
		}
		r.add(f)
	}
	notJudged(r, invalid)
	if !tried && len(trials) > 0 {
		r.note("no case could be tried with the hard-coded answer of another one")
	}
}

// notJudged reports what infrastructure kept from being judged, once for each
// cause.
func notJudged(r *Report, invalid []trial) {
	type cause struct{ code, phase, reason string }
	same := map[cause]int{}
	for _, t := range invalid {
		same[cause{t.result.Code, t.result.Phase, t.result.Reason}]++
	}
	for _, t := range invalid {
		c := cause{t.result.Code, t.result.Phase, t.result.Reason}
		n := same[c]
		if n == 0 {
			continue // said
		}
		same[c] = 0
		f := Finding{Severity: Warning, Code: CodeInvalidTrial, InputSet: t.of.set, Case: t.of.Key(), Agent: t.agent,
			Message: fmt.Sprintf("not judged, and not the pack's fault: %s in the phase %s: %s", c.code, c.phase, clip(c.reason, maxReason))}
		if n > 1 {
			f.InputSet, f.Case, f.Agent = "", "", ""
			f.Message = fmt.Sprintf("%d trials were ", n) + f.Message
		}
		r.add(f)
	}
}

func whyFailed(t trial) string {
	if t.refused != "" {
		return clip(t.refused, maxReason)
	}
	why := clip(t.result.Reason, maxReason)
	var failing []string
	if t.result.Scorecard != nil {
		for _, v := range t.result.Scorecard.Validators {
			if v.Verdict == scoring.VerdictPass {
				continue
			}
			failing = append(failing, fmt.Sprintf("%s (%s)", quoted(v.Key), clip(v.Reason, maxQuoted)))
			if v.Reason != "" && strings.HasSuffix(t.result.Reason, v.Reason) {
				why = "" // the same again
			}
		}
	}
	var parts []string
	for _, p := range []string{t.result.Code, why, named(failing)} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ": ")
}

// does says what each cheat does, for messages.
func does(agent string) string {
	switch agent {
	case Silent:
		return "an agent that says nothing"
	case Echo:
		return "an agent that repeats what it was asked"
	case Leaker:
		return "an agent that gives away what it comes across"
	case Reader:
		return "an agent that looks for the expected text in what it is shown, and makes what must only be there"
	}
	return "an agent that gives every case the same answer"
}

func passing(t trial) string {
	var by []string
	if t.result.Scorecard != nil {
		for _, v := range t.result.Scorecard.Validators {
			if v.Verdict == scoring.VerdictPass {
				by = append(by, quoted(v.Key))
			}
		}
	}
	if len(by) == 0 {
		return does(t.agent) + " passes, though no validator does"
	}
	return does(t.agent) + " passes; it is let through by " + named(by)
}
