package page

import (
	"bufio"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
)

// Index is a page of the list of runs.
type Index struct {
	Search string
	Runs   view.Page[view.Run]
}

// indexCode is the script of the list in a scope of its own.
func indexCode() string { return "(() => {\n'use strict';\n" + scriptTools + scriptIndex + "})();\n" }

// IndexPolicy is the policy of the list of runs.
func IndexPolicy() string { return Policy(indexCode(), true) }

// WriteIndex writes the list of runs. It works without its script.
func WriteIndex(w io.Writer, x Index) error {
	b := bufio.NewWriter(w)
	open(b, "Runs · agentclash", indexCode(), true)
	b.WriteString(`<header id="top" class="top"><div><p class="kind">agentclash</p><h1>Runs</h1></div><div id="tools" class="tools"></div></header>
<main id="main" tabindex="-1">
<form class="filters" role="search" action="/"><label>Search <input id="search" type="search" name="q" maxlength="200" value="` + inHTML(x.Search) + `" placeholder="name or pack"></label> <button>Search</button></form>
`)
	if len(x.Runs.Items) == 0 {
		b.WriteString(`<p class="empty">No run` + map[bool]string{true: " has such a name or pack. <a href=\"/\">Show all runs</a>", false: " is stored yet"}[x.Search != ""] + ".</p>\n")
	} else {
		x.table(b)
	}
	x.pages(b)
	b.WriteString("</main>\n<script>" + indexCode() + "</script>\n</body>\n</html>\n")
	return b.Flush()
}

func (x Index) table(b *bufio.Writer) {
	b.WriteString(`<form action="/compare"><div class="scroll"><table class="plain"><caption class="sr">Runs, newest first</caption><thead><tr>
<th scope="col">Run</th><th scope="col">Status</th><th scope="col">Pack</th><th scope="col">Agents</th><th scope="col" class="num">Passed</th><th scope="col" class="num">Failed</th><th scope="col" class="num">Invalid</th><th scope="col">Created (UTC)</th><th scope="col">Baseline</th><th scope="col">Candidate</th>
</tr></thead><tbody>
`)
	for i, r := range x.Runs.Items {
		var passed, failed, invalid int
		agents := ""
		for j, a := range r.Agents {
			passed, failed, invalid = passed+a.PassedTrials, failed+a.FailedTrials, invalid+a.InvalidTrials
			if j < 3 {
				agents += map[bool]string{true: ", "}[j > 0] + a.Label
			}
		}
		if more := len(r.Agents) - 3; more > 0 {
			agents += " and " + strconv.Itoa(more) + " more"
		}
		id := inHTML(r.RunID)
		pick := func(name string, first bool) string {
			checked := ""
			if first {
				checked = " checked"
			}
			return `<td class="pick"><input type="radio" name="` + name + `" value="` + id + `" aria-label="` + inHTML(r.Name+" as the "+name) + `"` + checked + `></td>`
		}
		b.WriteString(`<tr><th scope="row"><a href="/runs/` + inHTML(url.PathEscape(r.RunID)) + `"><bdi>` + inHTML(r.Name) + `</bdi></a> <span class="id">` + inHTML(view.ShortID(r.RunID)) + `</span></th>` +
			`<td><span class="status" data-status="` + inHTML(r.Status) + `">` + inHTML(r.Status) + `</span></td><td>` + inHTML(r.Pack.String()) + `</td><td><bdi>` + inHTML(agents) + `</bdi></td>` +
			number(passed) + number(failed) + number(invalid) + `<td><time datetime="` + r.CreatedAt.UTC().Format(time.RFC3339) + `">` + r.CreatedAt.UTC().Format("2006-01-02 15:04:05") + `</time></td>` +
			pick("baseline", i == 1) + pick("candidate", i == 0) + "</tr>\n")
	}
	b.WriteString("</tbody></table></div>\n")
	if len(x.Runs.Items) > 1 {
		b.WriteString(`<p class="right"><button>Compare the chosen runs</button></p>`)
	}
	b.WriteString("</form>\n")
}

func number(n int) string { return `<td class="num">` + strconv.Itoa(n) + `</td>` }

// pages leads to the pages before and after.
func (x Index) pages(b *bufio.Writer) {
	last := x.Runs.Offset + len(x.Runs.Items)
	if last == 0 {
		return
	}
	link := func(text string, offset int) string {
		q := url.Values{"offset": {strconv.Itoa(max(offset, 0))}}
		if x.Search != "" {
			q.Set("q", x.Search)
		}
		return ` <a href="/?` + inHTML(q.Encode()) + `">` + text + `</a>`
	}
	b.WriteString(`<nav class="pages" aria-label="Pages"><span>` + strconv.Itoa(x.Runs.Offset+1) + " to " + strconv.Itoa(last) + " of " + strconv.Itoa(x.Runs.Total) + `</span>`)
	if x.Runs.Offset > 0 {
		b.WriteString(link("Newer", x.Runs.Offset-x.Runs.Limit))
	}
	if x.Runs.HasMore {
		b.WriteString(link("Older", last))
	}
	b.WriteString("</nav>\n")
}
