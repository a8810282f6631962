package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/openai/openaitest"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

// planOf plans a run whose ids begin with a prefix: those of two runs differ.
func (h *harness) planOf(t *testing.T, prefix string) *plan.Plan {
	t.Helper()
	n := 0
	planned, err := plan.New(plan.Request{
		Pack: h.pack, Deployments: h.agents, Options: h.options, Sandbox: sandbox.Description{Kind: "memory", ImageID: "1"},
		Now:   func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		NewID: func() string { n++; return fmt.Sprintf("%s-%04d", prefix, n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return planned
}

// reuse has trials of one plan stand for those of another.
func reuse(t *testing.T, planned, earlier *plan.Plan, decided []plan.Trial) (int, error) {
	t.Helper()
	r, err := planned.Reusing()
	if err != nil {
		t.Fatal(err)
	}
	return r.From(earlier, decided)
}

// TestIdentity changes one thing of a run after the other: what differs then, and
// whether that is more than the score.
func TestIdentity(t *testing.T) {
	t.Parallel()
	const agent = "default: [{text: x}]"
	in := func(old, new string) func(*harness, *string) {
		return func(_ *harness, src *string) {
			if !strings.Contains(*src, old) {
				panic(old)
			}
			*src = strings.Replace(*src, old, new, 1)
		}
	}
	of := func(change func(*plan.Deployment)) func(*harness, *string) {
		return func(h *harness, _ *string) { change(&h.agents[0]) }
	}
	for _, c := range []struct {
		name   string
		change func(h *harness, src *string)
		want   string // part: path of each difference
	}{
		{"nothing", func(*harness, *string) {}, ""},
		{"pack version", in("number: 1", "number: 2"), ""},
		{"pack name", in("name: Files", "name: Filed"), "the pack's name: name"},
		{"agent name", of(func(d *plan.Deployment) { d.Name, d.Account = "other", "env://KEY" }), ""},
		{"concurrency and retries", func(h *harness, _ *string) { h.options.Concurrency, h.options.RetryInvalid = 9, 3 }, ""},
		{"another case", in("    cases:\n", "    cases:\n      - {challenge_key: write, case_key: two, payload: {word: bye}}\n"), ""},
		{"model", of(func(d *plan.Deployment) { d.Model = "gpt-y" }), "the deployment: model"},
		{"system prompt", of(func(d *plan.Deployment) { d.System = "Be quick." }), "the deployment: system"},
		{"temperature", of(func(d *plan.Deployment) { d.Sampling.Temperature = new(0.5) }), "the deployment: sampling"},
		{"a limit", of(func(d *plan.Deployment) { d.Limits.MaxIterations = 3 }), "the limits: max_iterations"},
		{"a hidden tool", of(func(d *plan.Deployment) { d.Tools.Denied = []string{"write_file"} }), "the tools: definitions"},
		{"shell", of(func(d *plan.Deployment) { d.Sandbox.AllowShell = new(false) }), "the tools: definitions"},
		{"peer standings", func(h *harness, _ *string) {
			h.options.PeerStandings, h.options.PeerGap, h.options.Concurrency = true, 4, 2
			other := h.agents[0]
			other.Name = "b"
			h.agents = append(h.agents, other)
		}, "the peer standings: gap"},
		{"seed", func(h *harness, _ *string) { h.options.Seed = 7 }, "the seed: "},
		{"instructions", in("Write the file.", "Write a file."), "the instructions: "},
		{"title", in("title: Write", "title: Written"), "the challenge: title"},
		{"payload", in("word: hello", "word: hallo"), "the payload: word"},
		{"policy", in("allowed_tool_kinds: [file]", "allowed_tool_kinds: [file, data]"), "the tools: definitions, the tool policy: allowed_tool_kinds"},
		{"what is captured", in("/workspace/out.txt", "/workspace/o.txt"),
			"the evaluation spec: digest (scoring), what is taken from the box and run in it: post_execution_checks"},
		{"a file", in("payload: {word: hello}", "payload: {word: hello, workspace_files: [{path: a.txt, content: b}]}"),
			"the files in the workspace: /workspace/a.txt, the payload: workspace_files"},
		{"what is expected", in("EXPECTED-MARKER", "OTHER"), "the case's expectations: expectations (scoring)"},
		{"the contract", in("match_mode: exact", "match_mode: contains"), "the evaluation spec: digest (scoring)"},
		{"the threshold", in("pass_threshold: 1", "pass_threshold: 0.5"), "the evaluation spec: digest (scoring)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			one := newHarness(parse(t, nativePack), agent)
			one.agents[0] = plan.Deployment{Name: "a", Provider: provider.OpenAI, Model: "gpt-x"}
			src := fmt.Sprintf(nativePack, "")
			two := newHarness(nil, agent)
			two.agents[0] = one.agents[0]
			c.change(two, &src)
			two.pack = parse(t, src)
			was, is := one.planOf(t, "one"), two.planOf(t, "two")
			own := is.Trials[len(is.Trials)-1]
			differences, err := is.Since(own, was, was.Trials[0])
			if err != nil {
				t.Fatal(err)
			}
			if got := placesOf(differences); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			n, err := reuse(t, is, was, was.Trials)
			if want := strings.Count(strings.ReplaceAll(c.want, " (scoring)", ""), ": ") == strings.Count(c.want, "(scoring)"); err != nil || (n == 1) != want {
				t.Errorf("found %d trials that stand, %v, want %v", n, err, want)
			}
		})
	}
}

// placesOf are the first place of each part that differs.
func placesOf(list []plan.Difference) string {
	var texts []string
	seen := map[string]bool{}
	for _, d := range list {
		if seen[d.Part] {
			continue
		}
		seen[d.Part] = true
		top, _, _ := strings.Cut(strings.ReplaceAll(d.Path, "[", "."), ".")
		if strings.HasPrefix(d.Path, "/") {
			top = d.Path
		}
		if d.Scoring {
			top += " (scoring)"
		}
		texts = append(texts, d.Part+": "+top)
	}
	return strings.Join(texts, ", ")
}

// nobody is a client that must not be asked.
type nobody struct{ t *testing.T }

func (n nobody) Complete(context.Context, provider.Request, func(provider.Delta)) (provider.Response, error) {
	n.t.Error("an agent is asked though an earlier trial stands for its own")
	return provider.Response{}, errors.New("nobody")
}

// noBoxes must not be asked either.
type noBoxes struct {
	sandbox.Provider
	t *testing.T
}

func (n noBoxes) Open(context.Context, sandbox.Spec) (sandbox.Session, error) {
	n.t.Error("a box is opened though an earlier trial stands for this one")
	return nil, errors.New("no boxes")
}

// TestReuse has trials that passed, failed by the agent's fault and failed by the
// contract stand for those of another run.
func TestReuse(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"passed":    writeAndSubmit,
		"failed":    strings.Replace(writeAndSubmit, "EXPECTED-MARKER", "no", 1),
		"no submit": `default: [{text: hm}, {text: hm}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(parse(t, nativePack), script)
			h.boxes = sandboxtest.Memory()
			was := h.planOf(t, "was")
			h.runPlan(t, t.Context(), was)
			before := h.only(t)
			is := h.planOf(t, "is")
			if n, err := reuse(t, is, was, was.Trials[:1]); n != 1 || err != nil {
				t.Fatalf("found %d, %v", n, err)
			}
			h.clients, h.boxes = []provider.Client{nobody{t}}, noBoxes{h.boxes, t}
			result := h.runPlan(t, t.Context(), is)
			after := h.trials(t)[1]
			if !after.Carried || after.ReusedFrom != before.TrialID {
				t.Errorf("it is not said whose it is: %+v", after)
			}
			same := cmpopts.IgnoreFields(scoring.Trial{}, "TrialID", "Carried", "ReusedFrom")
			if diff := cmp.Diff(before, after, same); diff != "" {
				t.Errorf("another result (-was +is):\n%s", diff)
			}
			if got := result.Agents[0].Scorecard.SpentUSD; got == nil || *got != 0 {
				t.Errorf("spent %v for nothing", got)
			}
		})
	}
}

// TestReuseIsJudgedAgain: replies of judges stand as long as their questions do,
// and rankings with others do not.
func TestReuseIsJudgedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, judge, after string
		calls              int32 // of the second run
	}{
		{"the same questions", fmt.Sprintf(rubricJudge, 1), fmt.Sprintf(rubricJudge, 1), 0},
		{"one more sample", fmt.Sprintf(rubricJudge, 1), fmt.Sprintf(rubricJudge, 2), 1},
		{"another rubric", fmt.Sprintf(rubricJudge, 1), strings.Replace(fmt.Sprintf(rubricJudge, 1), "kind", "curt", 1), 1},
		{"a ranking", ranked, ranked, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			answer := func(r openaitest.Request) openaitest.Reply {
				calls.Add(1)
				if strings.Contains(question(r), "candidate") {
					return kinder(r)
				}
				return openaitest.Text(`{"score": 1}`)
			}
			scripts := []string{says("Hey a")}
			if c.judge == ranked {
				scripts = append(scripts, says("dear dear a"))
			}
			h := judged(t, c.judge, "", answer, scripts...)
			was := h.planOf(t, "was")
			h.runPlan(t, t.Context(), was)
			first := calls.Swap(0)
			again := judged(t, c.after, "", answer, scripts...)
			again.facts = h.facts
			is := again.planOf(t, "is")
			if n, err := reuse(t, is, was, was.Trials); n != len(is.Trials) || err != nil {
				t.Fatalf("found %d, %v", n, err)
			}
			for i := range again.clients {
				again.clients[i] = nobody{t}
			}
			again.runOnly(t, t.Context(), is)
			if got := calls.Load(); got != c.calls {
				t.Errorf("judges are asked %d times, want %d (the first run: %d)", got, c.calls, first)
			}
			for _, trial := range again.trials(t)[len(was.Trials):] {
				if trial.Scorecard.Judges[0].NormalizedScore == nil {
					t.Errorf("no score: %+v", trial.Scorecard.Judges[0])
				}
			}
		})
	}
}

// TestReuseOfWhatIsGone refuses evidence that is not all there.
func TestReuseOfWhatIsGone(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack), "default: [{text: '3'}]")
	was := h.planOf(t, "was")
	h.runPlan(t, t.Context(), was)
	is := h.planOf(t, "is")
	if _, err := reuse(t, is, was, was.Trials); err != nil {
		t.Fatal(err)
	}
	h.facts = keep(h.facts, func(e event.Event) bool { return e.Type != event.ScoringStart })
	_, err := engine.Run(t.Context(), is, engine.Deps{Sink: event.SinkFunc(h.emit), Clients: h.clients, Recall: h.recall, Now: time.Now})
	if err == nil || !strings.Contains(err.Error(), "its evidence is not all there") {
		t.Errorf("got %v", err)
	}
}
