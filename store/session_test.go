package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/store"
)

// inSession is a plan of a session and so many repetitions.
func inSession(n int, session string, repetitions int) plan.Plan {
	p := makePlan(id('r', n*0x1000000), 1, 2)
	p.Name = fmt.Sprint("run ", n)
	p.Session, p.Options.Repetitions = session, repetitions
	p.CreatedAt = start.Add(time.Duration(n) * time.Hour)
	return p
}

func sessionNames(t *testing.T, db *store.DB, ws string) (names []string) {
	t.Helper()
	list, total, err := db.Sessions(t.Context(), ws, 0, 0)
	must(t, err)
	if total != len(list) {
		t.Errorf("%d of %d sessions", len(list), total)
	}
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

func TestSessions(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	first := createRun(t, db, inSession(1, "Nightly", 1))
	alone := createRun(t, db, inSession(2, "", 3))
	second := createRun(t, db, inSession(3, " nightly ", 2))
	once := createRun(t, db, inSession(4, "", 1))
	shard, retry := inSession(5, "", 3), inSession(6, "", 3)
	shard.Options.Shard, retry.RetryOf = &plan.Shard{Index: 1, Of: 2}, alone.RunID
	createRun(t, db, shard)
	createRun(t, db, retry)
	if names := sessionNames(t, db, ""); len(names) != 2 || names[0] != "Nightly" || names[1] != alone.Name {
		t.Errorf("got %q", names)
	}
	for selector, want := range map[string]string{
		"NIGHTLY": "Nightly", first.RunID: "Nightly", second.Name: "Nightly", store.Latest: "Nightly",
		alone.RunID: alone.Name, alone.Name: alone.Name, alone.RunID[26:]: alone.Name,
	} {
		if s, err := db.Session(t.Context(), "", selector); err != nil || s.Name != want || s.Single != (want == alone.Name) {
			t.Errorf("%q: got %+v, %v, want %s", selector, s, err, want)
		}
	}
	for _, selector := range []string{once.RunID, shard.Name, retry.Name, "nothing", "night", ""} {
		if s, err := db.Session(t.Context(), "", selector); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%q: got %+v, %v", selector, s, err)
		}
	}
	s, err := db.Session(t.Context(), "", "nightly")
	must(t, err)
	runs, err := db.SessionRuns(t.Context(), s)
	must(t, err)
	if len(runs) != 2 || runs[0].ID != first.RunID || runs[1].ID != second.RunID || s.Runs != 2 || !s.CreatedAt.Equal(first.CreatedAt) {
		t.Errorf("got %+v of %+v", runs, s)
	}
	if of, ok, err := db.SessionOf(t.Context(), second.RunID); err != nil || !ok || of.ID != s.ID {
		t.Errorf("got %+v, %v, %v", of, ok, err)
	}
	if _, ok, err := db.SessionOf(t.Context(), once.RunID); err != nil || ok {
		t.Errorf("a run of no session: got %v, %v", ok, err)
	}
	must(t, db.Check(t.Context()))
}

// What a session's runs have in common is seen to when one joins, and what does not
// fit leaves nothing behind.
func TestASessionIsOfOnePackAndSpec(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	createRun(t, db, inSession(1, "nightly", 1))
	other := inSession(2, "Nightly", 2)
	other.SpecDigest = "e15e"
	if err := db.CreateRun(t.Context(), other, me); !errors.Is(err, store.ErrConflict) {
		t.Errorf("another spec: got %v", err)
	}
	if _, err := db.Run(t.Context(), "", other.RunID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the run that was refused: got %v", err)
	}
	for _, row := range []struct {
		ws, slug, digest string
		conflict         bool
	}{{"", "sums", "5bec", false}, {"", "sums", "e15e", true}, {"", "products", "5bec", true}, {"other", "products", "e15e", false}} {
		if err := db.CheckSession(t.Context(), row.ws, "NIGHTLY", row.slug, row.digest); errors.Is(err, store.ErrConflict) != row.conflict || !row.conflict && err != nil {
			t.Errorf("%+v: got %v", row, err)
		}
	}
	must(t, db.CheckSession(t.Context(), "", "weekly", "products", "e15e"))
	must(t, db.Check(t.Context()))
}

// A store from before there were sessions is read as one without; once it is
// migrated its runs of several repetitions are sessions.
func TestSessionsOfAnOlderStore(t *testing.T) {
	t.Parallel()
	path := fixture(t, "schema5.db.gz")
	old, err := store.Open(t.Context(), store.Options{Path: path, ReadOnly: true})
	must(t, err)
	if names := sessionNames(t, old, ""); names != nil || old.KnowsSessions() {
		t.Errorf("got %q", names)
	}
	if _, err := old.Session(t.Context(), "", "thrice"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	thrice, err := old.Run(t.Context(), "", "thrice")
	must(t, err)
	if _, ok, err := old.SessionOf(t.Context(), thrice.ID); ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
	must(t, old.CheckSession(t.Context(), "", "nightly", "quickstart", "any"))
	must(t, old.Close())

	db := open(t, path)
	s, err := db.Session(t.Context(), "", "thrice")
	must(t, err)
	if names := sessionNames(t, db, ""); len(names) != 1 || s.ID != thrice.ID || !s.Single || s.Runs != 1 || s.Slug != "quickstart" || s.SpecDigest != thrice.SpecDigest {
		t.Errorf("got %q and %+v", names, s)
	}
	var counted store.CaseCount
	agents, err := db.RunAgents(t.Context(), thrice.ID)
	must(t, err)
	must(t, db.CaseCounts(t.Context(), agents[1].ID, func(c store.CaseCount) {
		counted.Passed, counted.Failed, counted.Invalid = counted.Passed+c.Passed, counted.Failed+c.Failed, counted.Invalid+c.Invalid
	}))
	if card := agents[1].Scorecard; counted.Passed != card.PassedTrials || counted.Failed != card.FailedTrials || counted.Failed == 0 || counted.Invalid != 0 {
		t.Errorf("got %+v, and the scorecard says %+v", counted, card)
	}
	must(t, db.Check(t.Context()))
}
