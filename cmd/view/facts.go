package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// factText is how many bytes of a text a line about a fact shows; the JSON
// form has all of it.
const factText = 400

// Describe says in a few words what a fact holds. The result is one line of
// clean text; a payload that does not decode is said so, never hidden.
func Describe(e event.Event) string {
	text, err := describe(e)
	if err != nil {
		return "unreadable payload: " + SanitizeLine(err.Error())
	}
	return SanitizeLine(text)
}

func describe(e event.Event) (string, error) {
	switch e.Type {
	case event.RunStarted, event.RunFinished, event.BudgetReach, event.Decided, event.SandboxLost, event.EgressDecide, event.TrialQueued, event.TrialDone:
		return describeRun(e)
	case event.RunAdjusted, event.RunPaced:
		return describeSteering(e)
	case event.CallStarted, event.CallDone, event.CallFailed, event.CallRetried, event.CallRefused, event.OutputDelta, event.ToolProposed:
		return describeCall(e)
	case event.ToolDrift:
		return told(e, func(v event.Drift) string {
			return fmt.Sprintf("%s: %s: was recorded as %s, is now %s", v.ToolName, or(v.Field), v.Recorded, v.Now)
		})
	case event.ToolStarted, event.ToolDone, event.ToolFailed, event.CommandStart, event.CommandDone, event.CommandFail:
		return describeTool(e)
	case event.JudgeStarted, event.JudgeDone:
		return describeJudge(e)
	case event.FileCaptured, event.DirListed, event.CodeExecuted:
		return describeCapture(e)
	case event.SecretPlanted, event.PromptPut, event.VaultAsked:
		return describeSecurity(e)
	case event.PhaseDecided, event.TurnUser, event.TurnAsked, event.TurnSimulated, event.TurnAssistant, event.TurnDone, event.TurnAwaiting, event.TurnExpired,
		event.ConversationDone:
		return describeTurn(e)
	case event.Standings:
		return told(e, func(v event.PeerStandings) string {
			return fmt.Sprintf("at step %d, %s, %s tokens", v.SelfStepIndex, or(v.TriggeredBy), Tokens(v.TokensAdded))
		})
	case event.Started, event.Completed, event.Failed, event.OutputFinal, event.StepStarted, event.StepDone:
		return describeLoop(e)
	}
	return "", nil
}

// told decodes a payload and tells it.
func told[T any](e event.Event, tell func(T) string) (string, error) {
	v, err := event.Decode[T](e)
	if err != nil {
		return "", err
	}
	return tell(v), nil
}

// describeSteering says what was changed in a run that goes on.
func describeSteering(e event.Event) (string, error) {
	if e.Type == event.RunPaced {
		return told(e, func(v event.Pacing) string {
			s := fmt.Sprintf("%s %s: %s at once, %d under way", or(v.Provider), or(v.Model), count(v.Window, "call"), v.UnderWay)
			if v.HeldUntil != nil {
				s += ", and none before " + v.HeldUntil.UTC().Format(time.RFC3339)
			}
			return s
		})
	}
	return told(e, func(v event.Adjustment) string {
		switch v.Action {
		case event.ActionPaused:
			return "paused: no other trial begins"
		case event.ActionResumed:
			return "goes on"
		case event.ActionConcurrency:
			return count(v.Concurrency, "trial") + " at once"
		case event.ActionCancelTrial:
			return "trial " + ShortID(v.TrialID) + " is cancelled"
		case event.ActionRetry:
			return count(v.Trials, "invalid trial") + " to be run again"
		}
		return or(v.Action)
	})
}

