package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/ci"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/regressions"
	"github.com/agentclash/agentclash/cmd/runs"
	"github.com/agentclash/agentclash/cmd/verdict"

	reports "github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/scoring/review"
	"github.com/agentclash/agentclash/store"
)

// proposedBaseline is written into --artifact-dir when baseline.refresh asks for it.
const proposedBaseline = "baseline.proposed.json"

// clearArtifacts removes what an earlier job has left: nobody should take it for
// this one's. Files of other programs stay.
func (j *ciJob) clearArtifacts() {
	if j.o.artifactDir == "" {
		return
	}
	for _, name := range []string{"run.json", "scorecard.json", "comparison.json", "gate.json", "result.json", proposedBaseline} {
		path := j.Path(filepath.Join(j.o.artifactDir, name))
		head, err := firstBytes(path, 200)
		if err == nil && (name == proposedBaseline || bytes.Contains(head, []byte(`"kind": "agentclash.ci.`))) {
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			j.Say("! %v", err)
		}
	}
}

func firstBytes(path string, n int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, n))
}

// keep writes a file and remembers that, or why not.
func (j *ciJob) keep(kind, path string, write func(io.Writer) error) bool {
	report := ci.Report{Kind: kind, Path: filepath.ToSlash(path)}
	var err error
	if path == cli.StdoutPath {
		err = write(j.Process.Out)
	} else {
		err = j.WriteOutput(path, 0o644, write)
	}
	if err != nil {
		report.Error = err.Error()
		j.Say("! write the report %s=%s: %v", kind, path, err)
	}
	j.result.Reports = append(j.result.Reports, report)
	return err == nil
}

// unwritten says whether a file that was asked for is not there.
func (j *ciJob) unwritten() bool {
	return slices.ContainsFunc(j.result.Reports, func(r ci.Report) bool { return r.Error != "" })
}

func asJSON(v any) func(io.Writer) error {
	return func(w io.Writer) error { return view.JSON(w, v) }
}

// writeArtifacts writes what there is of the run, its scorecard, its comparison
// and its gate.
func (j *ciJob) writeArtifacts(ctx context.Context) {
	if j.o.artifactDir == "" || j.judged == nil {
		return
	}
	at := func(name string) string { return filepath.Join(j.o.artifactDir, name) }
	run, err := runs.ViewPlannedRun(ctx, j.App, j.db, j.run)
	if err == nil {
		j.keep("run", at("run.json"), asJSON(struct {
			ci.Header
			Run view.Run `json:"run"`
		}{ci.NewHeader("run"), run}))
	} else {
		j.keep("run", at("run.json"), func(io.Writer) error { return err })
	}
	card, err := j.side.Scorecard()
	if err == nil {
		j.keep("scorecard", at("scorecard.json"), asJSON(struct {
			ci.Header
			Scorecard view.Scorecard `json:"scorecard"`
		}{ci.NewHeader("scorecard"), card}))
	} else {
		j.keep("scorecard", at("scorecard.json"), func(io.Writer) error { return err })
	}
	j.keep("comparison", at("comparison.json"), asJSON(struct {
		ci.Header
		Comparison compare.Comparison `json:"comparison"`
	}{ci.NewHeader("comparison"), j.judged.Comparison}))
	j.keep("gate", at("gate.json"), asJSON(struct {
		ci.Header
		Gate compare.GateResult `json:"release_gate"`
	}{ci.NewHeader("gate"), j.judged.Gate}))
}

// writeAllReports writes the reports and summaries.
func (j *ciJob) writeAllReports(ctx context.Context) {
	r := j.report(ctx)
	for _, f := range j.o.reports.Files {
		if j.keep(f.Kind, f.Path, func(w io.Writer) error { return reports.Write(w, f.Kind, r) }) && f.Path != cli.StdoutPath {
			j.Say("✓ wrote %s", f.Path)
		}
	}
	if j.o.summaryFile != "" {
		j.keep("summary", j.o.summaryFile, func(w io.Writer) error { return reports.Write(w, reports.Markdown, r) })
	}
	if step := j.Process.Getenv("GITHUB_STEP_SUMMARY"); j.o.stepSummary && step != "" {
		if err := appendTo(step, func(w io.Writer) error { return reports.Write(w, reports.Markdown, r) }); err != nil {
			j.Say("! the step summary is not written: %v", err)
		}
	}
}

