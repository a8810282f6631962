package cmd

import "github.com/agentclash/agentclash/cmd/manual"

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
		{Code: statusRunFailed, Meaning: "the run failed or was cancelled"},
		{Code: statusUsage, Meaning: "wrong usage, or a file that is not valid"},
		{Code: statusNotFound, Meaning: "not found"},
		{Code: statusUnavailable, Meaning: "Docker, or another service that is needed, is not there"},
		{Code: statusTryAgain, Meaning: "try again later"},
		{Code: statusNoPermission, Meaning: "a key is missing or was rejected, or permission is"},
		{Code: statusInterrupted, Meaning: "interrupted"},
	}
}

// errorCodes are the codes that errors have under --json. This is the one list of
// them: TestErrorCodes holds it against the code.
func errorCodes() []manual.ErrorCode {
	return []manual.ErrorCode{
		{Code: "aborted", Status: statusInterrupted, Meaning: "the command was interrupted"},
		{Code: "ambiguous", Status: statusUsage, Meaning: "a name or id means several things"},
		{Code: "auth", Status: statusNoPermission, Meaning: "a provider rejected the key"},
		{Code: "bundle_damaged", Status: statusUsage, Meaning: "a bundle is not what was written"},
		{Code: "bundle_invalid", Status: statusUsage, Meaning: "what a bundle says does not hold together"},
		{Code: "bundle_newer", Status: statusUsage, Meaning: "a newer agentclash wrote the bundle"},
		{Code: "bundle_too_large", Status: statusUsage, Meaning: "a bundle unpacks to more than is permitted"},
		{Code: "collector_unavailable", Status: statusUnavailable, Meaning: "the OpenTelemetry collector did not take the traces"},
		{Code: "command_failed", Status: statusError, Meaning: "any other error"},
		{Code: "conflict", Status: statusUsage, Meaning: "what is stored already says otherwise"},
		{Code: "disk_full", Status: statusTryAgain, Meaning: "there is no room on the disk"},
		{Code: "docker_unavailable", Status: statusUnavailable, Meaning: "no Docker engine answers"},
		{Code: "failure_review_item_not_found", Status: statusNotFound, Meaning: "the run has no such failure"},
		{Code: "file_not_found", Status: statusNotFound, Meaning: "a file is not there"},
		{Code: "follow_timeout", Status: statusTryAgain, Meaning: "what was followed did not end in time"},
		{Code: "git_unavailable", Status: statusUnavailable, Meaning: "git is not there, or this is no repository"},
		{Code: "insufficient_evidence", Status: 3, Meaning: "there is not enough evidence to decide"},
		{Code: "invalid_argument", Status: statusUsage, Meaning: "what was typed is wrong"},
		{Code: "invalid_config", Status: statusUsage, Meaning: "a setting or a configuration file is wrong"},
		{Code: "merge_base_not_found", Status: statusNotFound, Meaning: "two refs have no common commit here"},
		{Code: "not_a_bundle", Status: statusUsage, Meaning: "a file is no bundle"},
		{Code: "not_found", Status: statusNotFound, Meaning: "nothing has that name or id"},
		{Code: "not_mergeable", Status: statusUsage, Meaning: "runs are not shards of one run"},
		{Code: "pack_invalid", Status: statusUsage, Meaning: "a challenge pack is not valid"},
		{Code: "permission_denied", Status: statusNoPermission, Meaning: "a file or the store cannot be written or read"},
		{Code: "provider_key_missing", Status: statusNoPermission, Meaning: "there is no key for a provider"},
		{Code: "ref_not_found", Status: statusNotFound, Meaning: "git has no such ref"},
		{Code: "regression_suite_archived", Status: statusUsage, Meaning: "the regression suite is archived"},
		{Code: "regression_suite_name_conflict", Status: statusUsage, Meaning: "the name of a regression suite is taken"},
		{Code: "regression_suite_pack_mismatch", Status: statusUsage, Meaning: "the regression suite is of another pack"},
		{Code: "request_failed", Status: statusTryAgain, Meaning: "a provider is full, slow or away"},
		{Code: "sandbox_engine", Status: statusUnavailable, Meaning: "the engine of sandboxes failed"},
		{Code: "sandbox_image", Status: statusUnavailable, Meaning: "an image is not there and cannot be had"},
		{Code: "sandbox_key", Status: statusNoPermission, Meaning: "the provider of sandboxes rejected the key, or there is none"},
		{Code: "secret_found", Status: statusError, Meaning: "a secret stands in what was to be exported"},
		{Code: "secret_missing", Status: statusNoPermission, Meaning: "a secret that a pack needs is not set"},
		{Code: "store_damaged", Status: statusUnavailable, Meaning: "the store is damaged, or is none"},
		{Code: "store_locked", Status: statusTryAgain, Meaning: "another process keeps the store to itself"},
		{Code: "store_newer", Status: statusUsage, Meaning: "a newer agentclash wrote the store"},
	}
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
		{Resource: "doctor_check", Values: []string{checkOK, checkInfo, checkWarn, checkFail}},
	}
}
