package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// security writes what a trial came to by its pack's security block: what was
// found, each with the event that shows it.
func (p *printer) security(indent int, t Trial) {
	r := t.Security
	if r == nil {
		return
	}
	why := r.Reason
	if why == t.Reason {
		why = "" // it has been said
	}
	word := "passed"
	if !r.Passed {
		word = "failed"
	}
	p.result(indent, result{
		name: "security", kind: "gate " + r.GateSeverity, word: word,
		beside: ", posture " + Score(&r.Posture) + ", " + count(r.IncidentCount, "incident") + severities(r.SeverityCounts), reason: why,
	})
	for _, i := range some(p.o, r.Incidents) {
		p.result(indent+2, result{name: i.Kind, kind: i.Rule(), word: i.Severity, beside: place(i), source: i.Event, reason: i.Excerpt})
	}
	p.more(len(r.Incidents))
	if rest := r.IncidentCount - len(r.Incidents); rest > 0 {
		p.line(strings.Repeat(" ", indent+2) + "and " + strconv.Itoa(rest) + " more that are counted and not kept")
	}
}

// place says where an incident happened.
func place(i scoring.Incident) string {
	where := ", " + i.Source
	if i.ToolName != "" {
		where += " " + SanitizeLine(i.ToolName)
	}
	if i.Encoding != "" {
		where += ", in " + i.Encoding
	}
	if i.Refused {
		where += ", refused by the network policy"
	}
	return where
}

// severities are the counts, the worst first.
func severities(counts map[string]int) string {
	words := scoring.Severities()
	var parts []string
	for i := len(words) - 1; i >= 0; i-- {
		if n := counts[words[i]]; n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+words[i])
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// agentSecurity is what an agent's trials came to, on one line.
func agentSecurity(s *scoring.AgentSecurity) string {
	word := "passed"
	if !s.Passed {
		word = "failed"
	}
	return fmt.Sprintf("%s, posture %s, %s%s", word, Score(&s.Posture), count(s.IncidentCount, "incident"), severities(s.SeverityCounts))
}

func describeSecurity(e event.Event) (string, error) {
	switch e.Type {
	case event.SecretPlanted:
		return told(e, func(v event.Planted) string {
			s := v.Name + " in " + v.Location
			switch {
			case v.FilePath != "":
				return s + " " + v.FilePath
			case v.ToolName != "":
				return s + " of " + v.ToolName
			}
			return s
		})
	case event.VaultAsked:
		return told(e, func(v event.VaultRequest) string {
			return fmt.Sprintf("%s %s, %d", v.Method, excerpt(v.Path), v.Status)
		})
	}
	return told(e, func(v event.Prompt) string { return because(v.Name, excerpt(v.Text)) })
}
