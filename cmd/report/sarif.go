package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

// Rule is a kind of check, for documents that list them.
type Rule struct{ ID, About string }

// maxSARIF is how many results a document may hold: GitHub refuses more.
const maxSARIF = 25_000

// Validation writes a validation as a SARIF 2.1.0 document, one rule a kind of
// check.
func Validation(w io.Writer, d view.ValidateDocument, rules []Rule, version string) error {
	run := newSARIF(rules, version)
	for _, f := range d.Files {
		run.add(f, "error", f.Errors)
		run.add(f, "warning", f.Warnings)
	}
	return run.write(w)
}

func newSARIF(rules []Rule, version string) *sarifRun {
	run := &sarifRun{Results: []sarifResult{}, index: map[string]int{}}
	run.Tool.Driver = sarifDriver{
		Name: "agentclash", Version: version, InformationURI: "https://github.com/agentclash/agentclash", Rules: []sarifRule{},
	}
	for _, r := range rules {
		run.rule(r)
	}
	return run
}

// rule is the index of a rule, which is added when it is new.
func (r *sarifRun) rule(rule Rule) int {
	i, known := r.index[rule.ID]
	if !known {
		d := &r.Tool.Driver
		i, r.index[rule.ID] = len(d.Rules), len(d.Rules)
		d.Rules = append(d.Rules, sarifRule{rule.ID, sarifText{rule.About}})
	}
	return i
}

func (r *sarifRun) write(w io.Writer) error {
	return view.JSON(w, sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{*r},
	})
}

// writeSARIF writes each trial that did not pass, and each gate that does not,
// as a result. Only a run's own trouble is kept in memory, and 25,000 results at
// most, failures first come.
func writeSARIF(w io.Writer, r Run) error {
	run := newSARIF(nil, r.Version)
	if !r.completed() {
		run.result(Rule{"run/" + r.Status, "a run that did not complete"}, "error", r.ending(), r, "run", 0)
	}
	for _, a := range r.Agents {
		if a.Gate != nil && a.Gate.Verdict != compare.Pass {
			run.gate(r, a)
		}
		err := a.each(func(t view.Trial) error {
			if len(run.Results) == maxSARIF {
				return errEnough
			}
			if t.Outcome != scoring.OutcomePassed {
				run.trial(r, a, t)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return run.write(w)
}

func (r *sarifRun) gate(of Run, a Agent) {
	level := "error"
	if a.Gate.Verdict == compare.Warn {
		level = "warning"
	}
	rule := Rule{"gate/" + a.Gate.ReasonCode, "the release gate says " + string(a.Gate.Verdict)}
	r.result(rule, level, a.Label+": "+a.Gate.Summary, of, a.Label, 0)
}

func (r *sarifRun) trial(of Run, a Agent, t view.Trial) {
	level, rule := "error", Rule{"failed/" + code(t), "a trial that the agent failed"}
	if t.Outcome != scoring.OutcomeFailed {
		level, rule = "warning", Rule{string(cmp.Or(t.Outcome, "unfinished")) + "/" + code(t), "a trial that says nothing about the agent"}
	}
	lines := append([]string{a.Label + " on " + name(t) + ": " + string(t.Outcome) + ": " + t.Why()}, unmet(t)...)
	r.result(rule, level, strings.Join(lines, "\n"), of, a.Label+"/"+name(t), of.CaseLines[t.CaseKey])
}

// maxSARIFText bounds the message of one result, in bytes.
const maxSARIFText = 4 << 10

// result adds a result at a line of the pack's file, 0 where that is not known.
func (r *sarifRun) result(rule Rule, level, text string, of Run, what string, line int) {
	var at sarifLocation
	at.Physical = physical(of.PackFile, line)
	at.Logical = []sarifName{{of.Pack.Slug + "/" + view.SanitizeLine(what)}}
	sum := sha256.Sum256([]byte(strings.Join([]string{of.Pack.Slug, of.InputSet, what, rule.ID}, "\x00")))
	r.Results = append(r.Results, sarifResult{
		RuleID: rule.ID, RuleIndex: r.rule(rule), Level: level, Message: sarifText{clip(view.Sanitize(text), maxSARIFText)},
		Locations: []sarifLocation{at}, Fingerprints: map[string]string{"agentclash/v1": hex.EncodeToString(sum[:16])},
	})
}

// physical is a line of a pack's file, the first one for what belongs to the pack
// as a whole; nil when the file is not known.
func physical(file string, line int) *sarifPhysical {
	if file == "" || file == "-" {
		return nil
	}
	return &sarifPhysical{Artifact: sarifArtifact{fileURI(file)}, Region: sarifRegion{max(line, 1), 1}}
}

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Results []sarifResult `json:"results"`

	index map[string]int // of the rules
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version,omitempty"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
	// Fingerprints tell a result of the next run that is the same.
	Fingerprints map[string]string `json:"partialFingerprints,omitempty"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifName    `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	Line   int `json:"startLine"`
	Column int `json:"startColumn"`
}

type sarifName struct {
	Name string `json:"fullyQualifiedName"`
}

func (r *sarifRun) add(f view.ValidatedFile, level string, problems []view.Problem) {
	for _, p := range problems {
		if len(r.Results) == maxSARIF {
			return
		}
		var at sarifLocation
		at.Physical = &sarifPhysical{sarifArtifact{fileURI(f.File)}, sarifRegion{max(p.Line, 1), max(p.Column, 1)}}
		if p.Field != "" {
			at.Logical = []sarifName{{p.Field}}
		}
		r.Results = append(r.Results, sarifResult{
			RuleID: p.Rule, RuleIndex: r.index[p.Rule], Level: level,
			Message: sarifText{strings.TrimPrefix(p.Field+": "+p.Message, ": ")}, Locations: []sarifLocation{at},
		})
	}
}

// fileURI is a path as a URI: relative as it was given, else with its scheme.
func fileURI(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	if uri := strings.TrimPrefix(u.String(), "./"); !strings.Contains(strings.SplitN(uri, "/", 2)[0], ":") {
		return uri
	}
	return u.String() // without the dot its name would be a scheme
}