// appendTo adds to a file what is whole, in one write.
func appendTo(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	return errors.Join(err, f.Close())
}

// githubOutput adds outputs to the file that GITHUB_OUTPUT names. Values are words
// of this program's own, on one line.
func githubOutput(a *cli.App, pairs ...string) error {
	file := a.Process.Getenv("GITHUB_OUTPUT")
	if file == "" {
		return cli.Usage("--github-output: GITHUB_OUTPUT names no file")
	}
	return appendTo(file, func(w io.Writer) error {
		for i := 0; i < len(pairs); i += 2 {
			if _, err := io.WriteString(w, pairs[i]+"="+view.SanitizeLine(pairs[i+1])+"\n"); err != nil {
				return err
			}
		}
		return nil
	})
}

const githubOutputUsage = "add outputs to the file that GITHUB_OUTPUT names"

// report is what reports are made of: of a job that came to no run, that it did
// not.
func (j *ciJob) report(ctx context.Context) reports.Run {
	r := reports.Run{Version: cli.ReadBuildInfo().Version, Name: j.file.path, Status: "not_started"}
	for _, e := range j.result.Errors {
		r.Reason = strings.TrimPrefix(r.Reason+"; "+e.Message, "; ")
	}
	if j.planned != nil && j.run.ID == "" { // it did not complete, and was not read so far
		if err := j.readRun(ctx); err != nil {
			j.Say("! the reports say nothing of the run: %v", err)
		}
	}
	if j.run.ID != "" {
		r = verdict.ReportRun(j.App, j.run)
		if j.side.Agent.ID != "" {
			lane := verdict.ReportLane(ctx, j.db, j.side.Agent)
			if j.judged != nil {
				lane.Baseline, lane.Comparison, lane.Gate = &j.baseline.Mark, &j.judged.Comparison, &j.judged.Gate
			}
			r.Agents = []reports.Agent{lane}
		}
	}
	if j.m != nil && ci.LooksLikePath(j.m.Evaluation.PackRef()) {
		r.PackFile = j.m.Evaluation.PackRef()
	}
	r.Job = j.jobReport()
	return r
}

// writeResult writes the result, last of all: it says what became of the rest.
func (j *ciJob) writeResult() (ok bool) {
	ok = true
	for _, path := range []string{j.o.resultFile, j.artifactResult()} {
		if path == "" {
			continue
		}
		if err := j.WriteOutput(path, 0o644, asJSON(j.result)); err != nil {
			j.Say("! write the result %s: %v", path, err)
			ok = false
		}
	}
	return ok
}

func (j *ciJob) artifactResult() string {
	if j.o.artifactDir == "" {
		return ""
	}
	return filepath.Join(j.o.artifactDir, "result.json")
}

// maxPromotions is how many cases one job makes: whoever breaks everything needs no
// list of it.
const maxPromotions = 100

