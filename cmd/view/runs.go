package view

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

// Run is a run as `run list` and `run get` print it. What only the plan knows
// (sandbox, cases, repetitions, seed) is left out of lists.
type Run struct {
	RunID       string      `json:"run_id"`
	Name        string      `json:"name"`
	Status      string      `json:"status"`
	Reason      string      `json:"reason"`
	WorkspaceID string      `json:"workspace_id"`
	Pack        Pack        `json:"pack"`
	InputSet    string      `json:"input_set"`
	Mode        string      `json:"execution_mode"`
	Sandbox     string      `json:"sandbox,omitempty"`
	Cases       int         `json:"cases,omitempty"`
	Repetitions int         `json:"repetitions,omitempty"`
	Seed        int64       `json:"seed,omitempty"`
	Recording   *Recording  `json:"recording,omitempty"`
	Cache       bool        `json:"cache,omitempty"`
	Shard       string      `json:"shard,omitempty"` // the part of the cases that the run has
	MergedFrom  []MergedRun `json:"merged_from,omitempty"`
	Session     string      `json:"session,omitempty"` // the name of the session that the run is in
	// Coverage is how the run did on regression cases; left out of lists.
	Coverage   *RegressionCoverage `json:"regression_coverage,omitempty"`
	Agents     List[RunAgent]      `json:"agents"`
	CreatedAt  time.Time           `json:"created_at"`
	StartedAt  *time.Time          `json:"started_at"`
	FinishedAt *time.Time          `json:"finished_at"`
}

// RegressionCoverage counts the cases of regression suites that a run has.
type RegressionCoverage struct {
	Suites         List[SuiteCoverage] `json:"suites"`
	UnmatchedCases int                 `json:"unmatched_cases"` // of the run, that are in no suite
}

// SuiteCoverage is how the cases of one suite did. What neither passed nor failed
// has no valid trial.
type SuiteCoverage struct {
	ID        string `json:"id"` // a suite's name is its id
	Name      string `json:"name"`
	CaseCount int    `json:"case_count"`
	PassCount int    `json:"pass_count"`
	FailCount int    `json:"fail_count"`
}

// MergedRun is a shard that a run was put together from.
type MergedRun struct {
	RunID string `json:"run_id"`
	Name  string `json:"name"`
	Shard string `json:"shard"`
	Cases int    `json:"cases"`
}

// Recording is what a run recorded, or played back.
type Recording struct {
	Mode   string `json:"mode"` // record or replay
	Dir    string `json:"dir"`
	Digest string `json:"digest,omitempty"` // of what was played back
}

// RunAgent is one lane of a run. The trial counts are those of the deciding
// attempts.
type RunAgent struct {
	RunAgentID    string             `json:"run_agent_id"`
	Label         string             `json:"label"`
	LaneIndex     int                `json:"lane_index"`
	Model         string             `json:"model"` // provider/model
	Status        string             `json:"status"`
	Reason        string             `json:"reason"`
	Trials        int                `json:"trials"`
	PassedTrials  int                `json:"passed_trials"`
	FailedTrials  int                `json:"failed_trials"`
	InvalidTrials int                `json:"invalid_trials"`
	InvalidCauses List[InvalidCause] `json:"invalid_causes"`
	StartedAt     *time.Time         `json:"started_at"`
	FinishedAt    *time.Time         `json:"finished_at"`
}

// Page is one page of a list.
type Page[T any] struct {
	Items   List[T] `json:"items"`
	Total   int     `json:"total"`
	Limit   int     `json:"limit"`
	Offset  int     `json:"offset"`
	HasMore bool    `json:"has_more"`
}

