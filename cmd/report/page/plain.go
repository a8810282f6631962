package page

import (
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/cmd/view"
)

// plainAgents is how many agents are shown where scripts are switched off, and
// plainCauses how many causes of invalid trials of each.
const plainAgents, plainCauses = 50, 20

// plain is the summary as markup that needs no script: how each agent did, what was
// left out of its scores, and how it compares.
func (d *document) plain() string {
	var b strings.Builder
	b.WriteString(`<p class="notice">JavaScript is switched off here: this is the summary. The trials are shown with it, or by <code>agentclash run get ` + cell(d.Run.RunID) + `</code> in a terminal.</p>
<section><h2>Summary</h2><p>Run ` + cell(d.Run.Status) + `, pack ` + cell(d.Run.Pack.String()) + `, input set ` + cell(d.Run.InputSet) + `.</p>
<div class="scroll"><table class="plain"><caption class="sr">Agents</caption><thead><tr><th scope="col">Agent</th><th scope="col">Model</th><th scope="col">Result</th><th scope="col" class="num">Score</th><th scope="col" class="num">Passed</th><th scope="col" class="num">Failed</th><th scope="col" class="num">Invalid</th></tr></thead><tbody>
`)
	var notes strings.Builder
	for i, a := range d.Agents {
		if i == plainAgents {
			notes.WriteString("<p>" + strconv.Itoa(len(d.Agents)-i) + " more agents are not shown.</p>\n")
			break
		}
		b.WriteString(`<tr><th scope="row">` + cell(a.Label) + `</th><td>` + cell(a.Model) + `</td><td>` + cell(a.Result) + `</td><td class="num">` + cell(view.Score(a.OverallScore)) + `</td>` +
			number(a.PassedTrials) + number(a.FailedTrials) + number(a.InvalidTrials) + "</tr>\n")
		for _, c := range a.InvalidCauses[:min(len(a.InvalidCauses), plainCauses)] {
			notes.WriteString("<p>" + cell(a.Label) + ": " + strconv.Itoa(c.Trials) + " invalid with <code>" + cell(c.Code) + "</code>, left out of every score.</p>\n")
		}
		if c := a.Compared; c != nil {
			notes.WriteString("<p><strong>" + cell(string(c.Gate.Verdict)) + "</strong>: " + cell(a.Label) + " against " + cell(c.Baseline.RunAgentLabel) + " of " + cell(c.Baseline.RunName) + ": " + cell(c.Gate.Summary) + "</p>\n")
		}
	}
	b.WriteString("</tbody></table></div>\n" + notes.String() + "</section>\n")
	return b.String()
}

// cell is untrusted text of a length that a summary has room for.
func cell(text string) string { return inHTML(view.Clip(text, longestName)) }