func describeRun(e event.Event) (string, error) {
	switch e.Type {
	case event.RunStarted:
		return told(e, func(v event.RunStart) string {
			s := fmt.Sprintf("%s v%d, input set %s, %s, %s, %s", v.Pack.Slug, v.Pack.Version, or(v.InputSet),
				count(len(v.Agents), "agent"), count(v.Cases, "case"), count(v.Trials, "trial"))
			if v.Sandbox != "" {
				s += ", " + v.Sandbox + " sandbox"
			}
			if v.Replay != "" {
				s += fmt.Sprintf(", a replay of the recording %.12s", v.Replay)
			}
			if v.Cache {
				s += ", replies may come from the cache"
			}
			return s
		})
	case event.RunFinished:
		return told(e, func(v event.RunEnd) string { return because(v.Status, v.Reason) })
	case event.BudgetReach:
		return told(e, func(v event.Budget) string {
			s := fmt.Sprintf("%s: %s used of %s", v.Limit, plain(v.Used), plain(v.Allowed))
			if v.Needed > 0 {
				s += ", and a call can come to " + plain(v.Needed)
			}
			return s
		})
	case event.Decided:
		return told(e, func(v event.Decision) string {
			return fmt.Sprintf("%s after %s of at most %d, %d failed (%s)", v.Decision, count(v.Trials, "trial"), v.MaxTrials, v.Failed, v.Method)
		})
	case event.SandboxLost:
		return told(e, func(v event.Lost) string { return because(strings.TrimSpace(v.Kind+" "+v.Limit), v.Detail) })
	case event.EgressDecide:
		return told(e, egress)
	case event.TrialQueued:
		return told(e, func(v event.Queue) string {
			switch {
			case v.Reused != nil:
				return "the trial of an earlier run stands for it"
			case v.Judging == nil:
				return ""
			}
			return "goes on with what the attempt before it did, and asks judges for what is missing"
		})
	}
	return told(e, trialEnd)
}

// egress says where a trial wanted to connect to.
func egress(v event.Egress) string {
	s := fmt.Sprintf("%s to %s port %d", v.Via, v.Host, v.Port) + excerpt(v.Path)
	if v.Address != "" && v.Address != v.Host {
		s += " (" + v.Address + ")"
	}
	if v.Allowed {
		return because(s+": allowed", v.Reason)
	}
	return because(s+": refused", v.Reason)
}

// trialEnd says how a trial ended: outcome, score, code and phase, and why.
func trialEnd(v event.TrialEnd) string {
	t := NewTrial(v.Trial)
	s := string(t.Outcome)
	if t.OverallScore != nil {
		s += " " + Score(t.OverallScore)
	}
	if t.Code != "" {
		s += " " + codePhase(t.Code, t.Phase)
	}
	s = because(s, t.Why())
	if v.WillRetry {
		s += ", another attempt follows"
	}
	return s
}

// refusedCall says what a program may not ask its model for.
func refusedCall(v event.RefusedCall) string {
	s := because(fmt.Sprintf("%s (HTTP %d)", v.Code, v.Status), v.Message)
	if v.Count > 0 {
		return fmt.Sprintf("%d more, the last: %s", v.Count, s)
	}
	return s
}

func describeCall(e event.Event) (string, error) {
	switch e.Type {
	case event.CallStarted:
		return told(e, func(v event.Call) string {
			return fmt.Sprintf("%s/%s, %s", v.ProviderKey, v.Model, count(v.MessageCount, "message"))
		})
	case event.CallDone:
		return told(e, callEnd)
	case event.OutputDelta:
		return told(e, func(v event.TextDelta) string { return excerpt(v.TextDelta + v.ToolName) })
	case event.CallFailed:
		return told(e, callError)
	case event.CallRefused:
		return told(e, refusedCall)
	case event.CallRetried:
		return told(e, func(v event.CallError) string {
			return fmt.Sprintf("try %d failed, again in %s: %s", v.Try, Duration(ms(v.WaitMS)), callError(v))
		})
	}
	return "", nil
}

func callEnd(v event.CallEnd) string {
	tokens := "tokens unknown"
	if v.Usage != nil {
		tokens = Tokens(v.Usage.Input) + " in, " + Tokens(v.Usage.Output) + " out"
	}
	s := fmt.Sprintf("%s, %s, %s", tokens, or(v.FinishReason), Duration(ms(v.Timing.TotalLatencyMS)))
	if v.Cached {
		s += ", cached"
	}
	if v.Note != "" {
		s += ", " + v.Note
	}
	if len(v.ToolCalls) > 0 {
		names := make([]string, len(v.ToolCalls))
		for i, c := range v.ToolCalls {
			names[i] = c.Name
		}
		return because(s, excerpt(strings.Join(names, ", ")))
	}
	return because(s, excerpt(v.OutputText))
}

func callError(v event.CallError) string {
	s := v.Code
	if v.JudgeKey != "" {
		s = "judge " + v.JudgeKey + ", " + s
	}
	if v.PhaseID != "" {
		s = "user of phase " + v.PhaseID + ", " + s
	}
	if v.Status != 0 {
		s += " (HTTP " + strconv.Itoa(v.Status) + ")"
	}
	return because(s, excerpt(v.Message))
}

