package pack

import (
	"slices"
	"strings"

	"github.com/agentclash/agentclash/pack/template"
)

// checkSimulators: every case of a multi_turn pack says who plays the user, and
// no other pack's case does.
func checkSimulators(c *checker) {
	c.eachCase(func(at string, kase Case) {
		field := at + ".user_simulator"
		switch multi := c.Version.ExecutionMode == MultiTurn; {
		case kase.UserSimulator != nil && !multi:
			c.fail(field, "is for packs whose execution_mode is %s only", MultiTurn)
		case kase.UserSimulator == nil && multi:
			c.fail(field, "is required when execution_mode is %s: it says who plays the user", MultiTurn)
		case multi:
			s := simulatorChecker{checker: c, kase: kase, sources: c.sourcesOf(at, kase)}
			s.check(field, kase.UserSimulator)
		}
	})
}

// simulatorChecker checks the simulated user of one case.
type simulatorChecker struct {
	*checker
	kase    Case
	sources source
}

func (s simulatorChecker) check(field string, u *UserSimulator) {
	if u.SchemaVersion != 1 {
		s.fail(field+".schema_version", "must be 1")
	}
	if kind := strings.TrimSpace(u.Kind); kind != "hybrid" {
		s.fail(field+".kind", "must be hybrid%s", s.hint(kind, []string{"hybrid"}))
	}
	s.notNegative(field+".max_turns", int64(u.MaxTurns))
	if len(u.Phases) == 0 {
		s.fail(field+".phases", "must hold at least one phase")
	}
	ids := s.keys()
	for i, p := range u.Phases {
		at := indexed(field+".phases", i)
		ids.check(at+".id", strings.TrimSpace(p.ID))
		s.trigger(at+".trigger", i == 0, p.Trigger)
		s.phase(at, p)
	}
	if cal := u.Calibration; cal != nil && cal.Enabled && !(cal.SampleRate > 0 && cal.SampleRate <= 1) {
		s.fail(field+".calibration.sample_rate", "must be greater than 0 and at most 1")
	}
	if u.PostRun == nil || u.PostRun.Arena == nil || !u.PostRun.Arena.Enabled {
		return
	}
	if comparison := u.PostRun.Arena.Comparison; comparison != "" && comparison != "pairwise" {
		s.fail(field+".post_run.arena.comparison", "must be pairwise or left out")
	}
}

// triggers say when a phase begins; the first phase always does, a later one
// needs a reason.
func triggers() []string {
	return []string{"always", "on_assistant_mismatch", "on_validator_fail", "on_judge_below", "on_agent_loop", "on_max_llm_turns", "manual", "never"}
}

func (s simulatorChecker) trigger(field string, first bool, trigger string) {
	always := trigger == "" || trigger == "always"
	if trigger != "" && !slices.Contains(triggers(), trigger) {
		s.fail(field, "%s", s.oneOf(trigger, triggers()))
	}
	switch {
	case first && !always:
		s.fail(field, "must be always or left out: the first phase always runs")
	case !first && always:
		s.fail(field, "is required and cannot be always: a later phase needs a reason to run")
	}
}

func (s simulatorChecker) phase(at string, p Phase) {
	actors := []string{ScriptedActor, LLMActor, HumanActor}
	actor := strings.TrimSpace(p.Actor)
	switch actor {
	case ScriptedActor:
		s.turns(at+".turns", p.Turns)
	case LLMActor:
		s.require(at+".persona", strings.TrimSpace(p.Persona))
		s.notNegative(at+".max_turns", int64(p.MaxTurns))
		s.until(at+".until", p.Until)
	case HumanActor:
		s.notNegative(at+".timeout_ms", p.TimeoutMS)
		if !slices.Contains([]string{"", "stop", "fail"}, p.OnTimeout) {
			s.warn(at+".on_timeout", "means stop: it is neither stop nor fail")
		}
	case "":
		s.fail(at+".actor", "is required: %s", strings.Join(actors, ", "))
		return
	default:
		s.fail(at+".actor", "%s", s.oneOf(actor, actors))
	}
	if p.Model != "" && actor != LLMActor {
		s.fail(at+".model", "is for the actor %s only", LLMActor)
	}
}

func (s simulatorChecker) turns(field string, turns []Turn) {
	if len(turns) == 0 {
		s.fail(field, "must hold at least one turn when actor is %s", ScriptedActor)
	}
	vars := s.kase.vars()
	for i, t := range turns {
		at := indexed(field, i)
		s.require(at+".message", strings.TrimSpace(t.Message))
		s.expectations(at+".expects", t.Expects, s.sources)
		s.comparable(at+".expects", t.Expects)
		for _, u := range template.Missing(template.Placeholders(t.Message), vars) {
			s.fail(at+".message", "%s", unfilled(u))
		}
	}
}

// comparable warns of what no answer can meet.
func (s simulatorChecker) comparable(field string, expects []Expectation) {
	for i, e := range expects {
		at := indexed(field, i)
		switch kind := strings.TrimSpace(e.Kind); {
		case kind != "" && kind != "contains" && kind != "exact_match":
			s.warn(at+".kind", "is met by no answer: answers are compared by contains and exact_match")
		case e.Value == nil:
			s.warn(at, "is met by no answer: it has no value")
		}
	}
}

func (s simulatorChecker) until(field string, conditions []string) {
	for i, condition := range conditions {
		at := indexed(field, i)
		condition = strings.TrimSpace(condition)
		switch {
		case !s.require(at, condition):
		case condition != "max_turns" && !strings.HasPrefix(condition, "assistant_emitted:") && !strings.HasPrefix(condition, "user_token:"):
			s.warn(at, "never holds: it is none of max_turns, assistant_emitted:<text> and user_token:<text>")
		}
	}
}

func (c *checker) notNegative(field string, n int64) {
	if n < 0 {
		c.fail(field, "must not be negative")
	}
}
