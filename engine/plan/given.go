package plan

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// Given compares what a run gave the agents of a case, and what it took from
// them, with another version of the pack.
type Given struct {
	Otherwise string // how the agents were given something else, "" when they were not
	lost      map[string]bool
	tests     map[string]test // what the pack would run, by validator
}

// test is a command as a trial would run it.
type test struct {
	command, dir string
	timeout      time.Duration
	otherFiles   bool // its own files are not those that the run had
}

// ComparePacks looks at every case of a plan, which is bound to with.
func ComparePacks(p *Plan, own, with *pack.Pack) (map[string]Given, error) {
	set, err := own.InputSet(p.InputSet)
	if err != nil {
		return nil, err
	}
	before := make(map[string]pack.Case, len(set.Cases))
	for _, c := range set.Cases {
		before[c.Key()] = c
	}
	x := &identifier{plan: p, cases: map[string][]facet{}}
	general, err := x.otherTask(own, with)
	if err != nil {
		return nil, err
	}
	lost := lostCaptures(own.Version.EvaluationSpec.PostExecutionChecks, p.Spec.PostExecutionChecks)
	list := make(map[string]Given, len(p.Cases))
	for _, ref := range p.Cases {
		was, now, g := before[ref.Key], p.cases[ref.Key], Given{lost: lost}
		if now.Key() == "" {
			g.Otherwise = "the pack has no such case"
			list[ref.Key] = g
			continue
		}
		other := slices.Concat(general, others(x.givenParts(own, bare(was)), x.givenParts(with, bare(now))))
		if len(other) > 0 {
			g.Otherwise = "the agent was given something else: " + strings.Join(other, ", ")
		}
		g.tests = p.tests(now, !sameFiles(own.GraderFiles(was), with.GraderFiles(now)))
		list[ref.Key] = g
	}
	return list, x.err
}

// otherTask says what is different for the agents of every case.
func (x *identifier) otherTask(own, with *pack.Pack) ([]string, error) {
	if own.Mode() != with.Mode() {
		return []string{"the execution mode is " + with.Mode() + ", it was " + own.Mode()}, nil
	}
	list := others(x.taskParts(own), x.taskParts(with))
	note := func(what string) {
		if !slices.Contains(list, what) {
			list = append(list, what)
		}
	}
	for _, agent := range x.plan.Agents {
		for _, what := range others(x.toolParts(own, agent.Deployment), x.toolParts(with, agent.Deployment)) {
			note(what)
		}
		what, err := otherNetwork(own, with, agent.Deployment)
		if err != nil {
			return nil, err
		}
		if what != "" {
			note(what)
		}
	}
	return list, x.err
}

// bare is a case whose payload is nothing rather than empty.
func bare(c pack.Case) pack.Case {
	if len(c.Payload) == 0 {
		c.Payload = nil
	}
	return c
}

// otherNetwork says what is different about the network of a deployment's agents.
// Where the run did not see what programs try, rules about it would find nothing.
func otherNetwork(own, with *pack.Pack, d Deployment) (string, error) {
	was, err := NetworkOf(own, d)
	if err != nil {
		return "", err
	}
	now, err := NetworkOf(with, d)
	if err != nil {
		return "", err
	}
	switch {
	case was.Tools != now.Tools || was.Programs != now.Programs || was.Vault != now.Vault || !equal(allowlist(own), allowlist(with)):
		return "the network", nil
	case now.Watched && !was.Watched:
		return "a network on which nobody saw what programs try", nil
	}
	return "", nil
}

func allowlist(p *pack.Pack) []string {
	if box := p.Version.Sandbox; box != nil {
		return box.NetworkAllowlist
	}
	return nil
}

// prompts are the adversarial prompts as they are put, without what is expected.
func prompts(p *pack.Pack) [][2]string {
	var list [][2]string
	if p.Security != nil {
		for _, a := range p.Security.AdversarialPrompts {
			list = append(list, [2]string{a.Name, a.Text})
		}
	}
	return list
}

// equal compares values of a pack, which can all be written as JSON.
func equal(a, b any) bool {
	same, err := sameJSON(a, b)
	return same && err == nil
}

func sameJSON(a, b any) (bool, error) {
	x, err := event.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := event.Marshal(b)
	return bytes.Equal(x, y), err
}

func sameFiles(a, b []pack.StagedFile) bool {
	return slices.EqualFunc(a, b, func(x, y pack.StagedFile) bool { return x.Path == y.Path && bytes.Equal(x.Data, y.Data) })
}

// lostCaptures are the keys whose capture the run took of something else.
func lostCaptures(was, now []scoring.PostExecutionCheck) map[string]bool {
	lost := map[string]bool{}
	for _, c := range now {
		lost[c.Key] = !slices.ContainsFunc(was, func(o scoring.PostExecutionCheck) bool {
			return o.Key == c.Key && o.Type == c.Type && o.Path == c.Path && o.Recursive == c.Recursive
		})
	}
	return lost
}

// tests are the commands that a trial of a case would run.
func (p *Plan) tests(c pack.Case, otherFiles bool) map[string]test {
	list := map[string]test{}
	for _, g := range p.Scorer.Graders() {
		list[g.Key] = test{c.Render(g.Config.TestCommand), GraderDir(g.Check.Path), GraderTimeout(g), otherFiles}
	}
	return list
}

// Forget takes out of a trial's evidence what it would not have with this pack:
// captures of other files under the same key, and what other tests said.
func (g Given) Forget(ev *scoring.Evidence) {
	for key, lost := range g.lost {
		if lost {
			delete(ev.Files, key)
			delete(ev.Directories, key)
		}
	}
	for key, run := range ev.CodeRuns {
		if !g.tests[key].ran(run) {
			delete(ev.CodeRuns, key)
		}
	}
}

// ran says whether a command that ran stands for this one: another time limit
// matters only to a command that ran out of its own.
func (t test) ran(run scoring.CodeRun) bool {
	return !t.otherFiles && run.TestCommand == t.command && GraderDir(run.TargetPath) == t.dir &&
		(!run.TimedOut || run.TimeoutMS >= t.timeout.Milliseconds())
}