// RunList writes one row a run. The hint that there are more is talk and
// belongs to the caller.
func RunList(w io.Writer, page Page[Run], o Options) error {
	t := Table{Columns: []Column{
		whole("ID"), left("NAME"), whole("STATUS"), spare(left("PACK")), spare(left("MODE")), right("AGENTS"),
		right("PASSED"), right("FAILED"), right("INVALID"), whole("CREATED"),
	}}
	for _, r := range page.Items {
		var passed, failed, invalid int
		for _, a := range r.Agents {
			passed, failed, invalid = passed+a.PassedTrials, failed+a.FailedTrials, invalid+a.InvalidTrials
		}
		t.Add(Text(o.ID(r.RunID)), Text(r.Name), Status(r.Status), Text(r.Pack.String()), Text(r.Mode),
			Text(strconv.Itoa(len(r.Agents))), Text(strconv.Itoa(passed)), Text(strconv.Itoa(failed)),
			invalidCell(invalid), Text(o.Time(r.CreatedAt)))
	}
	return t.Write(w, o)
}

// RunDetails writes one run and its agents.
func RunDetails(w io.Writer, r Run, o Options) error {
	p := newPrinter(w, o)
	var b Details
	b.Add("ID", SanitizeLine(r.RunID))
	b.Add("Name", r.Name)
	b.Status("Status", r.Status)
	if r.Reason != "" {
		b.Add("Reason", r.Reason)
	}
	b.Add("Workspace", r.WorkspaceID)
	b.Add("Pack", r.Pack.String())
	b.Add("Input set", r.InputSet)
	b.Add("Execution mode", r.Mode)
	b.Add("Sandbox", r.Sandbox)
	if r.Shard != "" {
		b.Add("Shard", r.Shard)
	}
	b.Add("Cases", strconv.Itoa(r.Cases))
	b.Add("Repetitions", strconv.Itoa(r.Repetitions))
	if r.Coverage != nil {
		for _, s := range r.Coverage.Suites {
			b.Add("Regression suite", fmt.Sprintf("%s: %d of %s passed, %d failed", s.Name, s.PassCount, count(s.CaseCount, "case"), s.FailCount))
		}
	}
	b.Add("Seed", strconv.FormatInt(r.Seed, 10))
	switch rec := r.Recording; {
	case rec != nil && rec.Digest != "":
		b.Add("Replay of", rec.Dir+" ("+shortDigest(rec.Digest, o)+")")
	case rec != nil:
		b.Add("Recorded in", rec.Dir)
	}
	if r.Cache {
		b.Add("Cache", cacheNote)
	}
	for _, m := range r.MergedFrom {
		b.Add("Merged from", m.Name+" ("+o.ID(m.RunID)+"), shard "+m.Shard+", "+count(m.Cases, "case"))
	}
	if r.Session != "" {
		b.Add("Session", r.Session)
	}
	b.Add("Created", o.Time(r.CreatedAt))
	b.Add("Started", o.timePtr(r.StartedAt))
	b.Add("Finished", o.timePtr(r.FinishedAt))
	p.details(b)
	p.blank()
	p.runAgents(r.Agents)
	return p.flush()
}

// RunAgents writes the lanes of a run.
func RunAgents(w io.Writer, agents List[RunAgent], o Options) error {
	p := newPrinter(w, o)
	p.runAgents(agents)
	return p.flush()
}

func (p *printer) runAgents(agents []RunAgent) {
	t := Table{Columns: []Column{
		whole("ID"), left("LABEL"), left("MODEL"), whole("STATUS"), last(right("PASSED")), last(right("FAILED")),
		last(right("INVALID")), spare(whole("STARTED")), spare(whole("FINISHED")),
	}}
	invalid := make([]labelled, len(agents))
	for i, a := range agents {
		t.Add(Text(p.o.ID(a.RunAgentID)), Text(a.Label), Text(a.Model), Status(a.Status),
			Text(strconv.Itoa(a.PassedTrials)), Text(strconv.Itoa(a.FailedTrials)), invalidCell(a.InvalidTrials),
			Text(p.o.timePtr(a.StartedAt)), Text(p.o.timePtr(a.FinishedAt)))
		invalid[i] = labelled{a.Label, a.InvalidCauses}
	}
	p.table(&t)
	for _, a := range agents {
		p.reason(a.Label, a.Status, a.Reason)
	}
	p.invalidTable(invalid)
}
