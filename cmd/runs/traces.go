package runs

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/otlp"
	"github.com/agentclash/agentclash/store"
	"github.com/agentclash/agentclash/store/bundle"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpguts"
)

// traceTime is how long a collector is waited for when a run has ended.
const traceTime = 15 * time.Second

// TraceOptions are where a run's traces go.
type TraceOptions struct {
	Endpoint string
	content  bool
	flag     *pflag.Flag // of the endpoint
}

// AddFlags adds --otlp and what belongs to it.
func (o *TraceOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Endpoint, "otlp", "", "export traces to this OpenTelemetry collector, such as http://localhost:4318")
	o.flag = f.Lookup("otlp")
	f.BoolVar(&o.content, "otlp-content", false, "with --otlp: also export what models and tools were told and said")
}

// Check refuses traces that could be sent nowhere.
func (o *TraceOptions) Check() error {
	if o.Endpoint == "" {
		if o.flag != nil && o.flag.Changed {
			return cli.Usage("--otlp is empty: write --otlp http://localhost:4318, or leave it out to export nothing")
		}
		if o.content {
			return cli.Usage("--otlp-content says what --otlp exports: give both")
		}
		return nil
	}
	if err := otlp.CheckEndpoint(o.Endpoint); err != nil {
		return cli.Usage("--otlp %q: %w", o.Endpoint, err)
	}
	return nil
}

func traceSink(ctx context.Context, a *cli.App, o TraceOptions, wait bool) (*otlp.Sink, error) {
	headers, err := traceHeaders(a.Process.Getenv(traceHeaderVar))
	if err != nil {
		return nil, err
	}
	if _, err := a.ProxyFor(o.Endpoint); err != nil {
		return nil, err
	}
	return otlp.New(ctx, otlp.Options{
		Endpoint: o.Endpoint, Content: o.content, Version: cli.ReadBuildInfo().Version, Headers: headers, Proxy: http.ProxyFromEnvironment, Wait: wait,
	})
}

// traceHeaderVar holds headers as the OpenTelemetry specification has them:
// name=value,name=value, percent-encoded.
const traceHeaderVar = "OTEL_EXPORTER_OTLP_HEADERS"

func traceHeaders(list string) (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || err != nil || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, cli.Usage("%s: it is no list of name=value pairs with commas between them", traceHeaderVar)
		}
		headers[name] = value
	}
	return headers, nil
}

// ExportLive exports a run while it happens. exported waits for the collector
// when the run has ended, and says what it did not take.
func ExportLive(ctx context.Context, a *cli.App, o TraceOptions) (views []event.Sink, exported func(), err error) {
	if o.Endpoint == "" {
		return nil, func() {}, nil
	}
	s, err := traceSink(ctx, a, o, false)
	if err != nil {
		return nil, nil, err
	}
	return []event.Sink{s}, func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), traceTime)
		defer stop()
		if err := s.Close(ctx); err != nil {
			a.Say("! the traces are not all at %s: %v; agentclash run export --otlp URL sends them again", o.Endpoint, err)
		}
	}, nil
}

// NewRunExport is agentclash run export: a run as a file for run import, or as traces for
// a collector.
func NewRunExport(a *cli.App) *cobra.Command {
	var o TraceOptions
	var force bool
	c := &cobra.Command{
		Use: "export [RUN] [FILE.acb]", Short: "Export a run: as one file, or as OpenTelemetry traces",
		Long: `With FILE.acb, write everything of a run that is over into one file: its plan, its
pack with the files, events, scorecards, rescorings and gates. run import takes it
in on another machine. No secret that this machine knows may be in it: a hit ends
the export with status 1, and says where it was.

With --otlp, export a stored run to an OpenTelemetry collector (OTLP over HTTP), with
the semantic conventions for generative AI: one trace for each attempt of a trial, with
its model calls, tools, judges and scores. Exporting a run twice gives the same ids.
What models and tools were told and said is left out without --otlp-content. Headers
that a collector asks for are read from OTEL_EXPORTER_OTLP_HEADERS.`,
		Example: "  agentclash run export latest run.acb\n  agentclash run export latest --otlp http://localhost:4318",
		Args:    cli.UpTo(2),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkExport(args, o, force); err != nil {
				return err
			}
			return selector.WithRun(c.Context(), a, args[:min(len(args), 1)], func(db *store.DB, r store.Run) error {
				if len(args) == 2 {
					return exportBundle(c.Context(), a, db, r, args[1], force)
				}
				return export(c.Context(), a, db, r, o)
			})
		},
	}
	o.AddFlags(c.Flags())
	c.Flags().BoolVar(&force, "force", false, "overwrite FILE.acb")
	return c
}

// checkExport wants one of the two ways to export.
func checkExport(args []string, o TraceOptions, force bool) error {
	if len(args) == 2 {
		switch {
		case o.Endpoint != "" || o.content:
			return cli.Usage("a file and --otlp are two exports: run them one after the other")
		case filepath.Ext(args[1]) != bundle.Suffix:
			return cli.Usage("the file %q is no name of a bundle, which ends in %s", args[1], bundle.Suffix).Hint("agentclash run export %s run%s", args[0], bundle.Suffix)
		}
		return nil
	}
	if len(args) == 1 && filepath.Ext(args[0]) == bundle.Suffix {
		return cli.Usage("the file %s needs a run before it", args[0]).Hint("agentclash run export latest %s", args[0])
	}
	if force {
		return cli.Usage("--force is for FILE%s", bundle.Suffix)
	}
	if o.Endpoint == "" {
		return cli.Usage("--otlp URL names the collector, FILE%s a file for all of the run", bundle.Suffix).
			Hint("agentclash run export latest run%s, or agentclash run export latest --otlp http://localhost:4318", bundle.Suffix)
	}
	return o.Check()
}

func export(ctx context.Context, a *cli.App, db *store.DB, r store.Run, o TraceOptions) error {
	s, err := traceSink(ctx, a, o, true)
	if err != nil {
		return err
	}
	err = db.Events(ctx, store.EventFilter{RunID: r.ID}, func(_ int64, e event.Event) error { return s.Emit(ctx, e) })
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, traceTime)
	defer stop()
	if err := s.Close(ctx); err != nil {
		return (&cli.Failure{Status: cli.StatusUnavailable, Code: "collector_unavailable", Err: err}).Hint("check that a collector takes OTLP over HTTP at %s", o.Endpoint)
	}
	return a.Print(map[string]string{"run_id": r.ID, "endpoint": o.Endpoint}, func(io.Writer, view.Options) error {
		a.Say("✓ exported run %s to %s", r.Name, o.Endpoint)
		return nil
	})
}
