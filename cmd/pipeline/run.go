package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/agentclash/agentclash/cmd/ci"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/evaluation"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/verdict"

	reports "github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/store"
)

// ciJob is one ci run.
type ciJob struct {
	*cli.App
	o        ciRunOptions
	file     manifestFile
	m        *ci.Manifest
	result   ci.Result
	baseline verdict.Comparand
	policy   compare.Policy
	planned  *plan.Plan // nil: no run was begun
	ran      engine.Result
	db       *store.DB
	run      store.Run
	side     verdict.Side // the candidate, when it has ended
	judged   *verdict.Judgement
}

func ciRun(ctx context.Context, a *cli.App, o ciRunOptions) error {
	file, ferr := findManifest(a, o.manifest)
	if err := o.check(a, file); err != nil {
		return err
	}
	j := &ciJob{App: a, o: o, file: file}
	j.result = ci.Result{Header: ci.NewHeader("result"), ManifestPath: file.path}
	if ferr == nil {
		enter(a, file)
	}
	j.clearArtifacts()
	status := j.outcome(ctx, ferr)
	return j.finish(context.WithoutCancel(ctx), status)
}

// outcome does the job and returns its status.
func (j *ciJob) outcome(ctx context.Context, ferr error) int {
	meta, err := j.o.metadata(j.App)
	j.result.Candidate.Metadata = meta
	if err = errors.Join(ferr, err); err != nil {
		return j.failed(err)
	}
	options, status := j.prepare(ctx)
	if status >= 0 {
		return status
	}
	timeout := fmt.Errorf("%w: the job's %v are over", engine.ErrInterrupted, j.o.timeout)
	bounded, stop := context.WithTimeoutCause(ctx, j.o.timeout, timeout)
	defer stop()
	err = evaluation.RunEvalStart(bounded, j.App, options)
	late := errors.Is(context.Cause(bounded), timeout)
	switch {
	case late && (err != nil || j.ran.Status != "completed"):
		j.problem("follow_timeout", fmt.Sprintf("the run was not done after %v", j.o.timeout), j.resume())
		return ci.StatusTimeout
	case err != nil:
		return j.failed(err)
	}
	return j.judge(ctx)
}

// prepare finds all that a run needs, and says beforehand what it could only
// refuse afterwards. The status is -1 when it may begin.
func (j *ciJob) prepare(ctx context.Context) (o evaluation.StartOptions, status int) {
	var err error
	if j.m, err = j.file.parse(); err != nil {
		return o, j.failed(err)
	}
	j.result.FailOn = j.m.Gate.FailOn
	if err := ciPaths(j.App, j.m); err != nil {
		return o, j.failed(err)
	}
	if j.result.WorkspaceID, err = j.WorkspaceName(); err != nil {
		return o, j.failed(err)
	}
	p, _, err := selector.LoadPack(ctx, j.App, j.m.Evaluation.PackRef())
	if err != nil {
		return o, j.failed(err)
	}
	if j.policy, err = ciPolicy(j.App, j.m); err != nil {
		return o, j.failed(err)
	}
	if o, err = ciOptions(ctx, j.App, j.m, j.o.record); err != nil {
		return o, j.failed(err)
	}
	var resolution ci.Resolution
	j.baseline, resolution, err = ciBaseline(ctx, j.App, j.m, p)
	j.result.Resolution = &resolution
	if err != nil {
		return o, j.failed(err)
	}
	if !resolution.Compatible {
		if !j.o.noBaseline {
			return o, j.noEvidence(j.renewal())
		}
		o.Gate, o.Until, o.PolicyFile = false, evaluation.UntilOptions{}, "" // there is nothing to decide against
	} else {
		j.result.Baseline, o.Opponent = &j.baseline.Mark, &j.baseline
	}
	o.Follow = j.o.follow
	o.Ended = func(planned *plan.Plan, result engine.Result, err error) error {
		j.planned, j.ran = planned, result
		return err
	}
	return o, -1
}

// noEvidence is a job whose baseline cannot be compared with.
func (j *ciJob) noEvidence(next string) int {
	r := j.result.Resolution
	j.result.GateVerdict = compare.InsufficientEvidence
	j.problem(r.ReasonCode, r.Reason, next)
	return j.m.Gate.VerdictStatus(compare.InsufficientEvidence)
}

