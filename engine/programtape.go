package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/proxy"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/sandbox"
)

// A program's run is recorded with its calls. On a replay it runs again, and is
// answered from the recording as its requests come; the facts are those that were
// recorded, in the order of then, and are stated when it has ended.

// programTool is what a program's own run is called in a recording, and in the fact
// that it went otherwise.
const programTool = "program"

// ranProgram is a program's run as it is recorded.
type ranProgram struct {
	ExitCode    int    `json:"exit_code"`
	Signal      int    `json:"signal,omitempty"`
	TimedOut    bool   `json:"timed_out,omitempty"`
	OutputLimit bool   `json:"output_limit,omitempty"`
	Limit       string `json:"limit,omitempty"`
	StartError  string `json:"start_error,omitempty"`
	Calls       int    `json:"calls,omitempty"`
	Refused     string `json:"refused,omitempty"` // the last thing that it asked, where that was not let through
	// Unstated are the refusals beyond those that are stated one by one.
	Unstated *event.RefusedCall `json:"unstated,omitempty"`
	// Answer is what its answer file holds; NoAnswer why it holds none.
	Answer   string `json:"answer,omitempty"`
	NoAnswer string `json:"no_answer,omitempty"`
	Stdout   string `json:"stdout,omitempty"`
	Stderr   string `json:"stderr,omitempty"`
	SilentMS int64  `json:"silent_ms,omitempty"` // of its provider, when its time was up
}

// result is the run as a box tells it.
func (r ranProgram) result() sandbox.Result {
	return sandbox.Result{
		ExitCode: r.ExitCode, Signal: r.Signal, TimedOut: r.TimedOut, OutputLimit: r.OutputLimit, Limit: r.Limit, StartError: r.StartError,
		Stdout: sandbox.Output{Text: r.Stdout}, Stderr: sandbox.Output{Text: r.Stderr},
	}
}

// playing is the recording that a program is answered from.
type playing struct {
	on    bool
	calls int  // that were answered
	ends  bool // that it was ended when it was recorded, so that it may go on for longer now
	// unstated are the refusals of then, which are no drift
	unstated *event.RefusedCall
	over     bool // it has nothing more to ask
}

// run runs the program to its end, with a tape where there is one.
func (p *program) run(ctx context.Context, cmd sandbox.Command) (sandbox.Result, error) {
	tape := p.a.run.deps.Tape
	switch {
	case tape == nil:
		res, err := p.await(ctx, cmd)
		p.stateUnstated()
		return res, err
	case tape.Replays():
		return p.runAgain(ctx, cmd, tape)
	}
	a := p.a
	began, at := a.run.deps.Now(), a.log.clock.Now()
	res, err := p.await(ctx, cmd)
	p.stateUnstated()
	if ctx.Err() != nil {
		return res, err
	}
	now, err := p.ran(ctx, res, err)
	if err != nil {
		return res, err
	}
	if a.deployment.Provider != provider.Scripted { // whose trials have no time of their own
		now.TookMS = max(a.run.deps.Now().Sub(began)-a.log.clock.Now().Sub(at), 0).Milliseconds()
	}
	was, err := tape.Tool(a.ref(), programTool, now)
	if err != nil {
		return res, err
	}
	return p.told(was)
}

