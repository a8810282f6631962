package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentclash/agentclash/cmd/report/page"
	"github.com/agentclash/agentclash/cmd/view"
)

// Source is where answers come from. What is not there is [ErrNotFound]; a
// comparison that makes no sense is an error that says why.
type Source interface {
	Runs(ctx context.Context, search string, limit, offset int) (view.Page[view.Run], error)
	// Version changes whenever what Report returns does.
	Version(ctx context.Context, runID, compare string) (string, error)
	Report(ctx context.Context, runID, compare string) (page.Report, error)
	Evidence(ctx context.Context, runID, trialID, compare string) (page.Evidence, error)
	Artifact(ctx context.Context, runID, artifactID string) (File, error)
}

// File is a file to hand out. What Write could not read ends as an error before the
// last of its bytes.
type File struct {
	Name  string
	Size  int64
	Write func(io.Writer) error
}

// ErrNotFound is the error for a run, a trial or a file that is not there.
var ErrNotFound = errors.New("not found")

// ErrRequest is the error for a request that makes no sense.
var ErrRequest = errors.New("the request makes no sense")

// atOnce is how many answers are made at a time: a report is read as a whole. An answer
// is handed over when it is made, so that who takes it slowly keeps nobody waiting.
const atOnce = 2

// pageSize is how many runs a page of the list has.
const pageSize = 50

type server struct {
	from  Source
	slots chan struct{}
}

// New answers requests to a loopback address at this port.
func New(from Source, port int) http.Handler {
	s := &server{from: from, slots: make(chan struct{}, atOnce)}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", s.one(s.index))
	mux.HandleFunc("/compare", s.one(s.compare))
	mux.HandleFunc("/runs/{run}", s.one(s.report))
	mux.HandleFunc("/runs/{run}/data.json", s.one(s.data))
	mux.HandleFunc("/runs/{run}/report.html", s.one(s.file))
	mux.HandleFunc("/runs/{run}/artifacts/{artifact}", s.artifact)
	mux.HandleFunc("/runs/{run}/trials/{trial}", s.one(s.trial))
	mux.HandleFunc("/runs/{run}/trials/{trial}/events.jsonl", s.one(s.events))
	mux.HandleFunc("/runs/{run}/trials/{trial}/files/{number}", s.one(s.captured))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "there is no such page") })
	return guarded(port, mux)
}

// answer is what is made of a request. The headers of a refusal are its own.
type answer struct {
	http.Header
	status int
	body   bytes.Buffer
}

// one makes a handler of one that returns errors, and waits for its turn.
func (s *server) one(make func(*answer, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.slots <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		a := &answer{Header: http.Header{}, status: http.StatusOK}
		err := func() error {
			defer func() { <-s.slots }()
			return make(a, r)
		}()
		if r.Context().Err() != nil {
			return
		}
		if err != nil {
			refused(w, err)
			return
		}
		maps.Copy(w.Header(), a.Header)
		if a.status == http.StatusOK {
			w.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
		}
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body.Bytes()) // who has gone needs no answer
	}
}

// refused says what is wrong with a request, or with us.
func refused(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, ErrNotFound):
		refuse(w, http.StatusNotFound, view.SanitizeLine(err.Error()))
	case errors.Is(err, ErrRequest):
		refuse(w, http.StatusBadRequest, view.SanitizeLine(err.Error()))
	default:
		refuse(w, http.StatusInternalServerError, view.SanitizeLine(err.Error()))
	}
}

func (s *server) index(w *answer, r *http.Request) error {
	offset, err := strconv.Atoi(r.FormValue("offset"))
	if err != nil || offset < 0 {
		offset = 0
	}
	search := view.Clip(r.FormValue("q"), 200)
	runs, err := s.from.Runs(r.Context(), search, pageSize, offset)
	if err != nil {
		return err
	}
	html(w, page.IndexPolicy())
	return page.WriteIndex(&w.body, page.Index{Search: search, Runs: runs})
}

// compare leads to the report of the candidate.
func (s *server) compare(w *answer, r *http.Request) error {
	baseline, candidate := r.FormValue("baseline"), r.FormValue("candidate")
	if baseline == "" || candidate == "" || baseline == candidate {
		return errors.Join(ErrRequest, errors.New("choose two different runs: a baseline and a candidate"))
	}
	w.Set("Location", "/runs/"+url.PathEscape(candidate)+"?compare="+url.QueryEscape(baseline)+"#section=comparison")
	w.status = http.StatusSeeOther
	return nil
}

