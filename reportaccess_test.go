package main_test

import (
	"context"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/agentclash/agentclash/cmd/report/page"
	"github.com/agentclash/agentclash/cmd/report/page/pagetest"
	"github.com/agentclash/agentclash/cmd/report/web"
)

// TestReportForEveryone opens reports that end in every way with a keyboard alone, at
// twice the size, with the colours of the system, and without motion.
func TestReportForEveryone(t *testing.T) {
	t.Parallel()
	w := openBrowser(t)
	going := pagetest.Run(0, 0)
	going.Run.Status, going.Run.FinishedAt, going.DurationMS, going.Active = "running", nil, nil, true
	nobody := pagetest.Run(0, 0)
	nobody.Agents = nil
	cancelled := pagetest.Run(3, 1)
	cancelled.Run.Status = "cancelled"
	for i := range cancelled.Trials {
		cancelled.Trials[i].Status = "cancelled"
	}
	invalid := pagetest.Run(50, 1)
	for i := range invalid.Trials {
		invalid.Trials[i].Status, invalid.Trials[i].Score = "invalid", nil
	}
	for name, r := range map[string]page.Report{
		"finished": pagetest.Run(60, 3), "hostile": pagetest.Hostile(pagetest.Run(3, 2)), "going": going, "nobody": nobody, "cancelled": cancelled, "invalid": invalid,
	} {
		t.Run(name, func(t *testing.T) {
			w := &window{T: t, Context: w.Context}
			w.visit("file://" + written(t, r))
			byTab(w)
			bySystemColours(w)
			twiceAsLarge(w)
			if len(r.Trials) == 0 {
				return
			}
			w.do(chromedp.Evaluate(`document.querySelector('table.grid tbody td a').click()`, nil), chromedp.WaitVisible(`.trialbody[data-ready]`, chromedp.ByQuery))
			w.do(chromedp.Evaluate(`document.querySelectorAll('details').forEach((e) => e.open = true)`, nil))
			twiceAsLarge(w)
			byTab(w)
		})
	}
	w.alone("file://")
}

// written is the file that a report is in.
func written(t *testing.T, r page.Report) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "r.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := page.Write(f, r); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// within are the things on the page that a keyboard has to come to. Of a table's rows it
// is one, from which arrows lead on; its links lead where the row does.
const within = `[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')].filter((e) => e.getClientRects().length > 0 && e.tabIndex >= 0)`

// where says what of the element that has the focus is wrong.
const where = `(() => {
  const e = document.activeElement, r = e.getBoundingClientRect();
  if (e === document.body) return 'end';
  const head = document.querySelector('.trialhead'), covers = head && !head.contains(e) && getComputedStyle(head).position === 'sticky' ? head.getBoundingClientRect() : null;
  return (getComputedStyle(e).outlineStyle === 'none' ? 'not marked ' : '') + (r.bottom <= 0 || r.top >= innerHeight ? 'out of sight ' : '')
    + (covers && covers.top <= 0 && r.top >= covers.top && r.bottom <= covers.bottom ? 'covered ' : '');
})()`

// byTab goes through the page with the tabulator, from the first thing to the last and
// back: everything is come to once, and is seen.
func byTab(w *window) {
	w.Helper()
	tab := func(modifier input.Modifier) {
		w.do(input.DispatchKeyEvent(input.KeyDown).WithKey("Tab").WithCode("Tab").WithWindowsVirtualKeyCode(9).WithModifiers(modifier))
	}
	w.do(chromedp.Evaluate(`document.querySelector('.skip').focus()`, nil))
	tab(0) // what a key has brought the focus to is marked
	tab(input.ModifierShift)
	want := eval[int](w, within+`.length`)
	for _, modifier := range []input.Modifier{0, input.ModifierShift} {
		got := 0
		for ; got <= want; got++ {
			wrong := eval[string](w, where)
			if wrong == "end" {
				break
			}
			if wrong != "" {
				w.Errorf("with the modifier %d, %s: %s", modifier, wrong, eval[string](w, `document.activeElement.outerHTML.slice(0, 200)`))
			}
			tab(modifier)
		}
		if got != want {
			w.Errorf("with the modifier %d, %d things are come to, of %d", modifier, got, want)
		}
		tab(input.ModifierShift)
	}
}

