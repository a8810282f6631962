package engine

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// given compares what a run gave the agents of a case, and what it took from
// them, with another version of the pack.
type given struct {
	otherwise string // how the agents were given something else, "" when they were not
	lost      map[string]bool
	tests     map[string]test // what the pack would run, by validator
}

// test is a command as a trial would run it.
type test struct {
	command, dir string
	timeout      time.Duration
	otherFiles   bool // its own files are not those that the run had
}

// comparePacks looks at every case of a plan, which is bound to with.
func comparePacks(p *Plan, own, with *pack.Pack) (map[string]given, error) {
	set, err := own.InputSet(p.InputSet)
	if err != nil {
		return nil, err
	}
	before := make(map[string]pack.Case, len(set.Cases))
	for _, c := range set.Cases {
		before[c.Key()] = c
	}
	general, err := otherTask(own, with)
	if err != nil {
		return nil, err
	}
	for _, agent := range p.Agents {
		other, err := otherNetwork(own, with, agent.Deployment)
		if err != nil {
			return nil, err
		}
		if other != "" && !slices.Contains(general, other) {
			general = append(general, other)
		}
	}
	lost := lostCaptures(own.Version.EvaluationSpec.PostExecutionChecks, p.spec.PostExecutionChecks)
	list := make(map[string]given, len(p.Cases))
	for _, ref := range p.Cases {
		was, now, g := before[ref.Key], p.cases[ref.Key], given{lost: lost}
		if now.Key() == "" {
			g.otherwise = "the pack has no such case"
			list[ref.Key] = g
			continue
		}
		other := slices.Concat(general, otherCase(own, with, was, now))
		if len(other) > 0 {
			g.otherwise = "the agent was given something else: " + strings.Join(other, ", ")
		}
		g.tests = p.tests(now, !sameFiles(own.GraderFiles(was), with.GraderFiles(now)))
		list[ref.Key] = g
	}
	return list, nil
}

// otherTask says what is different for the agents of every case.
func otherTask(own, with *pack.Pack) ([]string, error) {
	if own.Mode() != with.Mode() {
		return []string{"the execution mode is " + with.Mode() + ", it was " + own.Mode()}, nil
	}
	was, err := newMode(own, Deployment{}, nil)
	if err != nil {
		return nil, err
	}
	now, err := newMode(with, Deployment{}, nil)
	if err != nil {
		return nil, err
	}
	var other []string
	if !equal(own.Environment(), with.Environment()) {
		other = append(other, "the environment")
	}
	if !equal(own.Told(), with.Told()) || !equal(prompts(own), prompts(with)) {
		other = append(other, "the planted secrets or adversarial prompts")
	}
	// the definitions are what the models saw, the blocks what the calls did
	for _, pair := range [][2]any{{was.definitions(), now.definitions()}, {own.Tools, with.Tools}} {
		if same, err := sameJSON(pair[0], pair[1]); err != nil || !same {
			return append(other, "the tools"), err
		}
	}
	return other, nil
}

// otherNetwork says what is different about the network of a deployment's agents.
// Where the run did not see what programs try, rules about it would find nothing.
func otherNetwork(own, with *pack.Pack, d Deployment) (string, error) {
	was, err := networkOf(own, d)
	if err != nil {
		return "", err
	}
	now, err := networkOf(with, d)
	if err != nil {
		return "", err
	}
	switch {
	case was.tools != now.tools || was.programs != now.programs || was.vault != now.vault || !equal(allowlist(own), allowlist(with)):
		return "the network", nil
	case now.watched && !was.watched:
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

// otherCase says what is different for the agents of one case.
func otherCase(own, with *pack.Pack, was, now pack.Case) []string {
	var list []string
	note := func(what string, same bool) {
		if !same {
			list = append(list, what)
		}
	}
	before, after := own.AgentView(was), with.AgentView(now)
	note("the instructions", before.Challenge.Instructions == after.Challenge.Instructions)
	if !own.Asks() { // whose agents see nothing else of the challenge, and no files
		before.Challenge.Instructions, after.Challenge.Instructions = "", ""
		note("the challenge", equal(before.Challenge, after.Challenge))
		note("the files in the workspace", sameFiles(own.WorkspaceFiles(was), with.WorkspaceFiles(now)))
	}
	note("the payload", len(was.Payload)+len(now.Payload) == 0 || equal(was.Payload, now.Payload))
	note("the inputs", equal(before.Case.Inputs, after.Case.Inputs))
	return list
}

// equal compares values of a pack, which can all be written as JSON.
func equal(a, b any) bool {
	same, err := sameJSON(a, b)
	return same && err == nil
}

func sameJSON(a, b any) (bool, error) {
	x, err := marshal(a)
	if err != nil {
		return false, err
	}
	y, err := marshal(b)
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
	for _, g := range p.scorer.Graders() {
		list[g.Key] = test{c.Render(g.Config.TestCommand), graderDir(g.Check.Path), graderTimeout(g), otherFiles}
	}
	return list
}

// forget takes out of a trial's evidence what it would not have with this pack:
// captures of other files under the same key, and what other tests said.
func (g given) forget(ev *scoring.Evidence) {
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
	return !t.otherFiles && run.TestCommand == t.command && graderDir(run.TargetPath) == t.dir &&
		(!run.TimedOut || run.TimeoutMS >= t.timeout.Milliseconds())
}
