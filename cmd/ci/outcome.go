package ci

import "github.com/agentclash/agentclash/scoring/compare"

// The statuses of `ci run`, beside those of verdicts.
const (
	StatusManifest       = 10 // the manifest, or what it names, is not valid
	StatusInfrastructure = 20 // store, sandbox, provider, or a file that cannot be written
	StatusTimeout        = 30
	StatusRunFailed      = 31 // or cancelled
	StatusInterrupted    = 130
)

// VerdictStatus is the status that a verdict ends a job with. Missing evidence
// never ends it with 0.
func (g Gate) VerdictStatus(v compare.Verdict) int {
	if v == compare.Warn && g.FailOn == FailOnRegression {
		return 0
	}
	return v.ExitStatus()
}

// FailureStatus is the status of a job that has no verdict, by the status that the
// same failure has in other commands.
func FailureStatus(status int) int {
	switch status {
	case 64, 66:
		return StatusManifest
	case StatusInterrupted, StatusTimeout, StatusRunFailed:
		return status
	}
	return StatusInfrastructure
}

// RunStatus is the status of a job whose run did not complete, by the status that
// eval start has for it.
func RunStatus(status int) int {
	switch status {
	case 64, 69, 75, 77: // a key, a model's name, a sandbox, a provider
		return StatusInfrastructure
	case StatusInterrupted:
		return status
	}
	return StatusRunFailed
}

// The states of a job, as a comment shows them.
const (
	Skipped = "skipped"
	Passed  = "passed"
	Failed  = "failed"
	Warned  = "warning"
	Errored = "errored"
)

// State is how a job ended: without a verdict, it errored.
func State(v compare.Verdict) string {
	switch v {
	case compare.Pass:
		return Passed
	case compare.Fail:
		return Failed
	case compare.Warn:
		return Warned
	}
	return Errored
}
