package evaluation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// NewCache is agentclash cache: the replies that eval start --cache has kept.
func NewCache(a *cli.App) *cobra.Command {
	return cli.Group("cache", "Look into the cache of replies that eval start --cache uses", newCacheExplain(a), newCacheList(a), newCacheClear(a))
}

// shelf opens the directory of the cache.
func shelf(a *cli.App) (*record.Shelf, error) {
	home, err := a.Home()
	if err != nil {
		return nil, err
	}
	return record.OpenShelf(filepath.Join(home, "cache"), record.MaxShelf, a.Process.Now)
}

// withCache puts the cache between an execution and its models. Scripts are not
// cached: they cost nothing, and what they say depends on what was asked before.
func (e *execution) withCache() {
	if e.shelf == nil {
		return
	}
	cache := record.NewCache(e.shelf, append(mapValues(e.secrets), e.clients.Secrets...))
	e.clients = through(e.clients, e.plan, func(of record.Scope, inner provider.Client) provider.Client {
		if of.Provider == provider.Scripted {
			return inner
		}
		return cache.Client(of, inner)
	})
}

func newCacheExplain(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "explain RUN|TRIAL", Short: "Say which calls of a run the cache answered, and why not",
		Long: `Say of each call that a run made to a model or a judge whether the cache answered
it. A miss names the first field in which the request differs from the one that
was kept of the same call: of the same agent, case, repetition and number.`,
		Example: "  agentclash cache explain latest\n  agentclash cache explain 5f3a9c21 --json",
		Args:    cli.ExactArgs("RUN|TRIAL"),
		RunE:    func(c *cobra.Command, args []string) error { return explainCache(c.Context(), a, args[0]) },
	}
}

func explainCache(ctx context.Context, a *cli.App, selector string) error {
	db, err := a.Stored(ctx)
	if err != nil {
		return err
	}
	runID, trialID, err := runOrTrial(ctx, a, db, selector)
	if err != nil {
		return err
	}
	planned, err := db.Plan(ctx, runID)
	if err != nil {
		return err
	}
	if !planned.Cache {
		return cli.Usage("run %s did not use the cache", planned.Name).Hint("agentclash eval start ... --cache")
	}
	labels := map[string]string{}
	for _, agent := range planned.Agents {
		labels[agent.ID] = agent.Label
	}
	doc := view.CacheExplanation{RunID: runID}
	filter := store.EventFilter{RunID: runID, TrialID: trialID, Types: []string{string(event.CallDone), string(event.JudgeDone)}}
	err = db.Events(ctx, filter, func(_ int64, e event.Event) error {
		call, err := cacheCall(e, labels[e.RunAgentID])
		if err == nil && call != nil {
			doc.Add(*call)
		}
		return err
	})
	if err != nil {
		return err
	}
	return a.Print(doc, func(w io.Writer, o view.Options) error { return view.CacheExplained(w, doc, o) })
}

// runOrTrial finds a run, or else a trial with its run.
func runOrTrial(ctx context.Context, a *cli.App, db *store.DB, selector string) (runID, trialID string, err error) {
	workspace, err := a.WorkspaceName()
	if err != nil {
		return "", "", err
	}
	r, err := db.Run(ctx, workspace, selector)
	if err == nil || !errors.Is(err, store.ErrNotFound) {
		return r.ID, "", err
	}
	t, missing := db.Trial(ctx, workspace, selector)
	if missing != nil {
		return "", "", fmt.Errorf("there is neither a run nor a trial %q: %w", selector, missing)
	}
	agent, err := db.RunAgent(ctx, workspace, "", t.RunAgentID)
	return agent.RunID, t.ID, err
}

// cacheCall is a call as cache explain tells it, nil for one that was not made:
// a judge that was not asked, or the trials' copies of a ranking.
func cacheCall(e event.Event, agent string) (*view.CacheCall, error) {
	c := view.CacheCall{TrialID: e.TrialID, Agent: agent, CaseKey: e.CaseKey, Repetition: e.Repetition, Attempt: e.Attempt, Sequence: e.Sequence}
	var use event.CacheUse
	if e.Type == event.CallDone {
		v, err := event.Decode[event.CallEnd](e)
		if err != nil {
			return nil, err
		}
		c.Model, use = v.ProviderKey+"/"+v.ProviderModelID, v.CacheUse
	} else {
		v, err := event.Decode[event.JudgeReply](e)
		if err != nil || v.Usage == nil && v.ResponseText == "" || v.Shared && e.TrialID != "" {
			return nil, err
		}
		c.Model, c.Judge, use = v.ProviderKey+"/"+v.ProviderModelID, v.JudgeKey, v.CacheUse
		if c.CaseKey == "" {
			c.CaseKey, c.Repetition = v.CaseKey, v.Repetition
		}
	}
	c.Cached, c.Key, c.Why = use.Cached, use.CacheKey, use.CacheMiss
	if use.CacheKey == "" {
		c.Why = "scripts are not cached"
	}
	return &c, nil
}

func newCacheList(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the replies in the cache, those that were used last first",
		Example: "  agentclash cache list",
		Args:    cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			shelf, err := shelf(a)
			if err != nil {
				return err
			}
			defer func() { _ = shelf.Close() }()
			doc := view.CacheListing{MaxBytes: record.MaxShelf}
			for _, k := range shelf.List() {
				doc.Bytes += k.Size
				doc.Items = append(doc.Items, view.CacheEntry{
					Key: k.Key, Model: k.Provider + "/" + k.Model(), Who: k.Who, Pack: k.Pack, CaseKey: k.Case, Repetition: k.Repetition,
					Bytes: k.Size, UsedAt: k.Used.UTC(),
				})
			}
			return a.Print(doc, func(w io.Writer, o view.Options) error { return view.CacheList(w, doc, o) })
		},
	}
}

func newCacheClear(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "clear", Short: "Remove every reply from the cache",
		Example: "  agentclash cache clear",
		Args:    cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			shelf, err := shelf(a)
			if err != nil {
				return err
			}
			defer func() { _ = shelf.Close() }()
			n, err := shelf.Clear()
			if err != nil {
				return err
			}
			return a.Print(map[string]int{"removed": n}, func(w io.Writer, _ view.Options) error {
				a.Say("✓ removed %d cached replies", n)
				return nil
			})
		},
	}
}

// mentionCache says how much of a run the cache answered.
func mentionCache(ctx context.Context, a *cli.App, planned *plan.Plan) {
	if !planned.Cache || a.Output != "table" {
		return
	}
	db, err := a.Stored(ctx)
	if err != nil {
		return // the run was told; this is talk
	}
	var live, hits int
	filter := store.EventFilter{RunID: planned.RunID, Types: []string{string(event.CallDone), string(event.JudgeDone)}}
	err = db.Events(ctx, filter, func(_ int64, e event.Event) error {
		call, err := cacheCall(e, "")
		switch {
		case err != nil || call == nil:
		case call.Cached:
			hits++
		default:
			live++
		}
		return err
	})
	if err == nil {
		a.Say("cache: %d replies from it, %d live; its durations are not measured: agentclash cache explain %s", hits, live, strings.TrimSpace(cli.Short(planned.RunID)))
	}
}

func mapValues(m map[string]string) []string {
	list := make([]string, 0, len(m))
	for _, v := range m {
		list = append(list, v)
	}
	return list
}
