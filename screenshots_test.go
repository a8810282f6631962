package main_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// TestScreenshots takes the pictures of docs/report.md; make screenshots asks for it.
func TestScreenshots(t *testing.T) {
	if os.Getenv("AGENTCLASH_SCREENSHOTS") != "1" {
		t.Skip("make screenshots takes the pictures of the report")
	}
	w := openBrowser(t)
	agentclash, _ := exampleStore(t)
	file := filepath.Join(t.TempDir(), "report.html")
	if out, err := agentclash("run", "report", "next", "-o", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.visit("file://" + file)
	top := eval[float64](w, `document.querySelector('#comparison').offsetTop`)
	w.picture("report-light", "light", 0, 900)
	w.picture("report-dark", "dark", 0, 900)
	w.picture("report-comparison", "light", top, 720)
	w.picture("report-trials", "light", eval[float64](w, `document.querySelector('#distributions').offsetTop`), 900)
	w.do(chromedp.Evaluate(`[...document.querySelectorAll('table.grid td a')].find((a) => a.textContent === 'cart-merge').click()`, nil), chromedp.WaitVisible(`.trialbody[data-ready]`, chromedp.ByQuery))
	w.do(chromedp.Evaluate(`document.querySelectorAll('.step[data-kind=tool_call]')[1].open = true`, nil))
	w.picture("report-trial", "light", 0, 1150)
	w.picture("report-diff", "dark", eval[float64](w, `document.querySelector('#judges').offsetTop - 90`), 1150)
	w.alone("file://" + file)
}

// picture takes a part of the page.
func (w *window) picture(name, scheme string, top, height float64) {
	w.Helper()
	var raw []byte
	w.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.ActionFunc(func(ctx context.Context) (err error) {
			raw, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatPng).WithCaptureBeyondViewport(true).
				WithClip(&page.Viewport{X: 0, Y: top, Width: 1240, Height: height, Scale: 1}).Do(ctx)
			return err
		}))
	const most = 150 << 10
	if len(raw) > most {
		w.Errorf("%s has %d bytes, more than %d", name, len(raw), most)
	}
	path := filepath.Join("docs", "images", strings.ToLower(name)+".png")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		w.Fatal(err)
	}
}
