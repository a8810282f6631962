package regression_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/regression"
	"github.com/agentclash/agentclash/scoring/review"
)

// foundCase is a case as a trace gives it.
func foundCase(key, n string) regression.Found {
	return regression.Found{Row: 1, Notes: "model: x", Case: pack.Case{ChallengeKey: "add", CaseKey: key, Payload: map[string]any{"n": n},
		Expectations: []pack.Expectation{{Key: "sum", Kind: "text", Value: n}}}}
}

func TestProposed(t *testing.T) {
	t.Parallel()
	from := regression.Importing{Pack: loaded(t), InputSet: "default", File: "t.json", Format: "otlp", Now: time.Unix(0, 0)}
	s := regression.New("seen", "sums", review.Warning, "", time.Unix(0, 0))
	cases, known, err := s.Proposed(from, []regression.Found{foundCase("t1", "7"), foundCase("t/1", "8"), foundCase("t2", "7")})
	if err != nil || len(cases) != 2 || len(known) != 1 || known[0] != "t1" {
		t.Fatalf("%+v, %v, %v", cases, known, err)
	}
	if c := cases[0]; c.Status != regression.Proposed || c.Mode != regression.Manual || c.Import.File != "t.json" || c.Import.Notes != "model: x" ||
		c.Challenge == nil || c.Title != "t1: 7" || len(c.Import.ContentDigest) != 64 {
		t.Errorf("%+v", c)
	}
	if cases[1].ID != "t-1" {
		t.Errorf("the id is %q", cases[1].ID)
	}

	// the file of it says the same, and what it has is not proposed again: not as
	// it came, not as somebody mended it
	s.Cases = cases[:1]
	src, err := s.Source()
	if err == nil {
		src, err = regression.Append(src, cases[1:]...)
	}
	if err != nil {
		t.Fatal(err)
	}
	back, problems := regression.Parse("seen", []byte(strings.Replace(string(src), `value: "7"`, `value: "seven"`, 1)))
	if problems.Err() != nil || len(back.Cases) != 2 {
		t.Fatal(problems)
	}
	mended := foundCase("t9", "7")
	mended.Case.Expectations = []pack.Expectation{{Key: "sum", Kind: "text", Value: "seven"}}
	cases, known, err = back.Proposed(from, []regression.Found{foundCase("t1", "7"), foundCase("new", "8"), mended})
	if err != nil || len(cases) != 0 || strings.Join(known, " ") != "t1 t-1 t1" {
		t.Errorf("%+v, %v, %v", cases, known, err)
	}

	// everything that cannot be is said at once
	odd := foundCase("odd", "1")
	odd.Case.ChallengeKey = "nowhere"
	var all pack.Problems
	_, _, err = back.Proposed(from, []regression.Found{foundCase("t1", "9"), odd})
	if !errors.As(err, &all) || len(all) != 2 || !strings.Contains(err.Error(), `its key "t1" is that of case t1`) || !strings.Contains(err.Error(), `no challenge "nowhere"`) {
		t.Errorf("%v", err)
	}
}
