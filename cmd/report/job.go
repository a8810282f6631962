package report

import (
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/cmd/view"
)

// Job is what a CI job adds to the report on its run. A run without an id is one
// that the job never came to.
type Job struct {
	Manifest string // its path from the repository's root
	State    string // skipped, passed, failed, warning or errored
	Verdict  string // of the gate, "" for none
	Reason   string // a code
	ExitCode int
	Baseline string // what the candidate was compared with
	URL      string // of the job
	Errors   []string
	Promoted []view.Promotion // new regression cases, and those that were there
}

// about is what a comment is about: another one about the same takes its place.
func (r Run) about() string {
	if r.Job != nil {
		return "ci\x00" + r.Job.Manifest
	}
	return r.Pack.Slug + "\x00" + r.InputSet
}

// CommentMark is the hidden first line of the comment of a job with this manifest.
func CommentMark(manifest string) string { return mark(Run{Job: &Job{Manifest: manifest}}.about()) }

// job writes the rows that a job adds to the table of fields.
func (p *page) job(j *Job) {
	if j == nil {
		return
	}
	p.row("Manifest", cell(j.Manifest))
	if j.State != "skipped" {
		p.row("Exit status", strconv.Itoa(j.ExitCode))
	}
	for _, row := range [][2]string{{"Verdict", j.Verdict}, {"Reason", j.Reason}, {"Baseline", j.Baseline}} {
		if row[1] != "" {
			p.row(row[0], cell(row[1]))
		}
	}
	if strings.HasPrefix(j.URL, "https://") && strings.Trim(j.URL, urlText) == "" {
		p.row("Job", "[log]("+j.URL+")")
	}
}

// urlText are the characters of an address that can end no link.
const urlText = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/"

func (p *page) errors(j *Job, l limits) {
	if j == nil || len(j.Errors) == 0 {
		return
	}
	p.line("\n### What went wrong\n")
	for _, text := range j.Errors[:min(len(j.Errors), l.rows)] {
		p.line("- %s", inMarkdown(text, maxError))
	}
}

// maxError is how much of an error is shown, in characters: one of a manifest
// lists all that is wrong with it.
const maxError = 1000

func (p *page) promotions(j *Job, l limits) {
	if j == nil || len(j.Promoted) == 0 {
		return
	}
	p.line("\n### Regression cases (%d)", len(j.Promoted))
	p.head("Case", "State", "New", "Failure")
	for i, c := range j.Promoted {
		if i == l.rows {
			p.line("\n… and %d more", len(j.Promoted)-i)
			return
		}
		p.row(cell(c.Suite+"/"+c.CaseID), cell(c.Status), map[bool]string{true: "yes", false: "no"}[c.Created], inMarkdown(c.Title, maxWhy))
	}
}
