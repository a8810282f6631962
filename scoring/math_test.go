package scoring_test

import (
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring"
)

// A result keeps little of the largest canonical forms.
func TestMathEvidenceIsBounded(t *testing.T) {
	t.Parallel()
	j := judgeOf(t, scoring.MathEquivalence, "")
	for _, text := range []string{strings.Repeat("x+", 2000) + "x", strings.Repeat("(9^32)^32*x+", 60) + "1"} {
		if got := j.of(text, text); got.Verdict != scoring.VerdictPass || len(got.Evidence) > 32<<10 {
			t.Errorf("%.40q: %s, %d bytes", text, got.Verdict, len(got.Evidence))
		}
	}
}
