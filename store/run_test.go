package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

func TestRunReadsBack(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := makePlan(id('r', 0x1000000), 2, 3)
	planned.Agents[1].Deployment.OutputSchema = map[string]any{"type": "object"}
	planned.Options.Seed = 42
	createRun(t, db, planned)

	r, err := db.Run(t.Context(), "", planned.RunID)
	must(t, err)
	want := store.Run{ID: planned.RunID, Workspace: store.DefaultWorkspace, Name: planned.Name, Status: store.Queued, Mode: "prompt_eval",
		InputSet: "default", Pack: planned.Pack, SpecDigest: "5bec", Agents: 2, Trials: 6, CreatedAt: start, Owner: me}
	if diff := cmp.Diff(want, r, cmpopts.IgnoreFields(store.Run{}, "PackID", "Heartbeat")); diff != "" {
		t.Errorf("run: want (-), got (+):\n%s", diff)
	}
	stored, err := db.Plan(t.Context(), planned.RunID)
	must(t, err)
	if diff := cmp.Diff(planned, stored, cmpopts.IgnoreUnexported(plan.Plan{}), cmpopts.IgnoreFields(plan.Plan{}, "Trials")); diff != "" {
		t.Errorf("plan: want (-), got (+):\n%s", diff)
	}
	left, err := db.Unfinished(t.Context(), planned.RunID, false)
	must(t, err)
	if diff := cmp.Diff(planned.Trials, left); diff != "" {
		t.Errorf("unfinished trials: want (-), got (+):\n%s", diff)
	}
	agents, err := db.RunAgents(t.Context(), planned.RunID)
	must(t, err)
	for i, a := range agents {
		want := store.RunAgent{ID: planned.Agents[i].ID, RunID: planned.RunID, Label: planned.Agents[i].Label, Lane: i,
			Deployment: planned.Agents[i].Deployment, Status: store.Queued}
		if diff := cmp.Diff(want, a); diff != "" {
			t.Errorf("run agent %d: want (-), got (+):\n%s", i, diff)
		}
	}
	pack, err := db.Snapshot(t.Context(), r.PackID)
	must(t, err)
	if pack.Slug != "sums" || string(pack.Manifest) != string(snapshot("sums", 1).Manifest) {
		t.Errorf("pack of the run: got %+v", pack)
	}
}

func TestCreateRunRefuses(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := makePlan(id('r', 0x1000000), 1, 30)
	if err := db.CreateRun(t.Context(), planned, me); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("without its pack: got %v, want not found", err)
	}
	_, err := db.SavePack(t.Context(), snapshot("sums", 1))
	must(t, err)
	if err := db.CreateRun(t.Context(), planned, store.Owner{}); err == nil {
		t.Error("without an owner: got no error")
	}
	bad := planned
	bad.Trials = slices.Clone(planned.Trials)
	bad.Trials[29].Agent = 7
	if err := db.CreateRun(t.Context(), bad, me); err == nil {
		t.Error("with a trial of no agent: got no error")
	}
	if _, total, err := db.Runs(t.Context(), store.RunFilter{}); err != nil || total != 0 {
		t.Errorf("refused runs leave %d rows, %v", total, err)
	}
	must(t, db.CreateRun(t.Context(), planned, me))
	if err := db.CreateRun(t.Context(), planned, me); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a second time: got %v, want a conflict", err)
	}
}

func TestRunsList(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	for n := range 5 {
		planned := makePlan(id('r', (n+1)*0x1000000), 1, 1)
		planned.CreatedAt = start.Add(time.Duration(n%3) * time.Hour)
		planned.Name = fmt.Sprintf("Nightly %d", n%2)
		createRun(t, db, planned)
	}
	other := snapshot("sums", 1)
	other.Workspace = "other"
	_, err := db.SavePack(t.Context(), other)
	must(t, err)
	foreign := makePlan(id('r', 0x9000000), 1, 1)
	foreign.Workspace = "other"
	must(t, db.CreateRun(t.Context(), foreign, me))

	names := func(f store.RunFilter) (string, int) {
		runs, total, err := db.Runs(t.Context(), f)
		must(t, err)
		var ids []string
		for _, r := range runs {
			ids = append(ids, r.ID[len(r.ID)-7:len(r.ID)-6])
		}
		return strings.Join(ids, " "), total
	}
	for _, c := range []struct {
		filter store.RunFilter
		want   string
		total  int
	}{
		{store.RunFilter{}, "3 5 2 4 1", 5}, // by date, then the later row
		{store.RunFilter{Limit: 2}, "3 5", 5},
		{store.RunFilter{Limit: 2, Offset: 4}, "1", 5},
		{store.RunFilter{Workspace: "other"}, "9", 1},
		{store.RunFilter{Name: "nightly 1"}, "2 4", 2},
		{store.RunFilter{PackSlug: "sums", Statuses: []string{store.Queued, store.Running}}, "3 5 2 4 1", 5},
		{store.RunFilter{PackSlug: "none"}, "", 0},
		{store.RunFilter{Statuses: []string{store.Completed}}, "", 0},
	} {
		if got, total := names(c.filter); got != c.want || total != c.total {
			t.Errorf("%+v: got %q of %d, want %q of %d", c.filter, got, total, c.want, c.total)
		}
	}
}

