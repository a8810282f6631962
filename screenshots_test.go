package main_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// TestScreenshots takes the pictures of docs/report.md; make screenshots asks for it. Kept
// runs at a time that stands still give the same page, and that the same pictures but for
// some points at the edges of what is round.
func TestScreenshots(t *testing.T) {
	if os.Getenv("AGENTCLASH_SCREENSHOTS") != "1" {
		t.Skip("make screenshots takes the pictures of the report")
	}
	w := openBrowser(t)
	s := newStage(t)
	s.keepRuns()
	file := filepath.Join(s.dir, "report.html")
	s.must("run", "report", "next", "-o", file)
	w.visit("file://" + file)
	top := eval[float64](w, `document.querySelector('#comparison').offsetTop`)
	w.picture("report-light", "light", 0, 900)
	w.picture("report-dark", "dark", 0, 900)
	w.picture("report-comparison", "light", top, 720)
	w.picture("report-trials", "light", eval[float64](w, `document.querySelector('#distributions').offsetTop`), 900)
	w.do(chromedp.Evaluate(`[...document.querySelectorAll('table.grid td a')].find((a) => a.textContent === 'cart-merge').click()`, nil), chromedp.WaitVisible(`.trialbody[data-ready]`, chromedp.ByQuery))
	w.do(chromedp.Evaluate(`document.querySelectorAll('.step[data-kind=tool_call]')[1].open = true`, nil))
	w.picture("report-trial", "light", 0, 1150)
	w.picture("report-timeline", "dark", eval[float64](w, `document.querySelector('#judges').offsetTop - 90`), 1150)
	w.alone("file://" + file)
}

// picture takes a part of the page in a scheme of colours.
func (w *window) picture(name, scheme string, top, height float64) {
	w.Helper()
	w.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
	w.keepPicture(name, w.cut(1240, top, height))
}

// cut is a picture of a part of the page.
func (w *window) cut(width, top, height float64) []byte {
	w.Helper()
	var last []byte
	for range 20 { // what is still being painted comes out differently
		var raw []byte
		w.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
			raw, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatPng).WithCaptureBeyondViewport(true).
				WithClip(&page.Viewport{X: 0, Y: math.Floor(top), Width: width, Height: height, Scale: 1}).Do(ctx)
			return err
		}))
		if bytes.Equal(raw, last) {
			break
		}
		last = raw
	}
	return last
}

// keepPicture keeps a picture that is not too large for a page.
func (w *window) keepPicture(name string, raw []byte) {
	w.Helper()
	const most = 150 << 10
	if len(raw) > most {
		w.Errorf("%s has %d bytes, more than %d", name, len(raw), most)
	}
	keepText(w.T, filepath.Join("docs", "images", strings.ToLower(name)+".png"), string(raw))
}
