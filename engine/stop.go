package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/scoring"
)

// The causes a caller ends a run with, through context.WithCancelCause.
var (
	// ErrInterrupted is Ctrl-C: the run can be resumed.
	ErrInterrupted = errors.New("interrupted")
	// ErrCancelled is `run cancel`: the run is over.
	ErrCancelled = errors.New("cancelled")
	// ErrDeadline is the run's own deadline: the run can be resumed with another.
	ErrDeadline = errors.New("the run's deadline has passed")
)

// The codes of runs that a limit of their own ended.
const (
	CodeBudget   = "budget_exceeded"
	CodeDeadline = "deadline_exceeded"
)

// The stop reasons of a trial that are not a provider's or sandbox's code.
const (
	stopCompleted   = "completed"
	stopTimeout     = "timeout"
	stopSteps       = "step_limit"
	stopTools       = "tool_limit"
	stopTokens      = "token_limit"
	stopCost        = "cost_limit"
	stopNoSubmit    = "no_submit"
	stopMaxTokens   = "max_tokens"
	stopNoOutput    = "empty_output"
	stopProvider    = "provider_error"
	stopSandbox     = "sandbox_error"
	stopInterrupted = "interrupted"
	stopInternal    = "internal_error"
)

// maxReason is what is kept of an error's text in a result, in bytes.
const maxReason = 2000

// The phases of a trial, for an invalid trial's record.
const (
	phaseOpen   = "sandbox"
	phaseStage  = "staging"
	phaseAgent  = "agent"
	phaseVerify = "verification" // the judges' is scoring.PhaseScoring
)

// fault is whose failure ended a trial.
type fault int

const (
	faultNone   fault = iota
	faultAgent        // the trial is failed
	faultInfra        // the trial is invalid and may be tried again
	faultPack         // the trial is invalid: the pack's author must mend it
	faultFatal        // the trial is invalid and no other of this run agent can do better
	faultHalt         // the run is ending: the trial is left unfinished
	faultCancel       // the trial is invalid, since somebody ended it
)

// ending is how an attempt's agent part came to an end.
type ending struct {
	fault  fault
	stop   string // stop reason
	code   string // of an outcome that is not decided by the scorecard
	phase  string
	err    error
	answer *string
	call   *provider.Error // when a model call failed
}

// scored says that the trial comes to scoring; other endings leave nothing that
// could be judged.
func (e ending) scored() bool { return e.fault == faultNone || e.fault == faultAgent }

func done(answer string) ending { return ending{stop: stopCompleted, answer: &answer} }

// byAgent ends a trial as the agent's failure.
func byAgent(stop, format string, args ...any) ending {
	return ending{fault: faultAgent, stop: stop, code: stop, phase: phaseAgent, err: fmt.Errorf(format, args...)}
}

// byCall says what a model call that failed for good means for the trial.
func byCall(ctx context.Context, err error) ending {
	if e, ok := halted(ctx); ok {
		return e
	}
	if errors.Is(err, errTrialTimeout) { // when it was recorded
		return byAgent(stopTimeout, "%w", errTrialTimeout)
	}
	var call *provider.Error
	if !errors.As(err, &call) {
		return ending{fault: faultInfra, stop: stopProvider, code: stopInternal, phase: phaseAgent, err: err}
	}
	e := ending{stop: stopProvider, code: string(call.Code), phase: phaseAgent, err: err, call: call}
	switch call.Code {
	case provider.ContextLength, provider.ContentFilter:
		e.fault, e.stop = faultAgent, string(call.Code)
	case provider.Auth, provider.UnknownModel, provider.InvalidRequest:
		e.fault = faultFatal
	default:
		e.fault = faultInfra
	}
	return e
}

// byBox says what a sandbox that failed means for the trial.
func byBox(ctx context.Context, phase string, err error) ending {
	if e, ok := halted(ctx); ok {
		return e
	}
	if errors.Is(err, errTrialTimeout) { // when it was recorded
		return byAgent(stopTimeout, "%w", errTrialTimeout)
	}
	e := ending{fault: faultInfra, stop: stopSandbox, code: "sandbox_engine", phase: phase, err: err}
	var box *sandbox.BoxError
	if !errors.As(err, &box) {
		return e
	}
	switch box.Kind {
	case sandbox.Tampered:
		e.fault, e.code = faultAgent, "tampered"
	case sandbox.Limit:
		e.fault, e.code = faultAgent, box.Limit+"_limit"
	default:
		e.code = "sandbox_" + string(box.Kind)
	}
	return e
}

// errTrialTimeout is the cause of a trial's own deadline.
var errTrialTimeout = record.ErrTimeUp

// halted says whether ctx was ended by the run (then the trial is left as it
// is), by the trial's own deadline (then it is the agent's failure), or by somebody
// who ended this trial alone (then it is invalid).
func halted(ctx context.Context) (ending, bool) {
	if ctx.Err() == nil {
		return ending{}, false
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errTrialTimeout):
		return byAgent(stopTimeout, "%w", cause), true
	case errors.Is(cause, ErrTrialCancelled): // in which phase, the attempt knows
		return ending{fault: faultCancel, stop: scoring.CodeCancelled, code: scoring.CodeCancelled, phase: phaseAgent, err: cause}, true
	}
	return ending{fault: faultHalt, stop: stopInterrupted, phase: phaseAgent, err: cause}, true
}
