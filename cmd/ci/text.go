package ci

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/cmd/view"
)

// WriteDecision writes whether a change wants an evaluation, for people.
func WriteDecision(w io.Writer, d Decision, o view.Options) error {
	var b view.Details
	b.Add("Evaluate", map[bool]string{true: "yes", false: "no"}[d.ShouldRun])
	b.Add("Reason", d.Reason)
	b.Add("Changed files", strconv.Itoa(d.ChangedFiles))
	const shown = 10
	for i, p := range d.MatchedPaths {
		if i == shown {
			b.Add("  and", fmt.Sprintf("%d more", len(d.MatchedPaths)-shown))
			break
		}
		b.Add("  matched", p)
	}
	for _, l := range d.MatchedLabels {
		b.Add("  label", l)
	}
	return b.Write(w, o)
}

// WriteValidation writes what was found in a manifest and in what it names.
func WriteValidation(w io.Writer, v Validation, o view.Options) error {
	for _, p := range v.Errors {
		if _, err := fmt.Fprintf(w, "%s:%d:%d: %s: %s\n", view.SanitizeLine(v.Path), p.Line, p.Column, view.SanitizeLine(p.Field), view.Sanitize(p.Message)); err != nil {
			return err
		}
	}
	for _, c := range v.Checks {
		if c.Valid {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s: %s: %s\n", view.SanitizeLine(v.Path), view.SanitizeLine(c.Field), view.Sanitize(c.Message)); err != nil {
			return err
		}
	}
	return nil
}

// WriteResolution writes what a baseline is.
func WriteResolution(w io.Writer, r Resolution, o view.Options) error {
	b := resolution(r)
	b.Add("Refresh", r.Refresh)
	return b.Write(w, o)
}

// WriteResult writes how a job ended.
func WriteResult(w io.Writer, r Result, o view.Options) error {
	var b view.Details
	b.Status("Verdict", cmp.Or(string(r.GateVerdict), r.State))
	if r.FailureReason != "" {
		b.Add("Reason", r.FailureReason)
	}
	if g := r.ReleaseGate; g != nil {
		b.Add("Summary", g.Summary)
	}
	if r.Candidate.RunID != "" {
		b.Add("Candidate", r.Candidate.DeploymentName+" in run "+r.Candidate.RunName+" ("+o.ID(r.Candidate.RunID)+")")
		b.Status("Run", r.Candidate.RunStatus)
	}
	if r.Resolution != nil {
		b = append(b, resolution(*r.Resolution)...)
	}
	if p := r.Promotions; p != nil {
		for _, c := range p.Created {
			b.Add("Promoted", c.Suite+"/"+c.CaseID+" ("+c.Status+") in "+c.File)
		}
		for _, c := range p.Existing {
			b.Add("Known failure", c.Suite+"/"+c.CaseID+" ("+c.Status+")")
		}
	}
	if f := r.Refresh; f != nil && f.Status != RefreshSkipped {
		b.Add("Baseline file", strings.TrimSpace(f.Status+" "+f.File))
	}
	b.Add("Exit status", strconv.Itoa(r.ExitCode))
	return b.Write(w, o)
}

func resolution(r Resolution) (b view.Details) {
	b.Add("Baseline", r.Source+" ("+r.Strategy+")")
	if r.RunName != "" {
		b.Add("  run", r.RunAgentLabel+" in run "+r.RunName)
	}
	if r.AgeDays != nil {
		age := fmt.Sprintf("%.0f days", *r.AgeDays)
		if r.MaxAgeDays != nil {
			age += fmt.Sprintf(" (at most %v)", *r.MaxAgeDays)
		}
		b.Add("  age", age)
	}
	if r.Compatible {
		b.Add("  shared cases", fmt.Sprintf("%d of %d", r.Shared, r.Cases))
		return b
	}
	b.Add("  cannot be used", r.Reason)
	return b
}
