package scoring_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring"
)

// What is there and cannot be read exists, and has no content: nothing about
// what is in it holds, whichever way round.
func TestUnreadCaptures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, kind, config string
		negate             bool
		outcome            scoring.Outcome
	}{
		{"must not exist", scoring.FileExists, `{"must_exist":false}`, false, scoring.OutcomeFailed},
		{"must exist", scoring.FileExists, `{}`, false, scoring.OutcomePassed},
		{"negated", scoring.FileExists, `{}`, true, scoring.OutcomeFailed},
		{"not_exists", scoring.Postcondition, `{"condition":"not_exists"}`, false, scoring.OutcomeFailed},
		{"not_contains", scoring.Postcondition, `{"condition":"not_contains","value":"x"}`, false, scoring.OutcomeFailed},
		{"forbidden files", scoring.DirectoryStructure, `{"forbidden_files":["x"]}`, false, scoring.OutcomeFailed},
		{"negated forbidden files", scoring.DirectoryStructure, `{"forbidden_files":["x"]}`, true, scoring.OutcomeFailed},
	} {
		spec, ev := oneValidator(), evidence()
		key, check := "f", scoring.FileCapture
		if c.kind == scoring.DirectoryStructure {
			key, check = "d", scoring.DirectoryListing
		}
		spec.PostExecutionChecks = []scoring.PostExecutionCheck{{Key: key, Type: check, Path: "/workspace/it"}}
		spec.Validators[0] = scoring.Validator{Key: "v", Type: c.kind, Target: "file:" + key, Config: json.RawMessage(c.config), Negate: c.negate}
		spec.Scorecard.PassThreshold = new(1.0)
		ev.FinalOutput, ev.Completed = new("done"), new(true)
		ev.Files["f"] = scoring.CapturedFile{Key: "f", Path: "/workspace/it", Exists: true, Unread: "permission denied"}
		ev.Directories["d"] = scoring.CapturedDirectory{Key: "d", Path: "/workspace/it", Exists: true, Unread: "permission denied"}
		card := scoring.Score(spec, ev)
		if d := card.Decide(); d.Outcome != c.outcome {
			t.Errorf("%s: got %+v of %+v, want %s", c.name, d, card.Validators, c.outcome)
		}
		if v := card.Validators[0]; v.State != scoring.Available && !strings.Contains(v.Reason, "permission denied") {
			t.Errorf("%s: the reason does not say why it was not read: %s", c.name, v.Reason)
		}
	}
}
