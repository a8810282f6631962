package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/scoring"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/proxy"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/egress"
)

const (
	maxAnswer       = 1 << 20   // bytes of an answer in a file
	maxProgramText  = 256 << 10 // head and tail of each of a program's streams
	maxArgument     = 100 << 10 // bytes of a task that is an argument: the kernel takes 128 KiB
	programGrace    = 2 * time.Second
	callGrace       = 5 * time.Second // for calls that a program has not waited for
	maxRefusals     = 20              // that are stated one by one
	portHeaderTime  = 30 * time.Second
	portIdle        = 2 * time.Minute
	maxPortHeader   = 64 << 10
	stopExit        = "agent_exit"
	codeNoProgram   = "agent_program"
	programKeyWords = "agentclash-no-key-"
	// programHome is there and can be written. The box's own home is in the
	// workspace, where what a program keeps for itself would be captured.
	programHome = "/tmp"
)

// Program is what the run agent of a command deployment has beside its plan.
type Program struct {
	Files []ProgramFile
	// Upstream is where its model is; nil when Clients holds the model, or it has
	// none.
	Upstream *proxy.Upstream
}

// ProgramFile is a file of an agent; Path is relative and clean.
type ProgramFile struct {
	Path string
	Data []byte
	Mode uint32
}

// program is a running agent of a command deployment: its model calls come from
// several goroutines, and are taken by the attempt's own.
type program struct {
	a      *attempt
	ctx    context.Context
	models *proxy.Server // nil: it has no model
	posts  chan func()
	over   chan struct{} // closed when nobody takes posts any more
	heard  heard
	tools  bool         // that it offers tools has been said
	limit  *ending      // that it ran into
	held   map[int]held // what is set aside, by the number of the call
	// refusals counts what was asked of the models and not let through; refused is
	// the last of them, nil when a call was answered since.
	refusals int
	refused  *proxy.Refusal
	unstated event.RefusedCall
	// silent is for how long the provider had said nothing when the time was up.
	silent time.Duration

	recorded *ranProgram // the run, with a tape
	play     playing
	kept     int  // calls that were recorded
	limited  bool // that a limit refuses calls has been recorded
}

// stageProgram puts the agent's files and its task beside the workspace.
func (a *attempt) stageProgram(ctx context.Context) ending {
	box, can := a.box.(sandbox.Stager)
	if !can {
		return ending{fault: faultFatal, stop: stopSandbox, code: "sandbox_engine", phase: phaseStage,
			err: errors.New("this sandbox cannot hold an agent's own program; use --sandbox docker")}
	}
	task, err := plan.CommandTask(a.run.plan.Source, a.kase, a.deployment)
	if err != nil {
		return ending{fault: faultPack, stop: stopSandbox, code: scoring.CodePackError, phase: phaseStage, err: err}
	}
	files := append(slices.Clone(a.run.deps.program(a.trial.Agent).Files), ProgramFile{Path: path.Base(plan.TaskPath), Data: []byte(task), Mode: 0o444})
	for _, f := range files {
		err := box.Stage(ctx, f.Path, f.Data, f.Mode)
		if errors.Is(err, sandbox.ErrNoSpace) {
			return noProgram("the agent's files do not fit into the sandbox's %s: %w", path.Dir(sandbox.AgentDir), err)
		}
		if err != nil {
			return a.lost(ctx, phaseStage, fmt.Errorf("stage %s of the agent: %w", f.Path, err))
		}
	}
	return ending{}
}

// noProgram ends a trial whose deployment names a program that cannot be run: no
// other trial can do better.
func noProgram(format string, args ...any) ending {
	return ending{fault: faultFatal, stop: codeNoProgram, code: codeNoProgram, phase: phaseAgent, err: fmt.Errorf(format, args...)}
}

func (d Deps) program(lane int) Program {
	if lane < len(d.Programs) {
		return d.Programs[lane]
	}
	return Program{}
}

// runProgram runs the agent's program and says how its part ended.
func (a *attempt) runProgram(ctx context.Context) ending {
	if end := a.stageProgram(ctx); end.fault != faultNone {
		return end
	}
	cmd, err := a.command()
	if err != nil {
		return noProgram("%w", err)
	}
	p := a.program
	p.ctx = ctx
	if err := p.open(ctx); err != nil {
		return noProgram("reach the model: %w", err)
	}
	defer p.release()
	defer close(p.over)
	a.log.emit(event.CommandStart, event.Command{Action: "exec", Argv: a.deployment.Command.Argv})
	began := a.log.clock.Now()
	res, err := p.run(ctx, cmd)
	if end, over := halted(ctx); over {
		return end
	}
	if err != nil {
		return a.lost(ctx, phaseAgent, fmt.Errorf("run the agent's program: %w", err))
	}
	a.stateProgram(res, a.log.clock.Now().Sub(began))
	return a.programEnded(ctx, res)
}

