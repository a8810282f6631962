package spec_test

import (
	"strings"
	"testing"

	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/engine/plan"
)

// One content has one digest, however it is written.
func TestDigestsAreOfTheContent(t *testing.T) {
	t.Parallel()
	digest := func(src string) string {
		agent, _, problems := spec.ParseAgent("a", []byte(src))
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		doc, digest, err := agent.Document()
		if err != nil {
			t.Fatal(err)
		}
		back, err := spec.ReadDocument(doc)
		if err != nil {
			t.Fatal(err)
		}
		if _, again, err := back.Document(); err != nil || again != digest {
			t.Errorf("read back: got %s, %v, want %s", again, err, digest)
		}
		return digest
	}
	yaml := digest("system: Be brief.\nlimits: {max_iterations: 3}\noutput_schema: {type: object, required: [b, a]}\n")
	json := digest(`{"output_schema": {"required": ["b", "a"], "type": "object"}, "limits": {"max_iterations": 3}, "system": "Be brief."}`)
	other := digest("system: Be brief.\nlimits: {max_iterations: 4}\noutput_schema: {type: object, required: [b, a]}\n")
	if yaml != json || yaml == other {
		t.Errorf("got %s of YAML, %s of JSON and %s of another", yaml, json, other)
	}
}

// What is nearest says a limit: the deployment, then its build, then its profile.
func TestTheNearestLimitHolds(t *testing.T) {
	t.Parallel()
	d := plan.Deployment{Limits: plan.Limits{MaxIterations: 1}}
	d = spec.Agent{System: "s", Limits: plan.Limits{MaxIterations: 2, MaxToolCalls: 2}}.Fill(d)
	p := spec.RuntimeProfile{Limits: plan.Limits{MaxIterations: 3, MaxToolCalls: 3, StepTimeoutSeconds: 3}, SandboxOverrides: plan.SandboxOverrides{Memory: "1GiB"}}
	d = p.Fill(d)
	if d.System != "s" || d.Limits.MaxIterations != 1 || d.Limits.MaxToolCalls != 2 || d.Limits.StepTimeoutSeconds != 3 || d.Sandbox.Memory != "1GiB" {
		t.Errorf("got %+v", d)
	}
}

func TestEveryTemplateIsAnAgentSpec(t *testing.T) {
	t.Parallel()
	if len(spec.Templates()) < 2 {
		t.Fatal("there are fewer templates than are documented")
	}
	for _, template := range spec.Templates() {
		if _, _, problems := spec.ParseAgent(template.Name, []byte(template.Source)); problems.Err() != nil {
			t.Errorf("%s: %v", template.Name, problems)
		}
	}
}

// A deployment that was stored is written as the file it could have come from.
func TestOfDeployment(t *testing.T) {
	t.Parallel()
	var read spec.Deployment
	src := "name: mine\nkind: command\nmodel: openai/gpt-x\ncommand: [python3, main.py]\nenv: {A: b}\nbuild: reviewer\nruntime_profile: small\n"
	if problems := spec.ParseDeployment("d", []byte(src), &read); problems.Err() != nil {
		t.Fatal(problems)
	}
	back := spec.OfDeployment(plan.Deployment{Name: "mine", Kind: plan.KindCommand, Provider: "openai", Model: "gpt-x", Build: "reviewer", Profile: "small",
		Command: &plan.Command{Argv: []string{"python3", "main.py"}, Env: map[string]string{"A": "b"}}})
	if back.Model != read.Model || back.Build != read.Build || back.RuntimeProfile != read.RuntimeProfile || len(back.Command.([]any)) != 2 || back.Env["A"] != "b" {
		t.Errorf("got %+v, want %+v", back, read)
	}
}

func FuzzFiles(f *testing.F) {
	for _, seed := range []string{"deployments:\n- name: a\n  model: b/c\n", "system: x\ntools: []\n", "name: x\nwindow: day\nlimit_usd: 1\n", "alias_key: a\nmodel: b/c\n", "as_of: x\nmodels: [{}]\n", "memory: -1\ncpus: .nan\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if list, problems := spec.ParseDeployments("f", []byte(src)); problems.Err() == nil {
			for _, d := range list {
				if strings.TrimSpace(d.Name) == "" {
					t.Errorf("a deployment without a name: %q", src)
				}
			}
		}
		if p, problems := spec.ParsePolicy("f", []byte(src)); problems.Err() == nil && !(p.LimitUSD > 0) {
			t.Errorf("a policy without a limit: %q", src)
		}
		if m, problems := spec.ParseAlias("f", []byte(src)); problems.Err() == nil && m.AliasKey == "" {
			t.Errorf("an alias without a key: %q", src)
		}
		_, _ = spec.ParseProfile("f", []byte(src))
		_, _ = spec.ParseCatalog("f", []byte(src))
		_, _, _ = spec.ParseAgent("f", []byte(src))
	})
}