// renewal says how a job that ran nothing comes to a baseline.
func (j *ciJob) renewal() string {
	if j.m.Baseline.Snapshot() == "" {
		return "agentclash ci baseline " + j.file.file
	}
	return "agentclash ci run --manifest " + j.file.file + " --no-baseline runs the agent, for a baseline to be made of it"
}

// accept says how the run becomes the baseline.
func (j *ciJob) accept() string {
	set := "agentclash baseline set " + cli.Short(j.run.ID)
	if b := j.m.Baseline; b.Snapshot() != "" {
		set += " && agentclash baseline export " + b.Snapshot() + " --pack " + j.run.Pack.Slug
	} else if b.Name != "" {
		set += " --name " + b.Name
	}
	return set + " makes this run the baseline"
}

// failed keeps an error and returns the job's status.
func (j *ciJob) failed(err error) int {
	f := cli.Classify(err)
	e := ci.Error{Code: f.Code, Message: f.Err.Error(), NextStep: f.Next}
	if list, ok := f.Details.([]view.Problem); ok {
		e.Problems = list
	}
	j.result.Errors = append(j.result.Errors, e)
	j.result.FailureReason = f.Code
	if f.Code == record.CodeMiss {
		j.result.Errors[len(j.result.Errors)-1].NextStep = j.recordAnew()
		return ci.StatusRunFailed
	}
	if f.Status == compare.InsufficientEvidence.ExitStatus() && j.m != nil { // the run was refused for it
		j.result.GateVerdict = compare.InsufficientEvidence
		return j.m.Gate.VerdictStatus(compare.InsufficientEvidence)
	}
	return ci.FailureStatus(f.Status)
}

func (j *ciJob) problem(code, message, next string) {
	j.result.Errors = append(j.result.Errors, ci.Error{Code: code, Message: message, NextStep: next})
	j.result.FailureReason = code
}

func (j *ciJob) recordAnew() string {
	return "agentclash ci run --manifest " + j.file.file + " --record asks the models again"
}

func (j *ciJob) resume() string {
	if j.planned == nil {
		return ""
	}
	return "agentclash run resume " + cli.Short(j.planned.RunID)
}

// judge is the job after its run has ended.
func (j *ciJob) judge(ctx context.Context) int {
	if undecided := j.planned.Until != nil && j.ran.Status == "failed" && j.ran.Code != ""; j.ran.Status != "completed" && !undecided {
		return j.unfinished()
	}
	if err := j.readRun(ctx); err != nil {
		return j.failed(err)
	}
	if !j.result.Resolution.Compatible {
		return j.noEvidence(j.accept())
	}
	judged := verdict.Judge(j.App, j.baseline.Side, j.side, j.policy)
	var err error
	if judged.Gate, err = verdict.KeepGate(ctx, j.App, j.baseline.Side, j.side, judged.Gate); err != nil {
		return j.failed(err)
	}
	j.judged = &judged
	j.result.ReleaseGate, j.result.GateVerdict = &judged.Gate, judged.Gate.Verdict
	if judged.Gate.Verdict != compare.Pass {
		j.result.FailureReason = judged.Gate.ReasonCode
	}
	j.result.Promotions = j.promoteFailures(ctx)
	j.result.Refresh = j.refreshBaseline()
	return j.m.Gate.VerdictStatus(judged.Gate.Verdict)
}

// unfinished is a run that did not complete.
func (j *ciJob) unfinished() int {
	status := evaluation.RunStatus(j.ran)
	code, next := j.ran.Code, ""
	switch {
	case evaluation.Missed(j.ran):
		code, next = record.CodeMiss, j.recordAnew()
	case status == cli.StatusInterrupted:
		code, next = "aborted", j.resume()
	case code == "":
		code = "run_" + j.ran.Status
		if j.ran.Status == "failed" {
			next = "agentclash run get " + cli.Short(j.planned.RunID)
		}
	}
	message := "the run is " + j.ran.Status
	if j.ran.Reason != j.ran.Status && j.ran.Reason != "" {
		message += ": " + j.ran.Reason
	}
	j.problem(code, message, next)
	if code == record.CodeMiss {
		return ci.StatusRunFailed
	}
	return ci.RunStatus(status)
}