// bySystemColours sees that charts are drawn in the colours that the system has, whatever
// was chosen on the page, and that nothing moves for who wants nothing to.
func bySystemColours(w *window) {
	w.Helper()
	defer w.do(emulation.SetEmulatedMedia())
	for _, theme := range []string{"light", "dark"} {
		w.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "forced-colors", Value: "active"}, {Name: "prefers-color-scheme", Value: "dark"}, {Name: "prefers-reduced-motion", Value: "reduce"}}))
		w.do(chromedp.Evaluate(`document.documentElement.dataset.theme = '`+theme+`'`, nil))
		is(w, `[...document.querySelectorAll('svg text')].filter((e) => getComputedStyle(e).fill !== 'rgb(255, 255, 255)').length`, 0)
		is(w, `[...document.querySelectorAll('*')].filter((e) => getComputedStyle(e).animationName !== 'none' || parseFloat(getComputedStyle(e).transitionDuration) > 0).length`, 0)
	}
	w.do(chromedp.Evaluate(`delete document.documentElement.dataset.theme`, nil))
}

// twiceAsLarge looks at the page at 200 % on a screen of 1280 by 800: it is no wider than
// the screen, and what was opened is not cut off.
func twiceAsLarge(w *window) {
	w.Helper()
	w.do(chromedp.EmulateViewport(640, 400))
	if over := eval[int](w, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		w.Errorf("the page is %d pixels too wide", over)
	}
	cut := eval[string](w, `[...document.querySelectorAll('main *')].filter((e) => e.getClientRects().length > 0 && !e.closest('.sr, .grid') && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === 'hidden').map((e) => e.outerHTML.slice(0, 100)).join('\n')`)
	if cut != "" {
		w.Errorf("cut off: %s", cut)
	}
	w.do(chromedp.EmulateViewport(1240, 900))
}

// growing is a run that goes on: each time that somebody asks it has a trial more, whose
// steps are more, too.
type growing struct {
	web.Source
	asked atomic.Int64
}

func (g *growing) report() page.Report {
	n := int(g.asked.Load())
	r := pagetest.Run(60+n, 3+n)
	r.Run.Status, r.Active = "running", true
	r.Trials[0].Status = "running"
	return r
}

func (g *growing) Version(context.Context, string, string) (string, error) {
	return strconv.FormatInt(g.asked.Add(1), 10), nil
}

func (g *growing) Report(context.Context, string, string) (page.Report, error) {
	return g.report(), nil
}

func (g *growing) Evidence(_ context.Context, _, trial, _ string) (page.Evidence, error) {
	return g.report().Read(trial)
}

// TestFocusOutlivesNews looks at a run that goes on: what has the focus keeps it when the
// page is drawn anew, and news that nobody asked for are not read out.
func TestFocusOutlivesNews(t *testing.T) {
	t.Parallel()
	w := openBrowser(t)
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = web.New(&growing{}, server.Listener.Addr().(*net.TCPAddr).Port)
	server.Start()
	t.Cleanup(server.Close)
	const focused = `document.activeElement.tagName + document.activeElement.outerHTML.replace(/<.*?>|[0-9]/g, '').slice(0, 200)`
	outlives := func(place, news string) {
		t.Helper()
		w.do(chromedp.Evaluate(`document.querySelector('`+place+`').focus()`, nil))
		before, was := eval[string](w, focused), eval[int](w, news)
		w.await(news + ` > ` + strconv.Itoa(was))
		is(w, focused, before)
		if strings.HasPrefix(before, "BODY") {
			t.Errorf("%s cannot have the focus", place)
		}
	}
	w.visit(server.URL + "/runs/r")
	const rows = `Number(document.querySelector('table.grid').getAttribute('aria-rowcount'))`
	for _, place := range []string{`.sections li:last-child a`, `#invalid a`, `#search`, `table.grid tbody tr[tabindex="0"]`} {
		outlives(place, rows)
	}
	is(w, `document.getElementById('live').textContent`, "")
	w.do(chromedp.Evaluate(`document.querySelector('table.grid tbody td a').click()`, nil), chromedp.WaitVisible(`.trialbody[data-ready]`, chromedp.ByQuery))
	w.do(chromedp.Evaluate(`document.querySelector('li:nth-child(3) > .step summary').click()`, nil))
	for _, place := range []string{`#trialname`, `.backlink`, `li:nth-child(3) > .step summary`} {
		outlives(place, `document.querySelectorAll('.step').length`)
	}
	is(w, `document.querySelector('li:nth-child(3) > .step').open`, true)
	w.alone(server.URL)
}