func (s *server) report(w *answer, r *http.Request) error {
	rep, err := s.from.Report(r.Context(), r.PathValue("run"), r.FormValue("compare"))
	if err != nil {
		return err
	}
	rep.Served = true
	html(w, page.ReportPolicy())
	_, err = page.Write(&w.body, rep)
	return err
}

// data is what a page that is open asks for again and again.
func (s *server) data(w *answer, r *http.Request) error {
	run, compare := r.PathValue("run"), r.FormValue("compare")
	version, err := s.from.Version(r.Context(), run, compare)
	if err != nil {
		return err
	}
	w.Set("Cache-Control", "no-cache")
	w.Set("ETag", strconv.Quote(version))
	if r.Header.Get("If-None-Match") == strconv.Quote(version) {
		w.status = http.StatusNotModified
		return nil
	}
	rep, err := s.from.Report(r.Context(), run, compare)
	if err != nil {
		return err
	}
	rep.Served = true
	raw, err := page.Data(rep)
	if err != nil {
		return err
	}
	return asJSON(w, raw)
}

// file is the page that needs no server, to be kept.
func (s *server) file(w *answer, r *http.Request) error {
	rep, err := s.from.Report(r.Context(), r.PathValue("run"), r.FormValue("compare"))
	if err != nil {
		return err
	}
	attach(w.Header, "report-"+view.ShortID(rep.Run.RunID)+".html")
	_, err = page.Write(&w.body, rep)
	return err
}

func (s *server) evidence(r *http.Request) (page.Evidence, error) {
	return s.from.Evidence(r.Context(), r.PathValue("run"), r.PathValue("trial"), r.FormValue("compare"))
}

func (s *server) trial(w *answer, r *http.Request) error {
	e, err := s.evidence(r)
	if err != nil {
		return err
	}
	raw, err := page.ServedDetail(e)
	if err != nil {
		return err
	}
	return asJSON(w, raw)
}

func (s *server) events(w *answer, r *http.Request) error {
	e, err := s.evidence(r)
	if err != nil {
		return err
	}
	raw, err := page.Facts(e.Events)
	if err != nil {
		return err
	}
	attach(w.Header, "trial-"+view.ShortID(e.Trial.TrialID)+"-events.jsonl")
	w.body.Write(raw)
	return nil
}

// captured hands out a file by its number, never by a path.
func (s *server) captured(w *answer, r *http.Request) error {
	e, err := s.evidence(r)
	if err != nil {
		return err
	}
	files := page.Files(e.Events)
	n, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || n < 0 || n >= len(files) || files[n].Directory || !files[n].Exists {
		return ErrNotFound
	}
	attach(w.Header, files[n].Path)
	w.body.WriteString(files[n].Content)
	return nil
}

// artifact hands out a file that may be large, as it is read. A browser sees that it is
// not whole by its length.
func (s *server) artifact(w http.ResponseWriter, r *http.Request) {
	f, err := s.from.Artifact(r.Context(), r.PathValue("run"), r.PathValue("artifact"))
	if err != nil {
		refused(w, err)
		return
	}
	attach(w.Header(), f.Name)
	w.Header().Set("Content-Length", strconv.FormatInt(f.Size, 10))
	if r.Method == http.MethodHead {
		return
	}
	if err := f.Write(w); err != nil {
		panic(http.ErrAbortHandler) // what is there of it must not look whole
	}
}

// attach has a browser keep an answer as a file and never show it.
func attach(h http.Header, name string) {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Trim(view.SanitizeLine(strings.ToValidUTF8(name, "_")), ". ")
	if name == "" || name == "/" || !utf8.ValidString(name) {
		name = "file"
	}
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": view.Clip(name, 120)}))
}

func html(w *answer, policy string) {
	w.Set("Content-Type", "text/html; charset=utf-8")
	w.Set("Content-Security-Policy", policy+"; frame-ancestors 'none'")
}

func asJSON(w *answer, raw []byte) error {
	w.Set("Content-Type", "application/json; charset=utf-8")
	w.body.Write(raw)
	return nil
}
