package pack_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/engine/turn"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// The packs that come with the program are only worth something when the agents
// beside them do what they say. play acts out a script without an engine: files
// go to a temporary directory, commands run in it.

type scriptReply struct {
	Text      string           `yaml:"text"`
	DelayMS   int              `yaml:"delay_ms"`
	ToolCalls []scriptCall     `yaml:"tool_calls"`
	Usage     map[string]int64 `yaml:"usage"`
}

type scriptCall struct {
	Name      string         `yaml:"name"`
	Arguments map[string]any `yaml:"arguments"`
}

type script struct {
	Cases      map[string][]scriptReply `yaml:"cases"`
	Simulators []scriptReply            `yaml:"simulators"`
}

func readScript(t *testing.T, text []byte) script {
	t.Helper()
	var s script
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// play returns the outcome of every case, as set/case.
func play(t *testing.T, p *pack.Pack, s script) map[string]scoring.Outcome {
	t.Helper()
	outcomes := map[string]scoring.Outcome{}
	scorer := compiled(t, p)
	for _, set := range p.InputSets {
		for _, c := range set.Cases {
			replies, ok := s.Cases[c.Key()]
			if !ok {
				t.Fatalf("the script has no replies for case %q", c.Key())
			}
			trial := (&stage{t: t, p: p, c: c, dir: t.TempDir(), users: s.Simulators, scorer: scorer}).play(replies)
			outcomes[set.Key+"/"+c.Key()] = trial.Outcome
			t.Logf("%s %s: %s %s", p.Pack.Slug, c.Key(), trial.Outcome, trial.Reason)
		}
	}
	return outcomes
}

// stage is where one case is played.
type stage struct {
	t   *testing.T
	p   *pack.Pack
	c   pack.Case
	dir string
	// users are what simulated users say, the last of it over and over.
	users []scriptReply
	// clumsy says that the calls may fail, as those of an agent that has no
	// idea what it is doing.
	clumsy bool
	// scorer is made of the pack when there is none yet.
	scorer *scoring.Scorer
}

func compiled(t *testing.T, p *pack.Pack) *scoring.Scorer {
	t.Helper()
	scorer, problems := scoring.Compile(p.Version.EvaluationSpec)
	if scorer == nil {
		t.Fatal(problems)
	}
	return scorer
}

func (s *stage) play(replies []scriptReply) scoring.Trial {
	s.t.Helper()
	if s.scorer == nil {
		s.scorer = compiled(s.t, s.p)
	}
	ev, code := s.act(replies)
	s.grade(s.scorer, &ev)
	trial := scoring.Trial{CaseKey: s.c.Key()}
	s.scorer.Measure(&trial, ev)
	s.scorer.Decide(&trial, s.scorer.Score(ev), code)
	return trial
}

func (s *stage) path(name string) string {
	return filepath.Join(s.dir, strings.TrimPrefix(name, "/workspace/"))
}

func (s *stage) put(files []pack.StagedFile) {
	for _, f := range files {
		write(s.t, s.path(f.Path), string(f.Data))
	}
}

func (s *stage) run(argv ...string) (out string, status int) {
	s.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = s.dir
	cmd.Env = os.Environ()
	if box := s.p.Version.Sandbox; box != nil {
		for name, value := range box.EnvVars {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// act plays the agent's part. The code is that of a failure of its own.
func (s *stage) act(replies []scriptReply) (ev scoring.Evidence, code string) {
	ev = scoring.Evidence{
		Case:      s.p.ScoringCase(s.c),
		Completed: new(false),
		StartedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Files:     map[string]scoring.CapturedFile{},
		CodeRuns:  map[string]scoring.CodeRun{},
	}
	s.put(s.p.WorkspaceFiles(s.c))
	if s.p.Mode() == pack.MultiTurn {
		s.converse(&ev, replies)
		return ev, ""
	}
	var in, out, calls int64
	ev.EndedAt = ev.StartedAt
	for _, r := range replies {
		in, out = in+r.Usage["input_tokens"], out+r.Usage["output_tokens"]
		ev.EndedAt = ev.EndedAt.Add(time.Duration(r.DelayMS) * time.Millisecond)
		if s.p.Asks() {
			ev.FinalOutput, ev.Completed = new(r.Text), new(true)
			break
		}
		for _, call := range r.ToolCalls {
			calls++
			s.call(&ev, call.Name, call.Arguments)
		}
	}
	ev.InputTokens, ev.OutputTokens, ev.TotalTokens = &in, &out, new(in+out)
	ev.ToolCallCount = new(int(calls))
	if !*ev.Completed {
		code = "no_submit"
	}
	return ev, code
}

// converse plays a conversation in words.
func (s *stage) converse(ev *scoring.Evidence, replies []scriptReply) {
	talk := turn.New(*s.c.UserSimulator)
	var in, out int64
	said := 0
	for {
		switch m := talk.Next(); m.Kind {
		case turn.Decide:
			run, _, known := talk.Decided()
			if !known {
				s.t.Fatalf("play does not know when %q runs", m.Phase.ID)
			}
			talk.Begin(run)
		case turn.Speak:
			user := s.c.Render(m.Script.Message)
			if m.Phase.Actor == pack.LLMActor {
				user = s.users[min(said, len(s.users)-1)].Text
				said++
			}
			r := replies[min(m.Turn, len(replies)-1)]
			_, mismatch := turn.Compare(m.Script.Expects, r.Text)
			talk.Took(turn.Exchange{User: user, Assistant: r.Text, Mismatch: mismatch})
			ev.Turns = append(ev.Turns, scoring.Turn{Index: int64(m.Turn), PhaseID: m.Phase.ID, Actor: m.Phase.Actor, User: user, Assistant: r.Text, Mismatched: mismatch})
			in, out = in+r.Usage["input_tokens"], out+r.Usage["output_tokens"]
			ev.FinalOutput = new(r.Text)
		default:
			ev.Completed, ev.EndedAt, ev.ToolCallCount = new(true), ev.StartedAt, new(0)
			ev.InputTokens, ev.OutputTokens, ev.TotalTokens = &in, &out, new(in+out)
			return
		}
	}
}

func (s *stage) call(ev *scoring.Evidence, name string, args map[string]any) {
	switch name {
	case "submit":
		ev.FinalOutput, ev.Completed = new(args["answer"].(string)), new(true)
	case "write_file":
		write(s.t, s.path(args["path"].(string)), args["content"].(string))
	case "read_file":
		if _, err := os.ReadFile(s.path(args["path"].(string))); err != nil && !s.clumsy {
			s.t.Fatal(err)
		}
	case "exec":
		var argv []string
		for _, a := range args["command"].([]any) {
			argv = append(argv, a.(string))
		}
		if out, status := s.run(argv...); status != 0 && !s.clumsy {
			s.t.Errorf("exec %q: status %d: %s", argv, status, out)
			ev.FailureCount++
		}
	case "list_files":
	default:
		s.t.Fatalf("the script calls %q, which play does not know", name)
	}
}

// grade puts the graders' files in place, runs the tests and captures.
func (s *stage) grade(scorer *scoring.Scorer, ev *scoring.Evidence) {
	s.put(s.p.GraderFiles(s.c))
	for _, g := range scorer.Graders() {
		out, status := s.run("sh", "-c", s.c.Render(g.Config.TestCommand))
		ev.CodeRuns[g.Key] = scoring.CodeRun{ValidatorKey: g.Key, Target: g.Target, Stdout: out, ExitCode: &status}
	}
	for _, check := range scorer.Spec().PostExecutionChecks {
		data, err := os.ReadFile(s.path(check.Path))
		ev.Files[check.Key] = scoring.CapturedFile{
			Key: check.Key, Path: check.Path, Exists: err == nil, Content: string(data), Size: int64(len(data)),
		}
	}
}