// command is the program as the box is told to run it.
func (a *attempt) command() (sandbox.Command, error) {
	c := a.deployment.Command
	task, err := plan.CommandTask(a.run.plan.Source, a.kase, a.deployment)
	if err != nil {
		return sandbox.Command{}, err
	}
	cmd := sandbox.Command{
		Dir: c.Workdir, Env: a.programEnv(), Stdin: []byte(task), Timeout: a.limits.Trial, HeadBytes: maxProgramText, TailBytes: maxProgramText,
	}
	for _, word := range c.Argv {
		if strings.Contains(word, plan.TaskText) || strings.Contains(word, plan.TaskFile) {
			cmd.Stdin = nil
		}
		if strings.Contains(word, plan.TaskText) && len(task) > maxArgument {
			return cmd, fmt.Errorf("the task of case %q has %d bytes, too many for an argument: use %s, or standard input, in the deployment's command", a.kase.Key(), len(task), plan.TaskFile)
		}
		// in one pass, so that a task that holds a placeholder stays as it is
		cmd.Argv = append(cmd.Argv, strings.NewReplacer(plan.TaskText, task, plan.TaskFile, plan.TaskPath, plan.AgentDir, plan.FilesPath).Replace(word))
	}
	return cmd, nil
}

// programEnv is what the program finds in its environment, beside the box's.
func (a *attempt) programEnv() map[string]string {
	env := map[string]string{"AGENTCLASH_TASK_FILE": plan.TaskPath, "AGENTCLASH_AGENT_DIR": plan.FilesPath}
	if at := a.deployment.Command.AnswerFile(); at != "" {
		env["AGENTCLASH_ANSWER_FILE"] = at
	}
	if a.deployment.AsksModels() {
		wire := proxy.Wire("")
		if a.deployment.Provider != provider.Scripted {
			wire = proxy.WireOf(a.deployment.Provider)
		}
		// made of names, so that the same trial has the same one twice
		key := programKeyWords + a.trial.CaseKey
		maps.Copy(env, proxy.Variables(a.programPort(), key, a.modelName(), wire))
	}
	if pack := a.run.plan.Source.Version.Sandbox; pack == nil || pack.EnvVars["HOME"] == "" {
		env["HOME"] = programHome
	}
	maps.Copy(env, a.deployment.Command.Env)
	return env
}