func TestSelectors(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	one := makePlan("0195a000-0000-7000-8072-0000aa1234ab", 2, 1)
	one.Name = "Straße"
	two := makePlan("0195a000-0000-7000-8072-0000bb1234ab", 2, 1)
	two.Name, two.CreatedAt = "Nightly", start.Add(time.Hour)
	three := makePlan("0195a000-0000-7000-8072-0000cc0000cd", 1, 1)
	three.Name = "nightly"
	three.CreatedAt = start.Add(-time.Hour)
	for _, p := range []plan.Plan{one, two, three} {
		createRun(t, db, p)
	}
	for _, c := range []struct {
		selector string
		want     string // "" not found, "?" ambiguous
	}{
		{one.RunID, one.RunID},
		{"STRASSE", one.RunID}, // case folding, not lower-casing
		{" straße ", one.RunID},
		{"stra", ""}, // never a part of a name
		{"latest", two.RunID},
		{"Latest", two.RunID},
		{"baseline", ""},
		{"aa1234ab", one.RunID},
		{"AA1234AB", one.RunID},
		{"8072-0000aa1234ab", one.RunID},
		{"1234ab", "?"},
		{"234ab", ""}, // too short for a tail
		{"0000cd", three.RunID},
		{"0195a000", ""}, // the start of an id is none
		{"NIGHTLY", "?"},
		{"", ""},
		{"%", ""},
	} {
		got, err := db.Run(t.Context(), "", c.selector)
		var ambiguous *store.AmbiguousError
		switch {
		case errors.As(err, &ambiguous):
			if c.want != "?" || len(ambiguous.Candidates) != 2 {
				t.Errorf("%q: got %v, want %q", c.selector, err, c.want)
			}
		case errors.Is(err, store.ErrNotFound):
			if c.want != "" {
				t.Errorf("%q: not found, want %q", c.selector, c.want)
			}
		case err != nil || got.ID != c.want:
			t.Errorf("%q: got %q, %v, want %q", c.selector, got.ID, err, c.want)
		}
	}
	_, err := db.Run(t.Context(), "", "NIGHTLY")
	if want := `find run "NIGHTLY": "NIGHTLY" means more than one run: bb1234ab ("Nightly"), cc0000cd ("nightly")`; err == nil || err.Error() != want {
		t.Errorf("ambiguous: got %v, want %s", err, want)
	}
	if _, err := db.Run(t.Context(), "elsewhere", "aa1234ab"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a tail in another workspace: got %v, want not found", err)
	}
	if r, err := db.Run(t.Context(), "elsewhere", one.RunID); err != nil || r.ID != one.RunID {
		t.Errorf("a whole id in another workspace: got %v", err)
	}

	a := one.Agents[1]
	for _, selector := range []string{a.ID, "agent-1", "AGENT-1"} {
		if got, err := db.RunAgent(t.Context(), "", one.RunID, selector); err != nil || got.ID != a.ID {
			t.Errorf("agent %q: got %q, %v", selector, got.ID, err)
		}
	}
	if got, err := db.RunAgent(t.Context(), "", "", a.ID); err != nil || got.ID != a.ID {
		t.Errorf("agent by id alone: got %q, %v", got.ID, err)
	}
	if _, err := db.RunAgent(t.Context(), "", "", "agent-1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a label without its run: got %v, want not found", err)
	}
	if _, err := db.RunAgent(t.Context(), "", two.RunID, a.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an agent of another run: got %v, want not found", err)
	}
	trial := one.Trials[1].ID
	if got, err := db.Trial(t.Context(), "", trial[len(trial)-12:]); err != nil || got.ID != trial {
		t.Errorf("trial by its tail: got %q, %v, want %q", got.ID, err, trial)
	}
	if _, err := db.Trial(t.Context(), "", "000000"); err == nil {
		t.Error("every trial's tail: got no error")
	}
}

