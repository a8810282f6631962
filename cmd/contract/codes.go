package contract

import (
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/errcode"
	"github.com/agentclash/agentclash/cmd/manual"
	"github.com/agentclash/agentclash/cmd/view"
)

// ExitCodes are the statuses that commands end with, the same for all of them.
func ExitCodes() []manual.ExitCode {
	return []manual.ExitCode{
		{Code: 0, Meaning: "success; of a gate: pass"},
		{Code: 1, Meaning: "error; of a gate: fail"},
		{Code: 2, Meaning: "of a gate: warn"},
		{Code: 3, Meaning: "of a gate: insufficient evidence"},
		{Code: 10, Meaning: "ci run: the manifest is invalid"},
		{Code: 20, Meaning: "ci run: infrastructure failed"},
		{Code: 30, Meaning: "ci run: the time is over"},
		{Code: cli.StatusRunFailed, Meaning: "the run failed or was cancelled"},
		{Code: cli.StatusUsage, Meaning: "wrong usage, or a file that is not valid"},
		{Code: cli.StatusNotFound, Meaning: "not found"},
		{Code: cli.StatusUnavailable, Meaning: "Docker, or another service that is needed, is not there"},
		{Code: cli.StatusTryAgain, Meaning: "try again later"},
		{Code: cli.StatusNoPermission, Meaning: "a key is missing or was rejected, or permission is"},
		{Code: cli.StatusInterrupted, Meaning: "interrupted"},
	}
}

// errorCodes are the codes that errors have under --json, as explain has them.
func errorCodes() (list []manual.ErrorCode) {
	for _, c := range errcode.All() {
		if c.Of == errcode.Command {
			list = append(list, manual.ErrorCode{Code: c.Code, Status: c.Status[0], Meaning: c.Means})
		}
	}
	return list
}

// statusEnums are the words that a status may be.
func statusEnums() []manual.StatusEnum {
	run := []string{"queued", "running", "scoring", "completed", "failed", "cancelled", "interrupted"}
	return []manual.StatusEnum{
		{Resource: "run", Values: run},
		{Resource: "run_agent", Values: run},
		{Resource: "trial", Values: []string{"queued", "running", "passed", "failed", "invalid", "interrupted", "cancelled"}},
		{Resource: "gate_verdict", Values: []string{"pass", "warn", "fail", "insufficient_evidence"}},
		{Resource: "regression_suite", Values: []string{"active", "archived"}},
		{Resource: "regression_case", Values: []string{"proposed", "active", "muted", "archived", "rejected"}},
		{Resource: "doctor_check", Values: []string{view.CheckOK, view.CheckInfo, view.CheckWarn, view.CheckFail}},
	}
}