// readRun reads back the run and its one agent.
func (j *ciJob) readRun(ctx context.Context) (err error) {
	if j.db, err = j.Stored(ctx); err != nil {
		return err
	}
	workspace, err := j.WorkspaceName()
	if err != nil {
		return err
	}
	if j.run, err = j.db.Run(ctx, workspace, j.planned.RunID); err != nil {
		return err
	}
	if len(j.ran.Agents) == 0 {
		return nil // it was cut short before it could be told how its agents did
	}
	if n := len(j.planned.Agents); n != 1 {
		return cli.Usage("the recording %s is of %d agents: name the candidate in the manifest", j.m.Evaluation.Replay, n)
	}
	if j.side, err = verdict.AgentSide(ctx, j.App, j.db, j.ran.Agents[0].RunAgentID, verdict.Explained); err == nil {
		j.result.Regressions = j.side.Regressions()
	}
	return err
}

// finish writes everything that was asked for and returns how the command ends.
func (j *ciJob) finish(ctx context.Context, status int) error {
	r := &j.result
	r.ExitCode = status
	if r.State = ci.State(r.GateVerdict); r.GateVerdict == "" || r.ReleaseGate == nil {
		r.State = ci.Errored
	}
	if j.planned != nil {
		r.Candidate.RunID, r.Candidate.RunName, r.Candidate.RunStatus = j.planned.RunID, j.planned.Name, j.ran.Status
		if len(j.planned.Agents) == 1 {
			r.Candidate.RunAgentID, r.Candidate.DeploymentName = j.planned.Agents[0].ID, j.planned.Agents[0].Label
		}
	}
	j.writeArtifacts(ctx)
	j.writeAllReports(ctx)
	if j.o.outputs {
		if err := githubOutput(j.App, "run-id", r.Candidate.RunID, "gate-verdict", string(r.GateVerdict)); err != nil {
			r.Reports = append(r.Reports, ci.Report{Kind: "github-output", Path: j.Process.Getenv("GITHUB_OUTPUT"), Error: err.Error()})
			j.Say("! %v", err)
		}
	}
	if r.ExitCode == cli.StatusOK && j.unwritten() {
		r.ExitCode = ci.StatusInfrastructure
	}
	if !j.writeResult() && r.ExitCode == cli.StatusOK {
		r.ExitCode = ci.StatusInfrastructure
	}
	if j.Output == "table" { // documents have them
		j.complain()
	}
	err := j.Print(r, func(w io.Writer, v view.Options) error {
		if j.judged != nil {
			d := j.judged.Document(j.side, j.baseline.Mark)
			d.ReleaseGate = &j.judged.Gate
			if err := view.Comparison(w, d, v); err != nil {
				return err
			}
			if err := view.RegressionResults(w, r.Regressions, v); err != nil {
				return err
			}
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		return ci.WriteResult(w, *r, v)
	})
	if r.ExitCode == cli.StatusOK && err != nil {
		return err
	}
	return cli.Verdict(r.ExitCode)
}

// complain says what went wrong, also to who wants no talk.
func (j *ciJob) complain() {
	for _, e := range j.result.Errors {
		fmt.Fprintf(j.Process.Err, "agentclash: %s\n", view.Sanitize(e.Message))
		if e.NextStep != "" {
			fmt.Fprintf(j.Process.Err, "next: %s\n", view.SanitizeLine(e.NextStep))
		}
	}
}

// jobReport is what reports say of the job.
func (j *ciJob) jobReport() *reports.Job {
	r := j.result
	job := &reports.Job{
		Manifest: r.ManifestPath, State: r.State, Verdict: string(r.GateVerdict), Reason: r.FailureReason, ExitCode: r.ExitCode,
		URL: r.Candidate.Metadata.RunURL,
	}
	if b := r.Resolution; b != nil {
		job.Baseline = b.Source
		if b.AgeDays != nil {
			job.Baseline += ", " + strconv.Itoa(int(*b.AgeDays)) + " days old"
		}
	}
	for _, e := range r.Errors {
		job.Errors = append(job.Errors, e.Message)
	}
	if p := r.Promotions; p != nil {
		job.Promoted = append(append(job.Promoted, p.Created...), p.Existing...)
	}
	return job
}
