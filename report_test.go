package main_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestReportInBrowser writes a report as a user does and looks at it in a browser.
func TestReportInBrowser(t *testing.T) {
	t.Parallel()
	w := openBrowser(t)
	agentclash, _ := exampleStore(t)
	file := filepath.Join(t.TempDir(), "report.html")
	if out, err := agentclash("artifact", "upload", "judge.yaml", "--type", "notes", "--run", "next", "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := agentclash("run", "report", "next", "--compare", "steady", "-o", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	page := "file://" + file
	w.visit(page)

	is(w, `document.querySelector('h1').textContent`, "next")
	is(w, `document.querySelector('#agents td .status').dataset.status`, "degraded")
	is(w, `document.querySelector('#invalid').textContent.includes('unavailable')`, true)
	is(w, `document.querySelectorAll('#comparison svg.interval').length > 4`, true)
	is(w, `document.querySelectorAll('#distributions svg.distribution').length`, 2)
	is(w, `document.querySelector('table.grid').getAttribute('aria-rowcount')`, "25")
	verdict, err := agentclash("compare", "runs", "--baseline", "steady", "--candidate", "next", "--json", "--query", ".summary").Output()
	if err != nil {
		t.Fatal(err)
	}
	if text := eval[string](w, `document.querySelector('#comparison').textContent`); !strings.Contains(text, strings.TrimSpace(string(verdict))) {
		t.Errorf("the page does not say %q", verdict)
	}

	t.Run("filter and sort", func(*testing.T) { filterAndSort(w) })
	t.Run("trial", func(*testing.T) { lookIntoTrial(w) })
	t.Run("keys", func(*testing.T) { byKeyboard(w) })
	t.Run("colours", func(*testing.T) { colours(w) })
	t.Run("screen reader", func(*testing.T) { readAloud(w) })
	t.Run("small", func(*testing.T) { small(w) })
	t.Run("paper", func(*testing.T) { paper(w) })
	t.Run("artifact", func(*testing.T) { saveArtifact(w) })
	t.Run("ends of ids", func(*testing.T) { endsOfIDs(w) })
	t.Run("no script", func(*testing.T) { noScript(w, page) }) // the last: it stays so
	w.alone(page)
}

func filterAndSort(w *window) {
	first := `document.querySelector('table.grid tbody tr[data-i="0"] td a').textContent`
	w.do(chromedp.SetValue("#f-outcome", "failed", chromedp.ByQuery), chromedp.Evaluate(`document.getElementById('f-outcome').dispatchEvent(new Event('change'))`, nil))
	is(w, `location.hash`, "#outcome=failed")
	is(w, `document.getElementById('found').textContent`, "8 of 24 trials")
	is(w, `document.getElementById('live').textContent`, "8 of 24 trials")
	w.do(chromedp.SendKeys("#search", "cart", chromedp.ByQuery))
	is(w, `document.getElementById('found').textContent`, "1 of 24 trials")
	is(w, first, "cart-merge")
	w.do(chromedp.Evaluate(`history.back()`, nil))
	w.await(`document.getElementById('found').textContent === '24 of 24 trials'`)
	w.do(chromedp.Click(`th[data-col=case] button`, chromedp.ByQuery))
	is(w, first, "api-pagination")
	is(w, `document.querySelector('th[data-col=case]').getAttribute('aria-sort')`, "ascending")
	w.do(chromedp.Click(`th[data-col=case] button`, chromedp.ByQuery))
	is(w, first, "webhook-retries")
	is(w, `document.querySelector('th[data-col=case]').getAttribute('aria-sort')`, "descending")
	w.do(chromedp.Evaluate(`location.hash = '#outcome=invalid'`, nil))
	w.await(`document.getElementById('found').textContent === '1 of 24 trials'`)
	is(w, first, "queue-backlog")
	w.do(chromedp.Evaluate(`location.hash = '#sort=latency'`, nil))
	w.await(`document.getElementById('found').textContent === '24 of 24 trials'`)
}

// keepSaved has the page keep the text of what it saves, until it is loaded anew.
const keepSaved = `(() => { const was = URL.createObjectURL; URL.createObjectURL = (b) => { window.saved = b.text(); return was(b); }; return true; })()`

func lookIntoTrial(w *window) {
	id := eval[string](w, `new URLSearchParams([...document.querySelectorAll('table.grid td a')].find((a) => a.textContent === 'cart-merge').hash.slice(1)).get('trial')`)
	w.do(chromedp.Evaluate(`location.hash = '#trial=`+id+`'`, nil), chromedp.WaitVisible(`.trialbody[data-ready]`, chromedp.ByQuery))
	is(w, `document.activeElement.id`, "trialname")
	is(w, `document.querySelectorAll('.opinions li').length`, 3)
	is(w, `document.querySelector('#judges').textContent.includes('list of commits')`, true)
	is(w, `[...document.querySelectorAll('.diff .add')].some((e) => e.textContent === '+# Changes')`, true)
	is(w, `[...document.querySelectorAll('.diff .del')].some((e) => e.textContent === '-# Release notes')`, true)
	is(w, `[...document.querySelectorAll('#expected h3 bdi')].map((e) => e.textContent).join()`, "heading,mentions")
	is(w, `[...document.querySelectorAll('#expected .diff .del')].map((e) => e.textContent).join()`, "-# Release notes,-cart merge")
	is(w, `[...document.querySelectorAll('.step[data-kind=tool_call] strong')].map((e) => e.textContent).join()`, "list_files,write_file,submit")
	w.do(chromedp.Click(`.step[data-kind=tool_call]:nth-child(1) summary`, chromedp.ByQuery), chromedp.WaitVisible(`.step[data-kind=tool_call] pre`, chromedp.ByQuery))
	// what is saved is what was captured
	is(w, keepSaved, true)
	w.do(chromedp.Evaluate(`[...document.querySelectorAll('button')].find((b) => b.textContent === 'Save the file').click()`, nil))
	w.await(`window.saved !== undefined`)
	var text string
	w.do(chromedp.Evaluate(`window.saved`, &text, awaitPromise))
	if !strings.HasPrefix(text, "# Changes\n") {
		w.Errorf("the file is saved as %q", text)
	}
	w.do(chromedp.Evaluate(`window.saved = undefined; [...document.querySelectorAll('button')].find((b) => b.textContent === 'Events as JSONL').click()`, nil))
	w.await(`window.saved !== undefined`)
	w.do(chromedp.Evaluate(`window.saved`, &text, awaitPromise))
	for line := range strings.Lines(text) {
		var e struct {
			Type string `json:"event_type"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Type == "" {
			w.Fatalf("saved events have the line %.100q: %v", line, err)
		}
	}
	w.do(chromedp.Evaluate(`history.back()`, nil), chromedp.WaitVisible("#overview", chromedp.ByQuery))
	is(w, `document.getElementById('trial').hidden`, true)
	is(w, `document.activeElement.querySelector('a')?.textContent`, "cart-merge")
	// a link from elsewhere leads there at once
	w.do(chromedp.Evaluate(`location.hash = ''`, nil), chromedp.Reload())
	w.do(chromedp.Evaluate(`location.hash = '#trial=`+id[len(id)-8:]+`'; location.reload()`, nil), chromedp.WaitVisible(`.trialbody[data-ready]`, chromedp.ByQuery))
	is(w, `document.querySelector('#trialname bdi').textContent`, "cart-merge")
}

func byKeyboard(w *window) {
	w.do(chromedp.KeyEvent(kb.Escape), chromedp.WaitVisible("#overview", chromedp.ByQuery))
	w.do(input.DispatchKeyEvent(input.KeyRawDown).WithKey("/").WithCode("Slash"), input.DispatchKeyEvent(input.KeyUp).WithKey("/").WithCode("Slash"))
	is(w, `document.activeElement.id`, "search")
	w.do(chromedp.KeyEvent("tax"), chromedp.KeyEvent(kb.Enter))
	is(w, `document.activeElement.tagName`, "TR")
	w.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`.trialbody[data-ready]`, chromedp.ByQuery))
	is(w, `document.querySelector('#trialname bdi').textContent`, "tax-regions")
	w.do(chromedp.KeyEvent(kb.Escape), chromedp.WaitVisible("#overview", chromedp.ByQuery), chromedp.Click("#clear", chromedp.ByQuery))
	w.do(chromedp.Focus(`table.grid tr[tabindex="0"]`, chromedp.ByQuery), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown))
	is(w, `document.activeElement.dataset.i`, "2")
	w.do(chromedp.KeyEvent(kb.End))
	is(w, `document.activeElement.getAttribute('aria-rowindex')`, "25")
	is(w, `document.querySelectorAll('table.grid tr[tabindex="0"]').length`, 1)
	w.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`.trialbody[data-ready]`, chromedp.ByQuery))
	last := eval[string](w, `document.querySelector('#trialname').textContent`)
	w.do(chromedp.KeyEvent("k"))
	w.await(`document.querySelector('.trialbody[data-ready]') !== null && document.querySelector('#trialname').textContent !== ` + strconv.Quote(last))
	w.do(chromedp.KeyEvent("?"), chromedp.WaitVisible("#help", chromedp.ByQuery), chromedp.KeyEvent(kb.Escape), chromedp.WaitNotVisible("#help", chromedp.ByQuery))
	w.do(chromedp.KeyEvent(kb.Escape), chromedp.WaitVisible("#overview", chromedp.ByQuery))
}

// contrasts are the pairs of colours whose contrast is worst, as a page shows them:
// for each element with text of its own, its colour on what is behind it.
const contrasts = `(() => {
  const light = (c) => { const v = c.map((x) => x / 255).map((x) => x <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4); return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
  const read = (text) => text.match(/[\d.]+/g).map(Number);
  const low = [];
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || e.closest('svg, .sr, script, noscript, [hidden], option') || e.getClientRects().length === 0) continue;
    let behind = e, back;
    do { back = read(getComputedStyle(behind).backgroundColor); behind = behind.parentElement; } while (behind && back[3] === 0);
    const [a, b] = [light(read(getComputedStyle(e).color)), light(back)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) low.push(ratio.toFixed(2) + ' ' + e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 30));
  }
  return low.join('\n');
})()`

func colours(w *window) {
	ground := `getComputedStyle(document.body).backgroundColor`
	var seen []string
	for _, scheme := range []string{"light", "dark"} {
		w.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		seen = append(seen, eval[string](w, ground))
		is(w, contrasts, "")
	}
	if seen[0] == seen[1] {
		w.Errorf("light and dark are both %s", seen[0])
	}
	w.do(chromedp.Click("#theme", chromedp.ByQuery)) // from the system's to light
	is(w, ground, seen[0])
	w.do(chromedp.Click("#theme", chromedp.ByQuery), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}))
	is(w, ground, seen[1])
	w.do(chromedp.Click("#theme", chromedp.ByQuery))
}

// readAloud looks at what a screen reader is told.
func readAloud(w *window) {
	type value struct {
		Value any `json:"value"`
	}
	var tree struct {
		Nodes []struct {
			Ignored bool   `json:"ignored"`
			Role    *value `json:"role"`
			Name    *value `json:"name"`
		} `json:"nodes"`
	}
	// the library's own type refuses words that newer browsers say
	w.do(chromedp.ActionFunc(func(ctx context.Context) error {
		return chromedp.FromContext(ctx).Target.Execute(ctx, "Accessibility.getFullAXTree", nil, &tree)
	}))
	text := func(v *value) string {
		if v == nil {
			return ""
		}
		words, _ := v.Value.(string)
		return strings.TrimSpace(words)
	}
	roles := map[string]int{}
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		role := text(n.Role)
		roles[role]++
		switch role {
		case "button", "link", "image", "img", "heading", "grid", "searchbox", "combobox", "columnheader", "rowheader", "table":
			if text(n.Name) == "" {
				w.Errorf("a %s has no name", role)
			}
		}
	}
	for _, role := range []string{"main", "banner", "navigation", "search", "grid", "rowheader", "gridcell", "heading", "status", "contentinfo"} {
		if roles[role] == 0 {
			w.Errorf("the page has no %s: %v", role, roles)
		}
	}
}

// small looks at the page on a telephone, and at twice its size.
func small(w *window) {
	for _, width := range []int64{390, 620} {
		w.do(chromedp.EmulateViewport(width, 800))
		if over := eval[int](w, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			w.Errorf("at %d pixels the page is %d too wide", width, over)
		}
		// no name is broken into its letters
		is(w, `[...document.querySelectorAll('.plain tbody th')].filter((e) => e.getBoundingClientRect().width < 100).map((e) => e.textContent).join()`, "")
	}
	w.do(chromedp.EmulateViewport(1240, 900))
}

// paper sees that what is printed is dark on white, whatever the screen shows.
func paper(w *window) {
	w.do(emulation.SetEmulatedMedia().WithMedia("print").WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	is(w, contrasts, "")
	is(w, `getComputedStyle(document.body).backgroundColor`, "rgb(255, 255, 255)")
	w.do(emulation.SetEmulatedMedia())
}

// saveArtifact sees that an artifact comes out of the page as it was put in.
func saveArtifact(w *window) {
	is(w, `document.querySelectorAll('#artifacts tbody tr').length`, 1)
	is(w, keepSaved, true)
	w.do(chromedp.Evaluate(`window.saved = undefined; document.querySelector('#artifacts button').click()`, nil))
	w.await(`window.saved !== undefined`)
	var text string
	w.do(chromedp.Evaluate(`window.saved`, &text, awaitPromise))
	want, err := os.ReadFile(filepath.Join("testdata", "report", "judge.yaml"))
	if err != nil || text != string(want) {
		w.Errorf("the artifact is saved as %.60q: %v", text, err)
	}
}

// endsOfIDs sees that only what may be the end of an id opens a trial.
func endsOfIDs(w *window) {
	for _, id := range []string{"-", "0", "%20", "zzzzzzzz"} {
		w.do(chromedp.Evaluate(`location.hash = '#trial=`+id+`'`, nil))
		w.await(`document.querySelector('#trialname')?.textContent === 'No such trial'`)
	}
	w.do(chromedp.Evaluate(`location.hash = ''`, nil), chromedp.WaitVisible("#overview", chromedp.ByQuery))
}

// noScript sees that there is a summary where scripts are switched off.
func noScript(w *window, page string) {
	var text string
	w.do(emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(page), chromedp.Text("main", &text, chromedp.ByQuery))
	for _, want := range []string{"JavaScript is switched off", "scripted/next.yaml", "degraded", "1 invalid with unavailable", "insufficient_evidence: next against steady of steady"} {
		if !strings.Contains(text, want) {
			w.Errorf("without scripts the page does not say %q: %s", want, text)
		}
	}
}

// awaitPromise has an expression's promise waited for.
func awaitPromise(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// TestReportFile sees that a report is written as a whole or not at all.
func TestReportFile(t *testing.T) {
	t.Parallel()
	agentclash, _ := exampleStore(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "deep", "r.html")
	out, err := agentclash("run", "report", "next", "-o", file, "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Bytes   int64          `json:"bytes"`
		Trials  int            `json:"trials"`
		LeftOut map[string]int `json:"left_out"`
	}
	if err := json.Unmarshal(out, &d); err != nil || d.Trials != 24 || d.LeftOut["details"] != 0 {
		t.Errorf("--json says %s: %v", out, err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Size() != d.Bytes {
		t.Errorf("the file has %v bytes, --json says %d: %v", info.Size(), d.Bytes, err)
	}
	plain, err := agentclash("run", "report", "next", "-o", "-").Output()
	if err != nil || !strings.HasPrefix(string(plain), "<!doctype html>") || !strings.HasSuffix(string(plain), "</html>\n") {
		t.Errorf("-o - begins with %.40q: %v", plain, err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "deep", ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
