package site

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/report/page"
	"github.com/agentclash/agentclash/cmd/report/web"
	"github.com/agentclash/agentclash/cmd/runs"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// servePort is where runs are shown unless another port is named.
const servePort = 7357

// NewServe is agentclash serve: runs in a browser of this machine.
func NewServe(a *cli.App) *cobra.Command {
	var port int
	c := &cobra.Command{
		Use: "serve", Short: "Show runs in a browser on this machine, live",
		Long: `Show the runs of the store in a browser: a list to search, a page for each run
that goes on as the run does, and comparisons of two runs. It is answered on
this machine only (127.0.0.1), to no other site, and changes nothing.

It ends with Ctrl-C.`,
		Example: "  agentclash serve\n  agentclash serve --port 0 --json",
		Args:    cli.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runServe(c.Context(), a, port) },
	}
	c.Flags().IntVar(&port, "port", servePort, "port to listen at (0: any that is free)")
	return c
}

func runServe(ctx context.Context, a *cli.App, port int) error {
	if port < 0 || port > 65535 {
		return cli.Usage("--port must be 0 to 65535, not %d", port)
	}
	db, err := a.Stored(ctx)
	if err != nil {
		return err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return (&cli.Failure{Status: cli.StatusUnavailable, Code: "address_in_use", Err: fmt.Errorf("listen at port %d: %w", port, err)}).
			Hint("agentclash serve --port 0")
	}
	address := listener.Addr().(*net.TCPAddr)
	d := view.Served{Address: "http://" + address.String() + "/", Port: address.Port}
	if err := a.Print(d, func(w io.Writer, _ view.Options) error { return view.Serving(w, d) }); err != nil {
		return errors.Join(err, listener.Close())
	}
	a.Say("Ctrl-C ends it")
	from := &served{a: a, workspace: workspace, now: reading{db, declaredIn(db)}}
	err = serve(ctx, listener, web.New(from, address.Port))
	return errors.Join(err, from.close())
}

const (
	// headerTime and answerTime bound what a browser that stalls takes up.
	headerTime = 10 * time.Second
	answerTime = 2 * time.Minute
	// closeTime is how long answers may take that are under way at the end.
	closeTime = 2 * time.Second
)

// serve answers until ctx ends.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, WriteTimeout: answerTime, IdleTimeout: answerTime,
		MaxHeaderBytes: 16 << 10, DisableGeneralOptionsHandler: true, BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog: log.New(io.Discard, "", 0), // of what browsers do wrong
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer stop()
	if err := s.Shutdown(closing); err != nil {
		_ = s.Close() // what still goes on is cut off
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// served is the store as a browser is shown it.
type served struct {
	a         *cli.App
	workspace string
	mu        sync.Mutex
	now       reading
}

// reading is a store that is open, and what is remembered of it.
type reading struct {
	db       *store.DB
	declared func(ctx context.Context, packID string) ([]scoring.Validator, error)
}

// reading is the store as it is now: one that was removed, replaced or changed where that
// cannot be followed is opened again. Answers that are under way end with the one before.
func (s *served) reading(ctx context.Context) (reading, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.now.db.Stale() {
		return s.now, nil
	}
	db, err := store.Open(ctx, store.Options{Path: s.now.db.Path(), Now: s.a.Process.Now, ReadOnly: true})
	if err != nil {
		return reading{}, err
	}
	before := s.now.db
	time.AfterFunc(answerTime, func() { _ = before.Close() }) // nothing was written through it
	s.now = reading{db, declaredIn(db)}
	return s.now, nil
}

// close closes the store that is open now.
func (s *served) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.db.Close()
}

func (s *served) Runs(ctx context.Context, search string, limit, offset int) (view.Page[view.Run], error) {
	p := view.Page[view.Run]{Limit: limit, Offset: offset}
	now, err := s.reading(ctx)
	if err != nil {
		return p, err
	}
	list, total, err := now.db.Runs(ctx, store.RunFilter{Workspace: s.workspace, Search: search, Limit: limit, Offset: offset})
	if err != nil {
		return p, err
	}
	p.Total, p.HasMore = total, offset+len(list) < total
	for _, r := range list {
		v, err := runs.ViewRun(ctx, s.a, now.db, r)
		if err != nil {
			return p, err
		}
		p.Items = append(p.Items, v)
	}
	return p, nil
}

