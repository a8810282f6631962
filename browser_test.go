package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A window is a page of a headless browser and what went on behind it.
type window struct {
	*testing.T
	context.Context

	mu       sync.Mutex
	wrong    []string // errors on its console, exceptions, refusals of its policy
	requests []string
}

// openBrowser opens a window of its own, or skips the test where no browser is
// found. CI demands one.
func openBrowser(t *testing.T) *window {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	switch {
	case path == "" && os.Getenv("AGENTCLASH_REQUIRE_BROWSER") == "1":
		t.Fatal("no browser is found, and AGENTCLASH_REQUIRE_BROWSER=1 wants one: apt-get install chromium")
	case path == "":
		t.Skip("no browser is found: install chromium to test the report in one")
	}
	// a root user's browser starts without its own sandbox only; it opens our pages alone
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1240, 900),
		chromedp.Flag("force-color-profile", "srgb"), chromedp.WSURLReadTimeout(2*time.Minute))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, leave := chromedp.NewContext(ctx)
	t.Cleanup(leave)
	w := &window{T: t, Context: ctx}
	chromedp.ListenTarget(ctx, w.hear)
	// the first to run starts the browser, which ends with its context
	if err := chromedp.Run(ctx, network.Enable(), log.Enable(), runtime.Enable()); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return w
}

func (w *window) hear(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		w.wrong = append(w.wrong, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			w.wrong = append(w.wrong, "console: "+string(e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			w.wrong = append(w.wrong, e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "blob:") {
			w.requests = append(w.requests, e.Request.URL)
		}
	}
}

func (w *window) do(actions ...chromedp.Action) {
	w.Helper()
	ctx, stop := context.WithTimeout(w.Context, 2*time.Minute) // a fault, not a measure
	defer stop()
	if err := chromedp.Run(ctx, actions...); err != nil {
		w.Fatalf("%v (the page says: %v)", err, w.quiet())
	}
}

// visit opens a page and waits until it is ready.
func (w *window) visit(url string) {
	w.Helper()
	w.do(chromedp.Navigate(url), chromedp.WaitReady("html[data-ready]", chromedp.ByQuery))
}

// eval runs an expression in the page.
func eval[T any](w *window, expression string) (v T) {
	w.Helper()
	w.do(chromedp.Evaluate(expression, &v))
	return v
}

// await waits until an expression is true in the page. It asks from outside: the
// page's policy lets no text be run in it.
func (w *window) await(expression string) {
	w.Helper()
	for range 400 {
		if eval[bool](w, expression) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.Fatalf("%s does not become true (the page says: %v)", expression, w.quiet())
}

// is holds an expression against what it must be.
func is[T comparable](w *window, expression string, want T) {
	w.Helper()
	if got := eval[T](w, expression); got != want {
		w.Errorf("%s is %v, want %v", expression, got, want)
	}
}

// quiet is what went wrong so far.
func (w *window) quiet() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.wrong)
}

// alone sees that nothing went wrong, and that nothing but these was asked for.
func (w *window) alone(asked ...string) {
	w.Helper()
	for _, text := range w.quiet() {
		w.Errorf("the page says: %s", text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, url := range w.requests {
		if !slices.ContainsFunc(asked, func(a string) bool { return strings.HasPrefix(url, a) }) {
			w.Errorf("the page asked for %s", url)
		}
	}
}

// exampleStore runs the example of docs/report.md: a baseline and a candidate.
func exampleStore(t *testing.T) (command func(args ...string) *exec.Cmd, home string) {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	home = t.TempDir()
	command = func(args ...string) *exec.Cmd {
		c := exec.Command(bin, args...)
		c.Dir = filepath.Join(mustAbs(t, "testdata"), "report")
		c.Env = append(os.Environ(), "AGENTCLASH_HOME="+home, "AGENTCLASH_SECRET_STORE=file", "CI=")
		return c
	}
	for _, args := range [][]string{
		{"eval", "start", "--pack", "pack.yaml", "--model", "scripted/steady.yaml", "--name", "steady", "--sandbox", "scratch", "--concurrency", "8", "--quiet"},
		{"baseline", "set", "steady", "--quiet"},
		{"eval", "start", "--pack", "pack.yaml", "--model", "scripted/next.yaml", "--name", "next", "--sandbox", "scratch", "--concurrency", "8", "--retry-invalid", "0", "--quiet"},
	} {
		if out, err := command(args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return command, home
}