// modelName is what the program calls its model. A script's is the file's name:
// where that is on this machine is none of the box's business.
func (a *attempt) modelName() string {
	d := a.deployment
	if d.Provider != provider.Scripted {
		return d.Model
	}
	return strings.TrimSuffix(strings.TrimSuffix(path.Base(strings.ReplaceAll(d.Model, `\`, "/")), ".yaml"), ".yml")
}

// open makes the server of the program's model.
func (p *program) open(ctx context.Context) (err error) {
	a := p.a
	if !a.deployment.AsksModels() {
		return nil
	}
	bounded := a.limits.Budget != (budget.Limits{}) || a.run.purse != nil
	o := proxy.Options{
		Upstream: a.run.deps.program(a.trial.Agent).Upstream, Client: a.client, Rename: a.deployment.Model,
		Models: append([]string{a.modelName()}, a.deployment.Command.Models...), MaxOutputTokens: a.limits.Output,
		// the calls of a run that is recorded have an order
		CallTime: a.limits.Step, OneByOne: a.client != nil || bounded || p.recording(), Bounded: bounded, Keep: p.recording(),
		Reach: a.network.Programs && !bounded, Watch: p,
		Seed: a.run.plan.Options.Seed,
	}
	if tape := a.run.deps.Tape; tape != nil && tape.Replays() {
		o.Play = p.Play
	}
	if n := a.deployment.Sampling.MaxOutputTokens; n > 0 {
		o.MaxOutputTokens = n
	}
	p.models, err = proxy.New(ctx, o)
	return err
}

// await runs the program to its end, and takes what its model calls have to say
// meanwhile. A program that ran into a limit is given a moment to end by itself.
func (p *program) await(ctx context.Context, cmd sandbox.Command) (sandbox.Result, error) {
	type end struct {
		res sandbox.Result
		err error
	}
	ended, closed := make(chan end, 1), make(chan struct{})
	go func() {
		res, err := p.a.bench.Exec(ctx, cmd)
		if p.models != nil {
			if res.TimedOut {
				p.silent = p.models.Silent()
			}
			// what the program has left behind must not keep a call open
			_ = p.a.box.Quiesce(ctx)
			p.models.Close(callGrace)
		}
		ended <- end{res, err}
		close(closed)
	}()
	var late <-chan time.Time
	for {
		select {
		case f := <-p.posts:
			f()
			if (p.limit != nil || p.play.over) && late == nil {
				late = time.After(programGrace)
			}
		case <-late:
			_ = p.a.box.Quiesce(ctx) // a box that does not is found out by what follows
		case <-closed:
			e := <-ended
			return e.res, e.err
		}
	}
}

// stateProgram states what the program did, as far as that can be seen.
func (a *attempt) stateProgram(res sandbox.Result, took time.Duration) {
	c := event.Command{
		Action: "exec", Argv: a.deployment.Command.Argv, ExitCode: res.ExitCode, Error: res.StartError, Limit: limitOf(res), TimedOut: res.TimedOut,
		Stdout: event.ValidText(res.Stdout.Text), Stderr: event.ValidText(res.Stderr.Text), DurationMS: took.Milliseconds(),
	}
	if res.ExitCode == 0 {
		a.log.emit(event.CommandDone, c)
		return
	}
	a.log.emit(event.CommandFail, c)
}

func limitOf(res sandbox.Result) string {
	switch {
	case res.OutputLimit:
		return sandbox.LimitOutput
	case res.OutOfMemory:
		return sandbox.LimitMemory
	}
	return res.Limit
}

// programEnded says how the agent's part ended.
//
// A limit that the program was refused a call for is the reason whatever it did
// then. Else a program that fails (it exits with another status than 0, has no
// answer, or runs out of time) has failed by itself, unless the last of its model
// calls that came to an end failed for a reason that is not the agent's: then that
// is what failed. A program that ends with 0 and has an answer is taken at its
// word, whatever its calls came to.
func (a *attempt) programEnded(ctx context.Context, res sandbox.Result) ending {
	var end ending
	switch limit := limitOf(res); {
	case a.program.limit != nil:
		return *a.program.limit
	case res.StartError != "":
		return noProgram("the agent's program %q cannot be started in the sandbox: %s", a.deployment.Command.Argv[0], res.StartError)
	case res.ExitCode != 0 && limit != "":
		return byAgent(limit+"_limit", "the agent's program ran into the sandbox's limit %s", limit)
	case res.TimedOut:
		end = byAgent(stopTimeout, "%w: the agent's program was still running after %s", errTrialTimeout, a.limits.Trial)
	case res.ExitCode != 0:
		end = byAgent(stopExit, "the agent's program exited with status %d%s", res.ExitCode, lastWords(res.Stderr.Text))
	default:
		if end = a.programAnswer(ctx, res); end.fault != faultAgent {
			return end
		}
	}
	if refused := a.program.refused; refused != nil {
		end.err = fmt.Errorf("%w; the last thing that it asked its model was refused: %s", end.err, refused.Message)
	}
	if silent := a.silentFor(a.program.silent); res.TimedOut && silent != nil {
		return byCall(ctx, silent)
	}
	if a.failing != nil {
		failed := byCall(ctx, a.failing)
		failed.err = fmt.Errorf("%w; its last model call had failed: %w", end.err, a.failing)
		return failed
	}
	return end
}

// lastWords is the end of what a program said on its standard error.
func lastWords(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if last := provider.Excerpt(lines[len(lines)-1], 300); last != "" {
		return ": " + last
	}
	return ""
}

// programAnswer is the ending of a program that has done its work.
func (a *attempt) programAnswer(ctx context.Context, res sandbox.Result) ending {
	at := a.deployment.Command.AnswerFile()
	if at == "" {
		if strings.TrimSpace(res.Stdout.Text) == "" {
			return byAgent(stopNoOutput, "the agent's program printed no answer")
		}
		return done(strings.TrimSuffix(event.ValidText(res.Stdout.Text), "\n"))
	}
	f, err := a.program.readAnswer(ctx, at)
	switch {
	case missing(err):
		return byAgent(stopNoOutput, "the agent's program left no answer in %s: %w", at, err)
	case err != nil:
		return a.lost(ctx, phaseAgent, fmt.Errorf("read the answer: %w", err))
	case strings.TrimSpace(string(f.Data)) == "":
		return byAgent(stopNoOutput, "the agent's program left an empty answer in %s", at)
	}
	return done(strings.TrimSuffix(event.ValidText(string(f.Data)), "\n"))
}

// programPort is the one port that anything answers at in the box.
func (a *attempt) programPort() int {
	if a.network.Vault {
		return vaultPort
	}
	return sandbox.ProxyPort
}

// programGateway is who answers a program that is the agent: its model, below a
// path of its own, and for all else whoever answers without one. A program that may
// not use the network is told so.
func (a *attempt) programGateway(s *sandbox.Spec) {
	if !a.deployment.IsCommand() || !a.deployment.AsksModels() {
		return
	}
	refusing := egress.New(egress.Options{Decided: a.decided.note})
	answer := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case proxy.Mine(r) && a.program != nil && a.program.models != nil:
			a.program.models.ServeHTTP(w, r)
		case a.network.Vault:
			a.vault.answer(w, r)
		case a.network.Programs:
			a.dialer.ServeHTTP(w, r)
		default:
			refusing.ServeHTTP(w, r)
		}
	}
	s.NetworkPort = a.programPort()
	s.Network = func(ctx context.Context, conn net.Conn) {
		egress.ServeConn(ctx, conn, &http.Server{
			Handler: http.HandlerFunc(answer), ReadHeaderTimeout: portHeaderTime, IdleTimeout: portIdle, MaxHeaderBytes: maxPortHeader,
		})
	}
}

// newProgram is nil for deployments of another kind.
func newProgram(a *attempt) *program {
	if !a.deployment.IsCommand() {
		return nil
	}
	return &program{a: a, posts: make(chan func()), over: make(chan struct{}), heard: heard{}, held: map[int]held{}}
}
