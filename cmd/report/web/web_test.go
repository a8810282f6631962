package web_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/agentclash/agentclash/cmd/report/page"
	"github.com/agentclash/agentclash/cmd/report/page/pagetest"
	"github.com/agentclash/agentclash/cmd/report/web"
	"github.com/agentclash/agentclash/cmd/view"
)

// one is a store of one run, with an artifact that is read as far as it is whole.
type one struct{ artifact web.File }

func (one) Runs(context.Context, string, int, int) (p view.Page[view.Run], err error) {
	p.Items, p.Total = view.List[view.Run]{pagetest.Run(1, 1).Run}, 1
	return p, nil
}

func (one) Version(context.Context, string, string) (string, error) { return "1", nil }

func (one) Report(context.Context, string, string) (page.Report, error) {
	return pagetest.Run(1, 1), nil
}

func (one) Evidence(_ context.Context, _, trial, _ string) (page.Evidence, error) {
	return pagetest.Run(1, 1).Read(trial)
}

func (o one) Artifact(context.Context, string, string) (web.File, error) {
	if o.artifact.Write == nil {
		return o.artifact, web.ErrNotFound
	}
	return o.artifact, nil
}

func ask(path string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "127.0.0.1:7357"
	return r
}

// stalled is a browser that takes nothing of an answer until it is let go.
type stalled struct {
	*httptest.ResponseRecorder
	begun chan<- struct{}
	free  <-chan struct{}
}

func (s stalled) Write(p []byte) (int, error) {
	s.begun <- struct{}{}
	<-s.free
	return len(p), nil
}

// TestSlowBrowsers sees that browsers which take their answers slowly keep no other one
// waiting.
func TestSlowBrowsers(t *testing.T) {
	h := web.New(one{}, 7357)
	begun, free := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for _, path := range []string{"/", "/runs/r", "/runs/r/data.json", "/runs/r/report.html"} {
		all.Go(func() { h.ServeHTTP(stalled{httptest.NewRecorder(), begun, free}, ask(path)) })
		<-begun
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, ask("/runs/r"))
	if w.Code != http.StatusOK || !strings.HasSuffix(w.Body.String(), "</html>\n") {
		t.Errorf("status %d, %d bytes", w.Code, w.Body.Len())
	}
	close(free)
	all.Wait()
}

// TestArtifact sees that a file is handed out under a harmless name, as a file, and that
// one which cannot be read to its end is not taken for whole.
func TestArtifact(t *testing.T) {
	broken := errors.New("the disk")
	for name, row := range map[string]struct {
		file   web.File
		status int
		named  string
	}{
		"none":    {status: http.StatusNotFound},
		"whole":   {file: web.File{Name: "../../a\r\nSet-Cookie: b.html", Size: 3, Write: func(w io.Writer) error { _, err := io.WriteString(w, "abc"); return err }}, status: http.StatusOK, named: `attachment; filename="a Set-Cookie: b.html"`},
		"no name": {file: web.File{Size: 0, Write: func(io.Writer) error { return nil }}, status: http.StatusOK, named: "attachment; filename=file"},
		"broken":  {file: web.File{Name: "a", Size: 9, Write: func(w io.Writer) error { _, _ = io.WriteString(w, "abc"); return broken }}, status: http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if cut := recover() != nil; cut != (name == "broken") {
					t.Errorf("the connection is cut: %v", cut)
				}
			}()
			w := httptest.NewRecorder()
			web.New(one{row.file}, 7357).ServeHTTP(w, ask("/runs/r/artifacts/x"))
			if w.Code != row.status || w.Header().Get("Content-Disposition") != row.named {
				t.Errorf("status %d, %q", w.Code, w.Header().Get("Content-Disposition"))
			}
			if row.status == http.StatusNotFound && w.Body.String() != "not found\n" {
				t.Errorf("it is said as %q", w.Body)
			}
			if row.named != "" && w.Header().Get("Content-Type") != "application/octet-stream" {
				t.Errorf("headers: %v", w.Header())
			}
		})
	}
}
