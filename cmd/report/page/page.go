package page

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // of the style and the script
	"encoding/base64"
	"io"
	"strings"

	"github.com/agentclash/agentclash/cmd/view"
)

// The style and the script of all pages.
var (
	//go:embed assets/page.css
	style string
	//go:embed assets/tools.js
	scriptTools string
	//go:embed assets/charts.js
	scriptCharts string
	//go:embed assets/table.js
	scriptTable string
	//go:embed assets/trial.js
	scriptTrial string
	//go:embed assets/page.js
	scriptPage string
	//go:embed assets/index.js
	scriptIndex string
)

// script is all of a report's script in one scope of its own.
func script() string {
	return "(() => {\n'use strict';\n" + strings.Join([]string{scriptTools, scriptCharts, scriptTable, scriptTrial, scriptPage}, "\n") + "})();\n"
}

// Policy is the content security policy of a page with this script: it runs nothing
// and loads nothing but what stands in it. A served page may ask who served it.
func Policy(script string, served bool) string {
	p := "default-src 'none'; script-src '" + digest(script) + "'; style-src '" + digest(style) + "'; base-uri 'none'; form-action "
	if served {
		return p + "'self'; connect-src 'self'"
	}
	return p + "'none'"
}

// digest is how a policy names a text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// ReportPolicy is the policy of a served report.
func ReportPolicy() string { return Policy(script(), true) }

// Write writes the page of a report and says what it has no room for. A page that is
// not served has at most [MaxPage] bytes, unless the agents and comparisons alone
// have more.
func Write(w io.Writer, r Report) (LeftOut, error) {
	d := newDocument(r)
	data, limit, err := d.fit()
	if err != nil {
		return d.LeftOut, err
	}
	plain := d.plain()
	var chunks [][]byte
	if !r.Served {
		const placesText = 24 // of a row, more than is there before anything is packed
		room := MaxPage - len(data) - len(d.Rows)*placesText - len(style) - len(script()) - len(plain) - 16<<10
		if chunks, err = d.pack(r, room); err != nil {
			return d.LeftOut, err
		}
		if data, _, err = d.written(limit); err != nil { // now with the places of what is packed
			return d.LeftOut, err
		}
	}
	b := bufio.NewWriter(w)
	name := inHTML(view.Clip(r.Run.Name, longestName))
	open(b, "Run "+name+" · agentclash report", script(), r.Served)
	b.WriteString(`<header id="top" class="top"><div><p class="kind">agentclash run report</p><h1>` + name + `</h1></div><div id="tools" class="tools"></div></header>
<main id="main" tabindex="-1"><noscript>` + plain + `</noscript></main>
<div id="live" class="sr" role="status" aria-live="polite"></div>
`)
	for i, c := range chunks {
		b.WriteString(`<script type="text/plain" id="` + chunkID(i) + `">`)
		_, _ = b.Write(c) // a bufio.Writer keeps its error for Flush
		b.WriteString("</script>\n")
	}
	b.WriteString(`<script type="application/json" id="data">`)
	_, _ = b.Write(data)
	b.WriteString("</script>\n<script>" + script() + "</script>\n</body>\n</html>\n")
	return d.LeftOut, b.Flush()
}

// Data is the data of a served page, for one that is open to show what is new.
func Data(r Report) ([]byte, error) {
	d := newDocument(r)
	raw, _, err := d.fit()
	return raw, err
}

const (
	// maxData is how much of a page its data may have, beside which evidence has some
	// room yet; maxServed is that of a served page.
	maxData   = 4_200_000
	maxServed = 32 << 20
	// longestName is how much of a run's name stands above the page.
	longestName = 300
)

// dataLimits are how long the texts of the data may be: the first one with which it
// fits is taken. With the last one all ids are whole.
var dataLimits = []int{1 << 20, 16 << 10, 4 << 10, 1 << 10, 256, 100, 40}

// fit is the data as JSON with its texts cut so far that it fits, and how far that is.
// Where that is not enough, the last rows are left out: those are of trials that
// passed, as far as there are any.
func (d *document) fit() (raw []byte, limit int, err error) {
	most := maxData
	if d.Served {
		most = maxServed
	}
	for {
		for _, limit = range dataLimits {
			if raw, d.LeftOut.Texts, err = d.written(limit); err != nil {
				return nil, limit, err
			}
			if len(raw)+len(d.Rows)*16 > most {
				continue
			}
			if d.LeftOut.Texts > 0 { // which the data says, too
				raw, _, err = d.written(limit)
			}
			return raw, limit, err
		}
		if len(d.Rows) == 0 {
			return raw, limit, nil
		}
		d.dropRows(len(d.Rows) / 2)
	}
}

// written is the data as JSON with texts of at most so many bytes.
func (d *document) written(limit int) (raw []byte, cut int, err error) {
	if raw, err = inScript(d); err != nil {
		return nil, 0, err
	}
	raw, cut = clip(raw, limit)
	return raw, cut, nil
}

// ServedDetail is the evidence of a trial for a served page.
func ServedDetail(e Evidence) ([]byte, error) { return NewDetail(e).fit(8 << 20) }

// open writes the head of a page up to its body.
func open(b *bufio.Writer, title, script string, served bool) { // the title is safe
	b.WriteString(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="` + inHTML(Policy(script, served)) + `">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>` + title + `</title>
<style>` + style + `</style>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
`)
}
