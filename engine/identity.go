package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
)

// semantics counts the changes of this engine after which the same inputs no
// longer make the same trial, and an earlier trial no longer stands for a new one.
const semantics = 1

// Identity is everything that can change what a trial comes to, part by part:
// what can change the agent's behaviour (and what is taken from its box), and
// what can change the score of the same behaviour. It holds no id, no date and no
// name that only people read.
type Identity struct{ parts []facet }

// facet is one thing that people would name as a reason.
type facet struct {
	name    string
	scoring bool   // it changes the score alone
	doc     []byte // JSON, with the keys of objects sorted
}

// Execution is the SHA-256, in hex, of what can change the trial's behaviour.
// Trials with the same one are of the same trial.
func (i Identity) Execution() string { return i.digest(false) }

// Scoring is the SHA-256, in hex, of what can change the score of the same
// behaviour.
func (i Identity) Scoring() string { return i.digest(true) }

func (i Identity) digest(scoring bool) string {
	h := sha256.New()
	for _, p := range i.parts {
		if p.scoring == scoring {
			// no part's name or document holds a zero byte
			fmt.Fprintf(h, "%s\x00%s\x00", p.name, p.doc)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Difference is a place where two identities differ.
type Difference struct {
	Part string // such as "the deployment"
	// Scoring says that only the score can change by it.
	Scoring bool
	Path    string // within the part, as in JSON: "" is the whole of it
	Was, Is string // excerpts of the values as JSON, "" for none
}

// Since lists what is different from an earlier identity, some places of each
// part.
func (i Identity) Since(was Identity) []Difference {
	var list []Difference
	for n, p := range i.parts {
		before := was.parts[n] // all identities have the same parts
		if bytes.Equal(p.doc, before.doc) {
			continue
		}
		for _, d := range differences(before.doc, p.doc) {
			d.Part, d.Scoring = p.name, p.scoring
			list = append(list, d)
		}
	}
	return list
}

// others names the parts that are different, of those that are given in both
// lists at the same places.
func others(was, now []facet) []string {
	var list []string
	for i, p := range now {
		if !bytes.Equal(p.doc, was[i].doc) {
			list = append(list, p.name)
		}
	}
	return list
}

// identifier works out the identities of a plan's trials. What trials have in
// common is worked out once.
type identifier struct {
	plan   *Plan
	common []facet   // of all trials
	lanes  [][]facet // of a run agent's
	cases  map[string][]facet
	err    error
}

// identify prepares to work out the identities of the plan's trials.
func (p *Plan) identify() (*identifier, error) {
	x := &identifier{plan: p, cases: map[string][]facet{}}
	x.common = x.commonParts()
	for lane := range p.Agents {
		x.lanes = append(x.lanes, x.laneParts(lane))
	}
	return x, x.err
}

// of is the identity of a trial; the plan's case must exist.
func (x *identifier) of(t Trial) (Identity, error) {
	c, err := x.plan.kase(t.CaseKey)
	if err != nil {
		return Identity{}, err
	}
	own, ok := x.cases[t.CaseKey]
	if !ok {
		own = x.caseParts(c)
		x.cases = map[string][]facet{t.CaseKey: own} // trials of a case lie together
	}
	d := x.plan.Agents[t.Agent].Deployment
	l := resolveLimits(x.plan.spec, c, d)
	limits := map[string]any{
		"max_iterations": l.steps, "max_tool_calls": l.toolCalls, "step_timeout": l.step.String(), "run_timeout": l.trial.String(),
		"max_output_tokens": l.output, "text_reminders": l.reminders, "max_total_tokens": l.budget.Tokens, "max_cost_usd": l.budget.USD,
		"box": boxSpec(x.plan.pack, false).Limits,
	}
	if l.budget.USD > 0 { // then prices decide when a trial is stopped
		in, _ := x.plan.scorer.Cost(d.Provider, d.Model, 1_000_000, 0)
		out, _ := x.plan.scorer.Cost(d.Provider, d.Model, 0, 1_000_000)
		limits["usd_per_million_tokens"] = []float64{in, out}
	}
	parts := slices.Concat(x.common, x.lanes[t.Agent], own, []facet{
		x.part("the limits", limits),
		x.part("the repetition", t.Repetition),
	})
	return Identity{parts}, x.err
}

// part writes one part; the first that cannot be written is x.err.
func (x *identifier) part(name string, v any) facet {
	doc, err := marshal(v)
	if err != nil && x.err == nil {
		x.err = fmt.Errorf("write down %s: %w", name, err)
	}
	return facet{name: name, doc: doc}
}

func (x *identifier) scores(name string, v any) facet {
	p := x.part(name, v)
	p.scoring = true
	return p
}

func (x *identifier) commonParts() []facet {
	p, src := x.plan, x.plan.pack
	dir, read, write := src.Roots()
	var packages []string
	if box := src.Version.Sandbox; box != nil {
		packages = box.AdditionalPackages
	}
	return append(x.taskParts(src),
		x.part("the engine", semantics),
		x.part("the seed", p.Options.Seed),
		x.part("the sandbox", map[string]any{
			"kind": p.Sandbox.Kind, "image": p.Sandbox.Image, "image_id": p.Sandbox.ImageID, "packages": p.Sandbox.Packages,
			"additional_packages": packages,
		}),
		x.part("the directories", map[string]any{"dir": dir, "read": read, "write": write}),
		x.scores("the evaluation spec", map[string]any{"digest": p.SpecDigest, "spec": p.spec}),
		x.scores("the prices", p.Prices),
		x.scores("the judges", p.Judges),
	)
}

// taskParts are what the agents of every case are given, but for what a
// deployment can change.
func (x *identifier) taskParts(src *pack.Pack) []facet {
	return []facet{
		x.part("the execution mode", src.Mode()),
		x.part("the environment", src.Environment()),
		x.part("the planted secrets or adversarial prompts", map[string]any{"secrets": src.Told(), "prompts": prompts(src)}),
	}
}

// toolParts are what a deployment's agents can do: the definitions are what the
// model sees, the blocks what calls do.
func (x *identifier) toolParts(src *pack.Pack, d Deployment) []facet {
	m, err := newMode(src, d, nil)
	if err != nil && x.err == nil {
		x.err = err
	}
	return []facet{x.part("the tools", map[string]any{"definitions": m.definitions(), "tools": src.Tools})}
}

func (x *identifier) laneParts(lane int) []facet {
	src, d := x.plan.pack, x.plan.Agents[lane].Deployment
	net, err := networkOf(src, d)
	if err != nil && x.err == nil {
		x.err = err
	}
	var simulating []SimulatorModel // of this lane, wherever it stands
	for _, m := range x.plan.Simulators {
		if m.Lane == lane {
			m.Lane, m.Account = 0, ""
			simulating = append(simulating, m)
		}
	}
	shown := d
	if d.Provider != provider.Scripted { // whose replies go by the name
		shown.Name = ""
	}
	shown.Account = "" // a key, whoever's, changes no reply
	// these act through other parts
	shown.Limits, shown.Tools, shown.Sandbox = Limits{}, ToolOverrides{}, SandboxOverrides{}
	return append(x.toolParts(src, d),
		x.part("the tool policy", src.Version.ToolPolicy),
		x.part("the network", map[string]any{
			"tools": net.tools, "programs": net.programs, "vault": net.vault, "watched": net.watched, "allowlist": allowlist(src),
		}),
		x.part("the deployment", shown),
		x.part("the users' models", simulating),
	)
}

// givenParts are what the agents of one case are given. Without tools they see
// nothing of the challenge but its instructions, and no files.
func (x *identifier) givenParts(src *pack.Pack, c pack.Case) []facet {
	view := src.AgentView(c)
	instructions, files := view.Challenge.Instructions, fileDigests(src.WorkspaceFiles(c))
	view.Challenge.Instructions = ""
	if src.Asks() {
		view.Challenge, files = pack.ViewChallenge{}, nil
	}
	return []facet{
		x.part("the instructions", instructions),
		x.part("the challenge", view.Challenge),
		x.part("the files in the workspace", files),
		x.part("the payload", c.Payload), // templates read all of it
		x.part("the inputs", view.Case.Inputs),
		x.part("the simulated user", c.UserSimulator),
	}
}

func (x *identifier) caseParts(c pack.Case) []facet {
	src := x.plan.pack
	scored := src.ScoringCase(c)
	scored.Payload, scored.Inputs = nil, nil // they are among what is given
	return append(x.givenParts(src, bare(c)),
		x.part("the case", c.Key()),
		x.part("what is taken from the box and run in it", map[string]any{
			"post_execution_checks": x.plan.spec.PostExecutionChecks, "tests": x.testList(c), "files": fileDigests(src.GraderFiles(c)),
		}),
		x.scores("the case's expectations", scored),
	)
}

// testList is what the pack's code_execution validators run for a case.
func (x *identifier) testList(c pack.Case) []map[string]any {
	var list []map[string]any
	for _, g := range x.plan.scorer.Graders() {
		list = append(list, map[string]any{
			"key": g.Key, "command": c.Render(g.Config.TestCommand), "dir": graderDir(g.Check.Path), "timeout": graderTimeout(g).String(),
		})
	}
	return list
}

func fileDigests(files []pack.StagedFile) map[string]string {
	list := make(map[string]string, len(files))
	for _, f := range files {
		sum := sha256.Sum256(f.Data)
		list[f.Path] = hex.EncodeToString(sum[:])
	}
	return list
}
