package view

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// Rule is a kind of check, for documents that list them.
type Rule struct{ ID, About string }

// maxSARIF is how many results a document may hold: GitHub refuses more.
const maxSARIF = 25_000

// SARIF writes a validation as a SARIF 2.1.0 document, one rule a kind of check.
func SARIF(w io.Writer, d ValidateDocument, rules []Rule, version string) error {
	driver := sarifDriver{Name: "agentclash", Version: version, InformationURI: "https://github.com/agentclash/agentclash"}
	index := map[string]int{}
	for _, r := range rules {
		index[r.ID] = len(driver.Rules)
		driver.Rules = append(driver.Rules, sarifRule{r.ID, sarifText{r.About}})
	}
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = driver
	for _, f := range d.Files {
		run.add(f, "error", f.Errors, index)
		run.add(f, "warning", f.Warnings, index)
	}
	return JSON(w, sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	})
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
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region sarifRegion `json:"region"`
	} `json:"physicalLocation"`
	Logical []sarifName `json:"logicalLocations,omitempty"`
}

type sarifRegion struct {
	Line   int `json:"startLine"`
	Column int `json:"startColumn"`
}

type sarifName struct {
	Name string `json:"fullyQualifiedName"`
}

func (r *sarifRun) add(f ValidatedFile, level string, problems []Problem, index map[string]int) {
	for _, p := range problems {
		if len(r.Results) == maxSARIF {
			return
		}
		var at sarifLocation
		at.Physical.Artifact.URI = fileURI(f.File)
		at.Physical.Region = sarifRegion{max(p.Line, 1), max(p.Column, 1)}
		if p.Field != "" {
			at.Logical = []sarifName{{p.Field}}
		}
		r.Results = append(r.Results, sarifResult{
			RuleID: p.Rule, RuleIndex: index[p.Rule], Level: level,
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
	return strings.TrimPrefix(u.String(), "./")
}