// runAgain runs the program for its effect, and states what was recorded.
func (p *program) runAgain(ctx context.Context, cmd sandbox.Command, tape record.Tape) (sandbox.Result, error) {
	a := p.a
	was, err := tape.Tool(a.ref(), programTool, record.Answer{})
	if err != nil {
		return sandbox.Result{}, err
	}
	var recorded ranProgram
	if was.Lost == nil {
		if err := json.Unmarshal(was.Result, &recorded); err != nil {
			return sandbox.Result{}, fmt.Errorf("read the recorded run of the program: %w", err)
		}
	}
	p.play = playing{on: true, unstated: recorded.Unstated, ends: was.Lost != nil || recorded.TimedOut || recorded.Signal != 0 || recorded.OutputLimit}
	res, err := p.await(ctx, cmd)
	if ctx.Err() != nil {
		return res, err
	}
	now, err := p.ran(ctx, res, err)
	if err == nil {
		err = tape.Program(a.ref(), p.retell)
	}
	if err != nil && !errors.Is(err, errLimited) {
		return res, err
	}
	if p.play.unstated != nil {
		p.unstated = *p.play.unstated
	}
	p.stateUnstated()
	if now.Lost == nil && was.Lost == nil {
		if d, differ := record.Drift(was.Result, now.Result); differ {
			a.drifts = append(a.drifts, event.Drift{ToolName: programTool, Field: d.Field, Recorded: d.Recorded, Now: d.Now})
		}
	}
	res, err = p.told(was)
	switch {
	case err != nil:
		a.closeBox(ctx) // as it was, nothing more can be got from it
	case now.Lost != nil:
		return res, recordedLoss{*now.Lost} // the box is gone, whatever was recorded
	}
	return res, err
}

// told is a run as it was recorded, for which the clock goes on.
func (p *program) told(was record.Answer) (sandbox.Result, error) {
	p.a.log.clock.pass(time.Duration(was.TookMS) * time.Millisecond)
	if was.Lost != nil {
		return sandbox.Result{}, recordedLoss{*was.Lost}
	}
	var ran ranProgram
	if err := json.Unmarshal(was.Result, &ran); err != nil {
		return sandbox.Result{}, fmt.Errorf("read the recorded run of the program: %w", err)
	}
	p.silent, p.recorded = time.Duration(ran.SilentMS)*time.Millisecond, &ran
	p.refused = nil
	if ran.Refused != "" {
		p.refused = &proxy.Refusal{Message: ran.Refused}
	}
	return ran.result(), nil
}

// ran is what the program's run has come to, as it is recorded.
func (p *program) ran(ctx context.Context, res sandbox.Result, err error) (record.Answer, error) {
	a := p.a
	r := ranProgram{
		ExitCode: res.ExitCode, Signal: res.Signal, TimedOut: res.TimedOut, OutputLimit: res.OutputLimit, Limit: limitOf(res), StartError: res.StartError,
		Stdout: event.ValidText(res.Stdout.Text), Stderr: event.ValidText(res.Stderr.Text), SilentMS: p.silent.Milliseconds(),
		Calls: p.kept + p.play.calls, Unstated: p.play.unstated,
	}
	if p.unstated.Count > 0 {
		r.Unstated = &p.unstated
	}
	if p.refused != nil {
		r.Refused = p.refused.Message
	}
	if at := a.deployment.Command.AnswerFile(); err == nil && at != "" && res.ExitCode == 0 && !res.TimedOut {
		var f sandbox.File
		switch f, err = a.box.ReadFile(ctx, at, maxAnswer); {
		case missing(err):
			r.NoAnswer, err = err.Error(), nil
		case err != nil:
			err = fmt.Errorf("read the answer: %w", err)
		default:
			r.Answer = event.ValidText(string(f.Data))
		}
	}
	if err != nil {
		return a.tapedAnswer(ctx, tool.Result{}, err)
	}
	raw, err := event.Marshal(r)
	return record.Answer{Result: a.run.redact.JSON(raw)}, err
}

// readAnswer is what the program has left as its answer, now or when it was
// recorded.
func (p *program) readAnswer(ctx context.Context, at string) (sandbox.File, error) {
	if p.recorded == nil {
		return p.a.box.ReadFile(ctx, at, maxAnswer)
	}
	if p.recorded.NoAnswer != "" {
		return sandbox.File{}, errors.New(p.recorded.NoAnswer)
	}
	return sandbox.File{Data: []byte(p.recorded.Answer)}, nil
}

// keep writes a call down, when the run is recorded.
func (p *program) keep(c record.ProgramCall) {
	a := p.a
	tape := a.run.deps.Tape
	if tape == nil || tape.Replays() {
		return
	}
	if c.Request != nil {
		p.kept++
	}
	if err := tape.Called(a.ref(), c); err != nil && a.log.err == nil {
		a.log.err = err
	}
}