func TestFinishRun(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := createRun(t, db, makePlan(id('r', 0x1000000), 2, 3))
	r := record(t, db, planned)
	must(t, r.Emit(t.Context(), event.Event{RunID: planned.RunID, Type: event.RunStarted, Source: event.SourceRun, Sequence: 1, OccurredAt: start}))
	must(t, r.Flush(t.Context()))
	if now, err := db.Run(t.Context(), "", planned.RunID); err != nil || now.Status != store.Running || !now.StartedAt.Equal(start) {
		t.Errorf("after run.started: got %s since %v, %v", now.Status, now.StartedAt, err)
	}
	must(t, db.SetRunStatus(t.Context(), planned.RunID, me, store.Scoring))
	done := speak(t, r, planned, planned.Trials[0])
	done.begin()
	done.finish(scoring.OutcomePassed, false)
	cut := speak(t, r, planned, planned.Trials[1])
	cut.begin()
	must(t, r.Close())

	rate := 1.0
	result := engine.Result{Status: store.Cancelled, Reason: "interrupted by the user", Agents: []engine.AgentResult{
		{RunAgentID: planned.Agents[0].ID, Label: "Agent-0", Status: store.Completed, Scorecard: scoring.AgentScorecard{PassRate: &rate, Headline: "passed"}},
		{RunAgentID: planned.Agents[1].ID, Label: "Agent-1", Status: store.Cancelled, Reason: "cancelled"},
	}}
	if err := db.FinishRun(t.Context(), planned.RunID, store.Owner{ID: "other"}, result); !errors.Is(err, store.ErrOwned) {
		t.Errorf("by another: got %v, want ErrOwned", err)
	}
	must(t, db.FinishRun(t.Context(), planned.RunID, me, result))
	now, err := db.Run(t.Context(), "", planned.RunID)
	must(t, err)
	if now.Status != store.Cancelled || now.Reason != result.Reason || now.FinishedAt.IsZero() {
		t.Errorf("run: got %s (%s) at %v", now.Status, now.Reason, now.FinishedAt)
	}
	agents, err := db.RunAgents(t.Context(), planned.RunID)
	must(t, err)
	if agents[0].Scorecard == nil || *agents[0].Scorecard.PassRate != 1 || agents[0].Status != store.Completed || !agents[0].FinishedAt.Equal(done.said[2].OccurredAt) {
		t.Errorf("first agent: got %+v", agents[0])
	}
	if agents[1].Status != store.Cancelled || agents[1].Reason != "cancelled" {
		t.Errorf("second agent: got %+v", agents[1])
	}
	tally, err := db.Tally(t.Context(), planned.Agents[1].ID)
	if diff := cmp.Diff(map[string]int{store.Cancelled: 3}, tally); diff != "" || err != nil {
		t.Errorf("trials of the second agent: %v\n%s", err, diff)
	}
	attempts := readTrials(t, db, store.TrialFilter{RunAgentID: planned.Agents[1].ID, AllAttempts: true})
	if len(attempts) != 1 || attempts[0].Status != store.Cancelled {
		t.Errorf("its attempts: got %+v", attempts)
	}
	for what, err := range map[string]error{
		"finish twice":           db.FinishRun(t.Context(), planned.RunID, me, result),
		"status of an ended run": db.SetRunStatus(t.Context(), planned.RunID, me, store.Running),
		"cancel an ended run":    db.RequestCancel(t.Context(), planned.RunID),
	} {
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: got %v, want a conflict", what, err)
		}
	}
	if _, err := db.Recorder(t.Context(), planned.RunID, me); !errors.Is(err, store.ErrConflict) {
		t.Errorf("record an ended run: got %v, want a conflict", err)
	}
	if err := db.SetRunStatus(t.Context(), planned.RunID, me, store.Completed); err == nil {
		t.Error("a final status without FinishRun: got no error")
	}
	if err := db.FinishRun(t.Context(), planned.RunID, me, engine.Result{Status: "done"}); err == nil {
		t.Error("a status that is none: got no error")
	}
}

func TestTrialFilters(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	planned := makePlan(id('r', 0x1000000), 2, 700) // several pages
	for i := range planned.Trials {
		planned.Trials[i].Repetition = 1 + i/2%2
	}
	createRun(t, db, planned)
	r := record(t, db, planned)
	for _, trial := range planned.Trials[:1200] {
		v := speak(t, r, planned, trial)
		must(t, r.Emit(t.Context(), v.next(event.TrialQueued, nil)))
	}
	must(t, r.Close())
	agent := planned.Agents[1].ID
	all := readTrials(t, db, store.TrialFilter{RunAgentID: agent})
	var want, got []string
	for _, trial := range planned.Trials {
		if trial.Agent == 1 {
			want = append(want, trial.ID)
		}
	}
	for _, trial := range all {
		got = append(got, trial.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order of execution (-), got (+):\n%s", diff)
	}
	for _, c := range []struct {
		filter store.TrialFilter
		want   int
	}{
		{store.TrialFilter{RunAgentID: agent, Repetition: 2}, 350},
		{store.TrialFilter{RunAgentID: agent, CaseKey: "case-00003"}, 1},
		{store.TrialFilter{RunAgentID: agent, CaseKey: "case-00003", Repetition: 1}, 0},
		{store.TrialFilter{RunAgentID: agent, AllAttempts: true}, 600},
		{store.TrialFilter{RunAgentID: agent, NoResults: true}, 700},
		{store.TrialFilter{RunAgentID: agent, Statuses: []string{store.Failed, store.Queued}}, 700},
		{store.TrialFilter{RunAgentID: agent, Statuses: []string{store.Failed}}, 0},
	} {
		if got := len(readTrials(t, db, c.filter)); got != c.want {
			t.Errorf("%+v: got %d trials, want %d", c.filter, got, c.want)
		}
	}
	stop := errors.New("enough")
	if err := db.Trials(t.Context(), store.TrialFilter{RunAgentID: agent}, func(store.Trial) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("reader stopped: got %v, want its own error", err)
	}
	if err := db.Trials(t.Context(), store.TrialFilter{RunAgentID: "nope"}, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("trials of no agent: got %v, want not found", err)
	}
}
