package event

import (
	"encoding/json"

	"github.com/agentclash/agentclash/scoring"
)

// FirstFailure is the place in Steps of what first went wrong, -1 when nothing did:
// a call or a tool that failed, an answer that is not what its turn expects, a file
// that is not there, tests that did not pass. Where no step says so, it is the first
// that holds one of the events which scores that did not pass point at.
func (r Replay) FirstFailure(blamed []int64) int {
	for i, s := range r.Steps {
		if s.failing() {
			return i
		}
	}
	for i, s := range r.Steps {
		for _, sequence := range blamed {
			if sequence >= s.StartedSequence && sequence <= max(s.StartedSequence, s.CompletedSequence) && s.Type != "run" && s.Type != "agent_step" {
				return i
			}
		}
	}
	return -1
}

// failing says whether a step is one at which something went wrong.
func (s ReplayStep) failing() bool {
	switch s.Type {
	case "run", "agent_step": // what failed within them says more
		return false
	case "turn":
		return s.Mismatch != nil && *s.Mismatch
	case "code_execution":
		var run scoring.CodeRun
		if json.Unmarshal(s.Detail, &run) != nil {
			return false
		}
		return run.ExecutionError != "" || run.TimedOut || run.ExitCode == nil || *run.ExitCode != 0
	case "capture":
		var file scoring.CapturedFile
		return json.Unmarshal(s.Detail, &file) == nil && (!file.Exists || file.Unread != "")
	}
	return s.Status == "failed" || s.Status == "interrupted" || len(s.EventTypes) > 0 && s.EventTypes[0] == SandboxLost
}
