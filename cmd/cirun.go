package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/agentclash/agentclash/cmd/ci"
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
	*app
	o        ciRunOptions
	file     manifestFile
	m        *ci.Manifest
	result   ci.Result
	baseline comparand
	policy   compare.Policy
	planned  *plan.Plan // nil: no run was begun
	ran      engine.Result
	db       *store.DB
	run      store.Run
	side     side // the candidate, when it has ended
	judged   *judgement
}

func (a *app) ciRun(ctx context.Context, o ciRunOptions) error {
	file, ferr := a.findManifest(o.manifest)
	if err := o.check(a, file); err != nil {
		return err
	}
	j := &ciJob{app: a, o: o, file: file}
	j.result = ci.Result{Header: ci.NewHeader("result"), ManifestPath: file.path}
	if ferr == nil {
		a.enter(file)
	}
	j.clearArtifacts()
	status := j.outcome(ctx, ferr)
	return j.finish(context.WithoutCancel(ctx), status)
}

// outcome does the job and returns its status.
func (j *ciJob) outcome(ctx context.Context, ferr error) int {
	meta, err := j.o.metadata(j.app)
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
	err = runEvalStart(bounded, j.app, options)
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
func (j *ciJob) prepare(ctx context.Context) (o startOptions, status int) {
	var err error
	if j.m, err = j.file.parse(); err != nil {
		return o, j.failed(err)
	}
	j.result.FailOn = j.m.Gate.FailOn
	if err := j.app.ciPaths(j.m); err != nil {
		return o, j.failed(err)
	}
	if j.result.WorkspaceID, err = j.workspaceName(); err != nil {
		return o, j.failed(err)
	}
	p, _, err := j.app.loadPack(ctx, j.m.Evaluation.PackRef())
	if err != nil {
		return o, j.failed(err)
	}
	if j.policy, err = j.app.ciPolicy(j.m); err != nil {
		return o, j.failed(err)
	}
	if o, err = j.app.ciOptions(ctx, j.m, j.o.record); err != nil {
		return o, j.failed(err)
	}
	var resolution ci.Resolution
	j.baseline, resolution, err = j.app.ciBaseline(ctx, j.m, p)
	j.result.Resolution = &resolution
	if err != nil {
		return o, j.failed(err)
	}
	if !resolution.Compatible {
		if !j.o.noBaseline {
			return o, j.noEvidence(j.renewal())
		}
		o.gate, o.until, o.policyFile = false, untilOptions{}, "" // there is nothing to decide against
	} else {
		j.result.Baseline, o.opponent = &j.baseline.mark, &j.baseline
	}
	o.follow = j.o.follow
	o.ended = func(planned *plan.Plan, result engine.Result, err error) error {
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
	set := "agentclash baseline set " + short(j.run.ID)
	if b := j.m.Baseline; b.Snapshot() != "" {
		set += " && agentclash baseline export " + b.Snapshot() + " --pack " + j.run.Pack.Slug
	} else if b.Name != "" {
		set += " --name " + b.Name
	}
	return set + " makes this run the baseline"
}

// failed keeps an error and returns the job's status.
func (j *ciJob) failed(err error) int {
	f := classify(err)
	e := ci.Error{Code: f.code, Message: f.err.Error(), NextStep: f.next}
	if list, ok := f.details.([]view.Problem); ok {
		e.Problems = list
	}
	j.result.Errors = append(j.result.Errors, e)
	j.result.FailureReason = f.code
	if f.code == record.CodeMiss {
		j.result.Errors[len(j.result.Errors)-1].NextStep = j.recordAnew()
		return ci.StatusRunFailed
	}
	if f.status == compare.InsufficientEvidence.ExitStatus() && j.m != nil { // the run was refused for it
		j.result.GateVerdict = compare.InsufficientEvidence
		return j.m.Gate.VerdictStatus(compare.InsufficientEvidence)
	}
	return ci.FailureStatus(f.status)
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
	return "agentclash run resume " + short(j.planned.RunID)
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
	judged := j.app.judge(j.baseline.side, j.side, j.policy)
	var err error
	if judged.gate, err = j.app.keepGate(ctx, j.baseline.side, j.side, judged.gate); err != nil {
		return j.failed(err)
	}
	j.judged = &judged
	j.result.ReleaseGate, j.result.GateVerdict = &judged.gate, judged.gate.Verdict
	if judged.gate.Verdict != compare.Pass {
		j.result.FailureReason = judged.gate.ReasonCode
	}
	j.result.Promotions = j.promoteFailures(ctx)
	j.result.Refresh = j.refreshBaseline()
	return j.m.Gate.VerdictStatus(judged.gate.Verdict)
}

// unfinished is a run that did not complete.
func (j *ciJob) unfinished() int {
	status := runStatus(j.ran)
	code, next := j.ran.Code, ""
	switch {
	case missed(j.ran):
		code, next = record.CodeMiss, j.recordAnew()
	case status == statusInterrupted:
		code, next = "aborted", j.resume()
	case code == "":
		code = "run_" + j.ran.Status
		if j.ran.Status == "failed" {
			next = "agentclash run get " + short(j.planned.RunID)
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
	if j.db, err = j.stored(ctx); err != nil {
		return err
	}
	workspace, err := j.workspaceName()
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
		return usage("the recording %s is of %d agents: name the candidate in the manifest", j.m.Evaluation.Replay, n)
	}
	j.side, err = j.app.agentSide(ctx, j.db, j.ran.Agents[0].RunAgentID, explained)
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
		if err := j.app.githubOutput("run-id", r.Candidate.RunID, "gate-verdict", string(r.GateVerdict)); err != nil {
			r.Reports = append(r.Reports, ci.Report{Kind: "github-output", Path: j.p.Getenv("GITHUB_OUTPUT"), Error: err.Error()})
			j.say("! %v", err)
		}
	}
	if r.ExitCode == statusOK && j.unwritten() {
		r.ExitCode = ci.StatusInfrastructure
	}
	if !j.writeResult() && r.ExitCode == statusOK {
		r.ExitCode = ci.StatusInfrastructure
	}
	if j.output == "table" { // documents have them
		j.complain()
	}
	err := j.print(r, func(w io.Writer, v view.Options) error {
		if j.judged != nil {
			d := j.judged.document(j.side, j.baseline.mark)
			d.ReleaseGate = &j.judged.gate
			if err := view.Comparison(w, d, v); err != nil {
				return err
			}
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		return ci.WriteResult(w, *r, v)
	})
	if r.ExitCode == statusOK && err != nil {
		return err
	}
	return verdict(r.ExitCode)
}

// complain says what went wrong, also to who wants no talk.
func (j *ciJob) complain() {
	for _, e := range j.result.Errors {
		fmt.Fprintf(j.p.Err, "agentclash: %s\n", view.Sanitize(e.Message))
		if e.NextStep != "" {
			fmt.Fprintf(j.p.Err, "next: %s\n", view.SanitizeLine(e.NextStep))
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
