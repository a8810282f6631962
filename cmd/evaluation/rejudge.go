package evaluation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
	"github.com/charmbracelet/huh"
	"golang.org/x/sync/errgroup"
)

// judgeGroups is how many cases judges are asked about at once.
const judgeGroups = 8

// storedGroup is the trials of one case and repetition that judges can be asked
// about.
type storedGroup []store.DecidingTrial

// rejudge asks the judges of the pack that scores what stored evidence leaves
// open: it says what that can cost, and asks unless dry. Each reply is stored
// as soon as it is there.
func rejudge(ctx context.Context, a *cli.App, r *rescoring, o rescoreOptions) error {
	judging, err := r.score.Judging(o.maxWait.Ms)
	if err != nil {
		return cli.Usage("rescore run %s: %w", r.run.Name, err)
	}
	if r.run.Active() {
		return cli.Usage("run %s is going on: its judges can be asked again when it has ended", r.run.Name)
	}
	open := a.Store
	if o.dryRun {
		open = a.Stored
	}
	db, err := open(ctx)
	if err != nil {
		return err
	}
	if err := r.open(ctx, db); err != nil {
		return err
	}
	trials, err := db.Deciding(ctx, r.run.ID, r.score.EventTypes())
	if err != nil {
		return err
	}
	groups, err := r.groups(ctx, trials)
	if err != nil {
		return err
	}
	asking, groups, err := r.openQuestions(ctx, trials, judging, groups)
	if err != nil {
		return err
	}
	r.doc.Judging = &view.RescoreJudging{Questions: asking.Calls, MaxTokens: asking.Tokens, MaxCostUSD: asking.CostUSD}
	var names []string
	for _, m := range judging.Judges() {
		names = append(names, judgeAt(m))
	}
	a.Say("judges: %d open questions to %s, at most %s tokens and %s", asking.Calls, strings.Join(names, ", "),
		view.Tokens(asking.Tokens), view.USD(asking.CostUSD))
	if o.dryRun || asking.Calls == 0 {
		return nil
	}
	if err := agreeToAsk(a, o); err != nil {
		return err
	}
	return askJudges(ctx, a, db, rejudged{r, trials, judging, groups})
}

// rejudged is what judges are asked about.
type rejudged struct {
	*rescoring
	trials  *store.Deciding
	judging *engine.Rejudging
	groups  []storedGroup
}

// agreeToAsk lets a person at a terminal say no, and wants --yes where there is
// nobody to ask.
func agreeToAsk(a *cli.App, o rescoreOptions) error {
	if o.yes {
		return nil
	}
	if !a.Interactive() {
		return cli.Usage("nobody can be asked whether to ask the judges").Hint("add --yes, or --dry-run to see only what it can cost")
	}
	yes := false
	if err := selector.Asked(huh.NewConfirm().Title("Ask the judges?").Value(&yes).Run()); err != nil {
		return err
	}
	if !yes {
		return cli.Exit(cli.StatusInterrupted)
	}
	return nil
}

// groups gathers the trials that have ended by case and repetition, in the
// order of execution.
func (r *rescoring) groups(ctx context.Context, from *store.Deciding) ([]storedGroup, error) {
	type key struct {
		caseKey    string
		repetition int
	}
	place := map[key]int{}
	var groups []storedGroup
	for _, s := range from.Spans(rescoreSpan) {
		trials, err := from.Trials(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, t := range trials {
			if t.Result == nil || r.score.LeftOut(t.CaseKey) != "" {
				continue
			}
			t.Result, t.Earlier = nil, nil // read again when it is its turn
			k := key{t.CaseKey, t.Repetition}
			if _, ok := place[k]; !ok {
				place[k], groups = len(groups), append(groups, nil)
			}
			groups[place[k]] = append(groups[place[k]], t)
		}
	}
	return groups, nil
}

// load reads what judges are asked about.
func (r *rescoring) load(ctx context.Context, from *store.Deciding, g storedGroup) ([]engine.StoredTrial, error) {
	list := make([]engine.StoredTrial, len(g))
	for i, t := range g {
		end, err := from.Result(ctx, t)
		if err != nil {
			return nil, err
		}
		list[i] = engine.StoredTrial{Lane: r.byAgent[t.RunAgentID].agent.Lane, Ended: end.Trial}
	}
	err := from.Events(ctx, g, func(i int, events []event.Event) error {
		list[i].Events = events
		return nil
	})
	return list, err
}

// openQuestions counts what would be asked, and keeps the groups about which
// there is anything to ask.
func (r *rescoring) openQuestions(ctx context.Context, from *store.Deciding, judging *engine.Rejudging, groups []storedGroup) (scoring.Judging, []storedGroup, error) {
	total := scoring.Judging{CostUSD: new(0.0)}
	var open []storedGroup
	for _, g := range groups {
		trials, err := r.load(ctx, from, g)
		if err != nil {
			return total, nil, err
		}
		asking, err := judging.Open(trials)
		if err != nil {
			return total, nil, err
		}
		if asking.Calls > 0 {
			total = total.Plus(asking)
			open = append(open, g)
		}
	}
	return total, open, nil
}

// askJudges asks about the groups, several at once.
func askJudges(ctx context.Context, a *cli.App, db *store.DB, r rejudged) error {
	if err := agents.CheckImportedJudges(a, &r.plan, r.judging.Judges()); err != nil {
		return err
	}
	clients, secrets, err := agents.JudgeClients(a, r.judging.Judges())
	if err != nil {
		return err
	}
	deps := engine.Deps{Judges: clients, Secrets: secrets, Now: a.Process.Now}
	var mu sync.Mutex
	var used []scoring.Trial
	unanswered, why := 0, ""
	g, asking := errgroup.WithContext(ctx)
	g.SetLimit(judgeGroups)
	for _, group := range r.groups {
		if asking.Err() != nil {
			break
		}
		g.Go(func() error {
			trials, err := r.load(asking, r.trials, group)
			if err != nil {
				return err
			}
			spent, err := r.judging.Ask(asking, trials, deps, func(facts []event.Event) error {
				return db.AppendFacts(context.WithoutCancel(asking), r.run.ID, facts)
			})
			mu.Lock()
			used = append(used, scoring.Trial{Judging: spent.Used, Carried: true})
			unanswered += spent.Unanswered
			why = cmp.Or(why, spent.Why)
			mu.Unlock()
			return err
		})
	}
	err = g.Wait()
	total := scoring.NewAggregator(r.score.Spec(), 0)
	for _, t := range used {
		total.Add(t)
	}
	r.doc.Judging.Used, r.doc.Judging.Unanswered = total.Scorecard().Judging, unanswered
	if unanswered > 0 {
		a.Say("! %d questions were not answered, and are left as they were: %s", unanswered, why)
	}
	if err != nil && ctx.Err() == nil {
		return cli.Classify(fmt.Errorf("rescore run %s: %w", r.run.Name, err)).Hint("what was answered is kept, and not asked again")
	}
	return errors.Join(err, context.Cause(ctx))
}