// keepCall writes a call down that came to an end.
func (p *program) keepCall(c *proxy.Call, r *provider.Response, e *provider.Error) {
	if !p.recording() {
		return
	}
	set := p.held[c.Number]
	answer, err := event.Marshal(c.Answer)
	if err != nil {
		return // texts and numbers
	}
	p.keep(record.ProgramCall{Endpoint: c.Endpoint, Request: c.Body, Bounds: set.bounds, Answer: answer, First: set.first, Reply: r, Failed: e})
}

// keepRefusal writes down what was not let through: by the proxy, or with a call by
// a limit.
func (p *program) keepRefusal(c *proxy.Call, f *proxy.Refusal) {
	if !p.recording() || p.refusals > maxRefusals && c == nil || p.limited && c != nil {
		return
	}
	raw, err := event.Marshal(f)
	if err != nil {
		return // texts and a number
	}
	kept := record.ProgramCall{Refusal: raw}
	if c != nil {
		p.limited = true // what follows is refused for the same
		kept.Endpoint, kept.Request, kept.Bounds = c.Endpoint, c.Body, boundsOf(c)
	}
	p.keep(kept)
}

func (p *program) recording() bool {
	tape := p.a.run.deps.Tape
	return tape != nil && !tape.Replays()
}

func boundsOf(c *proxy.Call) record.Bounds {
	return record.Bounds{Most: c.Most, Output: c.Output, Least: c.Least}
}

// Play answers a request from the recording.
func (p *program) Play(c *proxy.Call) (answer proxy.Answer, refusal *proxy.Refusal) {
	if !p.do(func() { answer, refusal = p.answerAgain(c) }) {
		return answer, &proxy.Refusal{Status: http.StatusServiceUnavailable, Code: "over", Message: "the trial has ended"}
	}
	return answer, refusal
}

func (p *program) answerAgain(c *proxy.Call) (answer proxy.Answer, refusal *proxy.Refusal) {
	was, err := p.a.run.deps.Tape.Play(p.a.ref(), c.Endpoint, c.Body, p.play.ends)
	switch {
	case errors.Is(err, record.ErrOver):
		p.play.over = true
		return answer, &proxy.Refusal{Status: http.StatusServiceUnavailable, Code: "over", Message: err.Error()}
	case err != nil:
		return answer, &proxy.Refusal{Status: http.StatusBadRequest, Code: record.CodeMiss, Message: err.Error()}
	}
	p.play.calls++
	p.refused = nil
	if was.Refusal != nil {
		p.play.ends, p.play.over, refusal = true, true, &proxy.Refusal{}
		err = json.Unmarshal(was.Refusal, refusal)
	} else {
		err = json.Unmarshal(was.Answer, &answer)
	}
	if err != nil {
		refusal = &proxy.Refusal{Status: http.StatusBadGateway, Code: record.CodeMiss, Message: "the recorded answer cannot be read: " + err.Error()}
	}
	return answer, refusal
}

// errLimited ends the retelling of a program that has run into a limit.
var errLimited = errors.New("a limit is reached")

// retell states what was recorded of a request.
func (p *program) retell(was record.ProgramCall) error {
	if was.Request == nil {
		var f proxy.Refusal
		if err := json.Unmarshal(was.Refusal, &f); err != nil {
			return fmt.Errorf("read a recorded refusal: %w", err)
		}
		p.refuse(&f)
		return nil
	}
	c, err := proxy.Recall(was.Endpoint, was.Request)
	if err != nil {
		return p.a.run.deps.Tape.Unlike(p.a.ref(), "a recorded call of the program", err.Error())
	}
	c.Most, c.Output, c.Least = was.Bounds.Most, was.Bounds.Output, was.Bounds.Least
	switch limited := p.begin(c) != nil; {
	case limited:
		return errLimited
	case was.Refusal != nil:
		return p.a.run.deps.Tape.Unlike(p.a.ref(), "a call that a limit had refused", "the limits let it through now")
	}
	if was.First != nil {
		p.first(*was.First)
	}
	if was.Reply != nil {
		p.done(c, *was.Reply)
	} else {
		p.failed(c, was.Failed)
	}
	return nil
}