// promoteFailures makes regression cases of the failures that the gate refused the
// candidate for. Whatever comes of it, the verdict stands.
func (j *ciJob) promoteFailures(ctx context.Context) *ci.Promotions {
	if j.judged.Gate.Verdict != compare.Fail {
		return nil
	}
	p := &ci.Promotions{Policy: j.m.Regressions.PromoteFailures}
	var blocked string
	if p.CaseStatus, blocked = j.m.Regressions.PromotionStatus(j.result.Candidate.Metadata); blocked != "" {
		p.Blocked = append(p.Blocked, ci.Unpromoted{Reason: blocked})
		return p
	}
	reviewer := regressions.FailureReviewer{Db: j.db, Packs: map[string]*pack.Pack{}}
	items, err := reviewer.Review(ctx, j.run, nil)
	if err != nil {
		p.Errors = append(p.Errors, ci.Unpromoted{Reason: "failure_review", Message: err.Error()})
		return p
	}
	if len(items) == 0 {
		p.Skipped = append(p.Skipped, ci.Unpromoted{Reason: ci.ReasonNoFailures})
	}
	seen := map[string]bool{}
	for _, i := range items {
		skipped := j.unpromotable(i, seen)
		if skipped == nil && len(p.Created)+len(p.Existing)+len(p.Errors) == maxPromotions {
			skipped = &ci.Unpromoted{CaseKey: i.CaseKey, Reason: ci.ReasonTooMany}
		}
		if skipped != nil {
			p.Skipped = append(p.Skipped, *skipped)
			continue
		}
		seen[i.ClusterKey], seen["case\x00"+i.CaseKey] = true, true
		wish := regressions.Promotion{Agent: i.Agent, Status: p.CaseStatus}
		if suites := j.m.Evaluation.RegressionSuites; len(suites) > 0 {
			wish.Suite = suites[0]
		}
		f, err := regressions.FailureOf(ctx, j.App, j.db, j.run, reviewer.Packs[j.run.PackID], i)
		var made view.Promotion
		if err == nil {
			made, err = regressions.PromoteOne(ctx, j.App, j.db, j.run, wish, f)
		}
		switch {
		case err != nil:
			p.Errors = append(p.Errors, ci.Unpromoted{CaseKey: i.CaseKey, Reason: cli.Classify(err).Code, Message: err.Error()})
			j.Say("! promote %s: %v", i.CaseKey, err)
		case made.Created:
			p.Created = append(p.Created, made)
		default:
			p.Existing = append(p.Existing, made)
		}
	}
	return p
}

// unpromotable says why a failure becomes no case, nil when it may. A case that the
// baseline failed as well is no regression; nor is a second failure of one case, or
// of one cluster.
func (j *ciJob) unpromotable(i review.Item, seen map[string]bool) *ci.Unpromoted {
	reason := ""
	switch {
	case i.Outcome != string(scoring.OutcomeFailed) || len(i.PromotionModes) == 0:
		reason = ci.ReasonNotPromotable
	case j.failedBefore(i.CaseKey):
		reason = ci.ReasonFailedOnBaseline
	case seen[i.ClusterKey], seen["case\x00"+i.CaseKey]:
		reason = ci.ReasonSameFailure
	default:
		return nil
	}
	return &ci.Unpromoted{CaseKey: i.CaseKey, Reason: reason}
}

// failedBefore says whether the baseline did not pass a case.
func (j *ciJob) failedBefore(key string) bool {
	for _, c := range j.judged.Baseline.Cases {
		if c.CaseKey == key {
			return c.Valid > 0 && float64(c.Passed)/float64(c.Valid) < j.judged.Candidate.MinPassRate
		}
	}
	return false
}

// refreshBaseline writes the candidate where the baseline was, or beside the
// artifacts, when the manifest and the job's branch permit it.
func (j *ciJob) refreshBaseline() *ci.Refresh {
	r := j.m.Baseline.Plan(j.judged.Gate.Verdict, j.result.Candidate.Metadata)
	switch r.Status {
	case ci.RefreshSkipped:
		return &r
	case ci.RefreshProposed:
		if j.o.artifactDir == "" {
			r.Status, r.Reason = ci.RefreshSkipped, "no_artifact_dir"
			return &r
		}
		r.File = filepath.Join(j.o.artifactDir, proposedBaseline)
	}
	document, err := snapshotBytes(j.side, cmp.Or(j.baseline.Mark.Name, store.DefaultBaseline))
	if err == nil {
		err = j.WriteOutputBytes(r.File, document)
	}
	if err != nil {
		r.Status, r.Reason = ci.RefreshFailed, err.Error()
		j.result.Reports = append(j.result.Reports, ci.Report{Kind: "baseline", Path: filepath.ToSlash(r.File), Error: err.Error()})
		j.Say("! write the baseline %s: %v", r.File, err)
	}
	return &r
}
