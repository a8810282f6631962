package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
)

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
	c, err := x.plan.Case(t.CaseKey)
	if err != nil {
		return Identity{}, err
	}
	own, ok := x.cases[t.CaseKey]
	if !ok {
		own = x.caseParts(c)
		x.cases = map[string][]facet{t.CaseKey: own} // trials of a case lie together
	}
	d := x.plan.Agents[t.Agent].Deployment
	l := LimitsOf(x.plan.Spec, c, d)
	limits := map[string]any{
		"max_iterations": l.Steps, "max_tool_calls": l.ToolCalls, "step_timeout": l.Step.String(), "run_timeout": l.Trial.String(),
		"max_output_tokens": l.Output, "text_reminders": l.Reminders, "max_total_tokens": l.Budget.Tokens, "max_cost_usd": l.Budget.USD,
		"box": BoxSpec(x.plan.Source, d, false).Limits,
	}
	if l.Budget.USD > 0 { // then prices decide when a trial is stopped
		in, _ := x.plan.Scorer.Cost(d.Provider, d.Model, 1_000_000, 0)
		out, _ := x.plan.Scorer.Cost(d.Provider, d.Model, 0, 1_000_000)
		limits["usd_per_million_tokens"] = []float64{in, out}
	}
	parts := slices.Concat(x.common, x.lanes[t.Agent], own, []facet{
		x.part("the task as an endpoint is sent it", sentTask(x.plan.Source, c, d)),
		x.part("the limits", limits),
		x.part("the repetition", t.Repetition),
	})
	return Identity{parts}, x.err
}

// part writes one part; the first that cannot be written is x.err.
func (x *identifier) part(name string, v any) facet {
	doc, err := event.Marshal(v)
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
	p, src := x.plan, x.plan.Source
	dir, read, write := src.Roots()
	var packages []string
	if box := src.Version.Sandbox; box != nil {
		packages = box.AdditionalPackages
	}
	return append(x.taskParts(src),
		x.part("the engine", semantics),
		x.part("the seed", p.Options.Seed),
		x.part("the peer standings", map[string]any{"told": p.Options.PeerStandings, "gap": p.Options.PeerGap}),
		x.part("the sandbox", map[string]any{
			"kind": p.Sandbox.Kind, "image": p.Sandbox.Image, "image_id": p.Sandbox.ImageID, "packages": p.Sandbox.Packages,
			"additional_packages": packages,
		}),
		x.part("the directories", map[string]any{"dir": dir, "read": read, "write": write}),
		x.scores("the evaluation spec", map[string]any{"digest": p.SpecDigest, "spec": p.Spec}),
		x.scores("the prices", p.Prices),
		x.scores("the judges", p.judgesAsked()),
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
	m, err := NewMode(src, d, nil)
	if err != nil && x.err == nil {
		x.err = err
	}
	return []facet{x.part("the tools", map[string]any{"definitions": m.Definitions(), "tools": src.Tools})}
}

func (x *identifier) laneParts(lane int) []facet {
	src, d := x.plan.Source, x.plan.Agents[lane].Deployment
	net, err := NetworkOf(src, d)
	if err != nil && x.err == nil {
		x.err = err
	}
	var simulating []SimulatorModel // of this lane, wherever it stands
	for _, m := range x.plan.Simulators {
		if m.Lane == lane {
			m.Lane, m.Account, m.Script = 0, "", "" // a script's digest is here
			simulating = append(simulating, m)
		}
	}
	shown := d
	if d.Provider != provider.Scripted { // whose replies go by the name
		shown.Name = ""
	}
	shown.Script = ""                                    // its digest is here
	shown.Account = ""                                   // a key, whoever's, changes no reply
	shown.Build, shown.Profile, shown.Alias = "", "", "" // the fields that they filled are here
	// these act through other parts
	shown.Limits, shown.Tools, shown.Sandbox = Limits{}, ToolOverrides{}, SandboxOverrides{}
	return append(x.toolParts(src, d),
		x.part("the tool policy", src.Version.ToolPolicy),
		x.part("the network", map[string]any{
			"tools": net.Tools, "programs": net.Programs, "vault": net.Vault, "watched": net.Watched, "allowlist": allowlist(src),
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
		view.Pack, view.Challenge, files = pack.ViewPack{}, pack.ViewChallenge{}, nil
	}
	return []facet{
		x.part("the pack's name", view.Pack),
		x.part("the instructions", instructions),
		x.part("the challenge", view.Challenge),
		x.part("the files in the workspace", files),
		x.part("the payload", c.Payload), // templates read all of it
		x.part("the inputs", view.Case.Inputs),
		x.part("the simulated user", c.UserSimulator),
	}
}

// sentTask is what an endpoint is sent besides a question that shows other agents
// nothing else of the task, nil for those.
func sentTask(src *pack.Pack, c pack.Case, d Deployment) any {
	if !d.IsHTTP() || !src.Asks() {
		return nil
	}
	return src.AgentView(c)
}

func (x *identifier) caseParts(c pack.Case) []facet {
	src := x.plan.Source
	scored := src.ScoringCase(c)
	scored.Payload, scored.Inputs = nil, nil // they are among what is given
	steering := x.plan.steering(c)
	if len(steering) > 0 {
		steering["expectations"] = scored
	}
	return append(x.givenParts(src, bare(c)),
		x.part("the case", c.Key()),
		x.part("what is taken from the box and run in it", map[string]any{
			"post_execution_checks": x.plan.Spec.PostExecutionChecks, "tests": x.testList(c), "files": fileDigests(src.GraderFiles(c)),
		}),
		x.part("what the conversation goes by", steering),
		x.scores("the case's expectations", scored),
	)
}

// testList is what the pack's code_execution validators run for a case.
func (x *identifier) testList(c pack.Case) []map[string]any {
	var list []map[string]any
	for _, g := range x.plan.Scorer.Graders() {
		list = append(list, map[string]any{
			"key": g.Key, "command": c.Render(g.Config.TestCommand), "dir": GraderDir(g.Check.Path), "timeout": GraderTimeout(g).String(),
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