func describeTool(e event.Event) (string, error) {
	switch e.Type {
	case event.CommandStart, event.CommandDone, event.CommandFail:
		return told(e, func(v event.Command) string {
			s := excerpt(strings.Join(v.Argv, " "))
			if e.Type != event.CommandStart {
				s += ", exit " + strconv.Itoa(v.ExitCode)
			}
			return because(s, excerpt(v.Error))
		})
	}
	return told(e, func(v event.Tool) string { return toolCall(e.Type, v) })
}

// toolCall is a tool's name and arguments and, of one that failed, why.
func toolCall(kind event.Type, v event.Tool) string {
	s := or(v.ToolName)
	if args := string(v.Arguments); args != "" && args != "{}" && args != "null" {
		s += " " + excerpt(args)
	}
	if kind == event.ToolStarted {
		return s
	}
	if kind == event.ToolFailed {
		s += ", failed"
		if v.FailureOrigin != "" {
			s += " (" + v.FailureOrigin + ")"
		}
	}
	s += ", " + Duration(ms(v.DurationMS))
	if v.Limit != "" {
		s += ", limit reached: " + v.Limit
	}
	if kind == event.ToolFailed && v.Result != nil {
		s = because(s, excerpt(v.Result.Content))
	}
	return s
}

func describeCapture(e event.Event) (string, error) {
	switch e.Type {
	case event.FileCaptured:
		return told(e, func(v scoring.CapturedFile) string {
			if !v.Exists {
				return v.Key + ": " + v.Path + " does not exist"
			}
			if v.Unread != "" {
				return v.Key + ": " + v.Path + " cannot be read: " + excerpt(v.Unread)
			}
			return fmt.Sprintf("%s: %s, %s bytes", v.Key, v.Path, Tokens(v.Size))
		})
	case event.DirListed:
		return told(e, func(v scoring.CapturedDirectory) string {
			if !v.Exists {
				return v.Key + ": " + v.Path + " does not exist"
			}
			if v.Unread != "" {
				return v.Key + ": " + v.Path + " cannot be listed: " + excerpt(v.Unread)
			}
			return fmt.Sprintf("%s: %s, %d entries", v.Key, v.Path, len(v.Entries))
		})
	}
	return told(e, func(v scoring.CodeRun) string {
		return v.ValidatorKey + ": " + because(excerpt(v.TestCommand), codeResult(v))
	})
}

// codeResult says how a test command ended.
func codeResult(v scoring.CodeRun) string {
	switch {
	case v.ExecutionError != "":
		return "not run: " + excerpt(v.ExecutionError)
	case v.TimedOut:
		return "timed out after " + Duration(ms(v.TimeoutMS))
	case v.ExitCode == nil:
		return "no exit status"
	}
	return "exit " + strconv.Itoa(*v.ExitCode)
}

func describeLoop(e event.Event) (string, error) {
	switch e.Type {
	case event.Started:
		return told(e, func(v event.TrialStart) string {
			if v.ExecutionTarget == "none" {
				return "" // there is no sandbox to name
			}
			return "on " + or(v.ExecutionTarget)
		})
	case event.Completed:
		return told(e, func(v event.End) string {
			return fmt.Sprintf("%s, %s, %s", or(v.StopReason), count(v.StepCount, "step"), count(v.ToolCallCount, "tool call"))
		})
	case event.Failed:
		return told(e, func(v event.Failure) string {
			return because(codePhase(v.StopReason, v.Phase), excerpt(v.Error))
		})
	case event.OutputFinal:
		return told(e, func(v event.Output) string { return because(v.Source, excerpt(v.FinalOutput)) })
	}
	return told(e, func(v event.Step) string { return "step " + strconv.Itoa(v.StepIndex) })
}

// because joins what happened and why, when there is a why.
func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// excerpt is the beginning of a text.
func excerpt(s string) string {
	if len(s) <= factText {
		return s
	}
	return Clip(s, factText) + ellipsis
}

func attempt(n int) string {
	if n > 1 {
		return "attempt " + strconv.Itoa(n)
	}
	return ""
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// plain is a number without needless zeros.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