func (s *served) page(ctx context.Context, runID, against string) (*pageSource, error) {
	now, err := s.reading(ctx)
	if err != nil {
		return nil, err
	}
	run, err := now.db.Run(ctx, s.workspace, runID)
	if err != nil {
		return nil, webFailure(err)
	}
	if cli.LooksLikePath(against) {
		return nil, fmt.Errorf("%w: no file is read for a browser", web.ErrRequest)
	}
	p := pageOf(s.a, now.db, run, against)
	p.declared = now.declared
	return p, nil
}

// Version is the state of the run, how many trials it has in each, what they are held
// against, and what is attached to it.
func (s *served) Version(ctx context.Context, runID, against string) (string, error) {
	p, err := s.page(ctx, runID, against)
	if err != nil {
		return "", err
	}
	run := p.run
	agents, err := p.db.RunAgents(ctx, run.ID)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, run.Status, run.FinishedAt.UnixNano(), against)
	for _, agent := range agents {
		tally, err := p.db.Tally(ctx, agent.ID)
		if err != nil {
			return "", err
		}
		other, _, err := verdict.RivalOf(ctx, s.a, p.db, p.run, p.against, agent)
		if err != nil {
			return "", webFailure(err)
		}
		fmt.Fprintln(sum, agent.Status, maps.Clone(tally), other.Agent.ID, other.Agent.Status) // maps are printed in the order of their keys
	}
	newest, total, err := p.db.Artifacts(ctx, store.ArtifactFilter{Workspace: s.workspace, RunID: run.ID, Limit: 1})
	if err != nil {
		return "", err
	}
	for _, one := range newest {
		fmt.Fprintln(sum, total, one.ID)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12]), nil
}

func (s *served) Report(ctx context.Context, runID, against string) (page.Report, error) {
	p, err := s.page(ctx, runID, against)
	if err != nil {
		return page.Report{}, err
	}
	r, err := p.report(ctx)
	return r, webFailure(err)
}

func (s *served) Evidence(ctx context.Context, runID, trialID, against string) (page.Evidence, error) {
	p, err := s.page(ctx, runID, against)
	if err != nil {
		return page.Evidence{}, err
	}
	t, err := p.db.Trial(ctx, s.workspace, trialID)
	if err != nil {
		return page.Evidence{}, webFailure(err)
	}
	agent, err := p.db.RunAgent(ctx, s.workspace, p.run.ID, t.RunAgentID)
	if err != nil {
		return page.Evidence{}, webFailure(err)
	}
	other, ok, err := verdict.RivalOf(ctx, s.a, p.db, p.run, p.against, agent) // its results are not read again for each trial that is opened
	if err != nil {
		return page.Evidence{}, webFailure(err)
	}
	if ok {
		p.others[agent.ID] = other
	}
	e, err := p.evidence(ctx, t.ID)
	return e, webFailure(err)
}

// Artifact is a file that was attached to a run, unless it is private.
func (s *served) Artifact(ctx context.Context, runID, artifactID string) (web.File, error) {
	now, err := s.reading(ctx)
	if err != nil {
		return web.File{}, err
	}
	run, err := now.db.Run(ctx, s.workspace, runID)
	if err != nil {
		return web.File{}, webFailure(err)
	}
	found, err := now.db.Artifact(ctx, s.workspace, artifactID)
	if err != nil {
		return web.File{}, webFailure(err)
	}
	if found.RunID != run.ID || found.Visibility != selector.WorkspaceVisibility {
		return web.File{}, fmt.Errorf("%w: the page of run %s shows no such artifact", web.ErrNotFound, run.Name)
	}
	return web.File{Name: selector.ViewArtifact(found).Name, Size: found.Size,
		Write: func(w io.Writer) error { return now.db.ReadArtifact(ctx, found, w) }}, nil
}

// webFailure says of an error whose fault it is.
func webFailure(err error) error {
	var f *cli.Failure
	var several *store.AmbiguousError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &several):
		return fmt.Errorf("%w: %w", web.ErrRequest, err)
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%w: %w", web.ErrNotFound, err)
	case errors.As(err, &f) && f.Status == cli.StatusNotFound:
		return fmt.Errorf("%w: %w", web.ErrNotFound, err)
	case errors.As(err, &f) && f.Status == cli.StatusUsage:
		return fmt.Errorf("%w: %s", web.ErrRequest, cmp.Or(f.Error(), "it cannot be done"))
	}
	return err
}
