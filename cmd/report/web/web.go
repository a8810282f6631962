package web

import (
	"bytes"
	"context"
	"errors"
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
}

// ErrNotFound is the error for a run, a trial or a file that is not there.
var ErrNotFound = errors.New("not found")

// ErrRequest is the error for a request that makes no sense.
var ErrRequest = errors.New("the request makes no sense")

// atOnce is how many answers are made at a time: a report is read as a whole.
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
	mux.HandleFunc("/runs/{run}/trials/{trial}", s.one(s.trial))
	mux.HandleFunc("/runs/{run}/trials/{trial}/events.jsonl", s.one(s.events))
	mux.HandleFunc("/runs/{run}/trials/{trial}/files/{number}", s.one(s.captured))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "there is no such page") })
	return guarded(port, mux)
}

// one makes a handler of one that returns errors, and waits for its turn.
func (s *server) one(answer func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-r.Context().Done():
			return
		}
		switch err := answer(w, r); {
		case err == nil || r.Context().Err() != nil:
		case errors.Is(err, ErrNotFound):
			refuse(w, http.StatusNotFound, "not found: "+view.SanitizeLine(err.Error()))
		case errors.Is(err, ErrRequest):
			refuse(w, http.StatusBadRequest, view.SanitizeLine(err.Error()))
		default:
			refuse(w, http.StatusInternalServerError, view.SanitizeLine(err.Error()))
		}
	}
}

func (s *server) index(w http.ResponseWriter, r *http.Request) error {
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
	return page.WriteIndex(w, page.Index{Search: search, Runs: runs})
}

// compare leads to the report of the candidate.
func (s *server) compare(w http.ResponseWriter, r *http.Request) error {
	baseline, candidate := r.FormValue("baseline"), r.FormValue("candidate")
	if baseline == "" || candidate == "" || baseline == candidate {
		return errors.Join(ErrRequest, errors.New("choose two different runs: a baseline and a candidate"))
	}
	http.Redirect(w, r, "/runs/"+url.PathEscape(candidate)+"?compare="+url.QueryEscape(baseline)+"#section=comparison", http.StatusSeeOther)
	return nil
}

func (s *server) report(w http.ResponseWriter, r *http.Request) error {
	rep, err := s.from.Report(r.Context(), r.PathValue("run"), r.FormValue("compare"))
	if err != nil {
		return err
	}
	rep.Served = true
	html(w, page.ReportPolicy())
	_, err = page.Write(w, rep)
	return err
}

// data is what a page that is open asks for again and again.
func (s *server) data(w http.ResponseWriter, r *http.Request) error {
	run, compare := r.PathValue("run"), r.FormValue("compare")
	version, err := s.from.Version(r.Context(), run, compare)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", strconv.Quote(version))
	if r.Header.Get("If-None-Match") == strconv.Quote(version) {
		w.WriteHeader(http.StatusNotModified)
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
func (s *server) file(w http.ResponseWriter, r *http.Request) error {
	rep, err := s.from.Report(r.Context(), r.PathValue("run"), r.FormValue("compare"))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if _, err := page.Write(&b, rep); err != nil {
		return err
	}
	attach(w, "report-"+view.ShortID(rep.Run.RunID)+".html")
	_, err = w.Write(b.Bytes())
	return err
}

func (s *server) evidence(r *http.Request) (page.Evidence, error) {
	return s.from.Evidence(r.Context(), r.PathValue("run"), r.PathValue("trial"), r.FormValue("compare"))
}

func (s *server) trial(w http.ResponseWriter, r *http.Request) error {
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

func (s *server) events(w http.ResponseWriter, r *http.Request) error {
	e, err := s.evidence(r)
	if err != nil {
		return err
	}
	raw, err := page.Facts(e.Events)
	if err != nil {
		return err
	}
	attach(w, "trial-"+view.ShortID(e.Trial.TrialID)+"-events.jsonl")
	_, err = w.Write(raw)
	return err
}

// captured hands out a file by its number, never by a path.
func (s *server) captured(w http.ResponseWriter, r *http.Request) error {
	e, err := s.evidence(r)
	if err != nil {
		return err
	}
	files := page.Files(e.Events)
	n, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || n < 0 || n >= len(files) || files[n].Directory || !files[n].Exists {
		return ErrNotFound
	}
	attach(w, path.Base(strings.ReplaceAll(files[n].Path, `\`, "/")))
	_, err = w.Write([]byte(files[n].Content))
	return err
}

// attach has a browser keep an answer as a file and never show it.
func attach(w http.ResponseWriter, name string) {
	name = strings.Trim(view.SanitizeLine(strings.ToValidUTF8(name, "_")), ". ")
	if name == "" || name == "/" || !utf8.ValidString(name) {
		name = "file"
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": view.Clip(name, 120)}))
}

func html(w http.ResponseWriter, policy string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy+"; frame-ancestors 'none'")
}

func asJSON(w http.ResponseWriter, raw []byte) error {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, err := w.Write(raw)
	return err
}
