package regressions

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/redact"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/regression"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/review"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// Promotion is what run promote-failure is asked for: by flags, and by a file
// with the same keys, whose values win.
type Promotion struct {
	Agent    string `json:"run_agent"`
	Suite    string `json:"suite"`
	Mode     string `json:"promotion_mode"`
	Severity string `json:"severity"`
	Status   string `json:"status"`
	Title    string `json:"title"`
	Summary  string `json:"failure_summary"`
}

// NewRunPromote is agentclash run promote-failure: a failure of a run becomes a case of a
// suite.
func NewRunPromote(a *cli.App) *cobra.Command {
	var o Promotion
	var file string
	c := &cobra.Command{
		Use: "promote-failure RUN TRIAL|CASE", Short: "Make a regression case of a failed trial",
		Long: `Make a regression case of a failed trial: the whole case as the agent had it, what
judged it, and where it is from, without real secrets. It is written into
.agentclash/regressions/SUITE.yaml, found upwards from the working directory, which
is made when it is not there. A case is given by its key, or by the id of one of its
trials.

Promoting the same failure again, or another failure of the same case, makes no
second case. full_executable keeps the case to be run; output_only keeps beside it
what the agent gave.`,
		Example: `  agentclash run promote-failure latest refund-twice
  agentclash run promote-failure nightly 5f3a9c21 --suite checkout --severity blocking`,
		Args: cli.ExactArgs("RUN", "TRIAL|CASE"),
		RunE: func(c *cobra.Command, args []string) error {
			if file != "" {
				if err := promotionFile(a, file, &o); err != nil {
					return err
				}
			}
			return promote(c.Context(), a, o, args[0], args[1])
		},
	}
	f := c.Flags()
	f.StringVar(&o.Agent, "agent", "", "run agent, by label or id: needed when several failed the case")
	f.StringVar(&o.Suite, "suite", "", "suite, by name or path (default: the pack's slug)")
	f.StringVar(&o.Mode, "promotion-mode", "", "full_executable or output_only (default: the first that there is)")
	f.StringVar(&o.Severity, "severity", "", "info, warning or blocking (default: by the class of failure)")
	f.StringVar(&o.Status, "status", "", "active or proposed (default: active)")
	f.StringVar(&o.Title, "title", "", "title of the case (default: what failed)")
	f.StringVar(&o.Summary, "failure-summary", "", "what went wrong, in your words")
	f.StringVar(&file, "from-file", "", "YAML or JSON file with suite, promotion_mode, severity, status, title, failure_summary, run_agent; it wins over flags")
	return c
}

// promotionFile reads a promotion from a file.
func promotionFile(a *cli.App, name string, o *Promotion) error {
	src, err := a.ReadBounded(name, pack.MaxBytes)
	if err != nil {
		return err
	}
	from := Promotion{}
	doc := pack.Decode(name, "promotion", src, &from)
	if problems := doc.Problems().Errors(); len(problems) > 0 {
		return selector.Refusal("invalid_promotion", "the promotion is not valid", problems)
	}
	for _, row := range []struct{ to, from *string }{
		{&o.Agent, &from.Agent}, {&o.Suite, &from.Suite}, {&o.Mode, &from.Mode}, {&o.Severity, &from.Severity},
		{&o.Status, &from.Status}, {&o.Title, &from.Title}, {&o.Summary, &from.Summary},
	} {
		if *row.from != "" {
			*row.to = *row.from
		}
	}
	return nil
}

func (o Promotion) check() error {
	for _, row := range []struct {
		flag, value string
		words       []string
	}{
		{"--promotion-mode", o.Mode, []string{review.FullExecutable, review.OutputOnly}},
		{"--severity", o.Severity, review.Severities()},
		{"--status", o.Status, []string{regression.Active, regression.Proposed}},
	} {
		if row.value != "" && !slices.Contains(row.words, row.value) {
			return cli.Usage("%s %q must be one of %s%s", row.flag, row.value, strings.Join(row.words, ", "), pack.DidYouMean(row.value, row.words))
		}
	}
	return nil
}

func promote(ctx context.Context, a *cli.App, o Promotion, run, what string) error {
	if err := o.check(); err != nil {
		return err
	}
	db, err := a.Stored(ctx)
	if err != nil {
		return err
	}
	r, err := selector.StoredRun(ctx, a, db, []string{run})
	if err != nil {
		return err
	}
	f, err := failed(ctx, a, db, r, o.Agent, what)
	if err != nil {
		return err
	}
	d, err := PromoteOne(ctx, a, db, r, o, f)
	if err != nil {
		return err
	}
	return a.Print(d, func(w io.Writer, v view.Options) error { return sayPromoted(a, w, d, v) })
}

// PromoteOne makes a case of one failure of a run.
func PromoteOne(ctx context.Context, a *cli.App, db *store.DB, r store.Run, o Promotion, f regression.Failure) (view.Promotion, error) {
	if err := promotable(f.Item, &o); err != nil {
		return view.Promotion{}, err
	}
	if o.Suite == "" {
		o.Suite = strings.ToLower(f.Pack.Pack.Slug)
	}
	machine, err := agents.MachineSecrets(a)
	if err != nil {
		return view.Promotion{}, err
	}
	wish := regression.Wish{Title: o.Title, Summary: o.Summary, Mode: o.Mode, Severity: o.Severity, Status: o.Status}
	c, changed, err := regression.Promote(f, wish, redact.New(agents.ValuesOf(machine)).JSON)
	if err != nil {
		return view.Promotion{}, cli.Usage("promote %s: %w", f.CaseKey, err)
	}
	planned, err := db.Plan(ctx, r.ID)
	if err != nil {
		return view.Promotion{}, err
	}
	var known []scoring.Regression
	for _, ref := range planned.Cases {
		if ref.Key == f.CaseKey {
			known = ref.Regressions
		}
	}
	d, err := keepCase(ctx, a, o.Suite, f.Pack.Pack.Slug, c, known)
	d.Redacted = changed
	return d, err
}

func sayPromoted(a *cli.App, w io.Writer, d view.Promotion, v view.Options) error {
	if d.Created {
		a.Say("✓ case %s of suite %s is %s", d.CaseID, d.Suite, d.Status)
	} else {
		a.Say("! suite %s has this case already: %s, which is %s", d.Suite, d.CaseID, d.Status)
	}
	if d.Redacted {
		a.Say("! a real secret was taken out of the case: it is not exactly what the agent had")
	}
	if err := view.Promoted(w, d, v); err != nil {
		return err
	}
	a.Say("next: agentclash eval start --pack PACK --model MODEL --suite %s", d.Suite)
	return nil
}

// promotable refuses what cannot become a case, and chooses the mode.
func promotable(i review.Item, o *Promotion) error {
	switch {
	case i.Outcome != string(scoring.OutcomeFailed):
		return cli.Usage("trial %s is invalid (%s in %s), which says nothing of the agent: it cannot be promoted", cli.Short(i.TrialID), i.Code, i.Phase).
			Hint("agentclash run retry %s --invalid", cli.Short(i.RunID))
	case len(i.PromotionModes) == 0:
		return cli.Usage("trial %s cannot be promoted: there is no evidence of what the agent did", cli.Short(i.TrialID))
	case o.Mode == "":
		o.Mode = i.PromotionModes[0]
	case !slices.Contains(i.PromotionModes, o.Mode):
		return cli.Usage("trial %s cannot be promoted as %s, only as %s", cli.Short(i.TrialID), o.Mode, strings.Join(i.PromotionModes, " or "))
	}
	return nil
}

// failed finds the failure that a case key or a trial's id means: of several
// repetitions the first.
func failed(ctx context.Context, a *cli.App, db *store.DB, r store.Run, agent, what string) (regression.Failure, error) {
	reviewer := FailureReviewer{Db: db, Packs: map[string]*pack.Pack{}}
	items, err := reviewer.Review(ctx, r, nil)
	if err != nil {
		return regression.Failure{}, err
	}
	filter := review.Filter{Agent: agent}
	items = slices.DeleteFunc(items, func(i review.Item) bool { return !filter.Keeps(i) })
	found := slices.DeleteFunc(slices.Clone(items), func(i review.Item) bool { return i.CaseKey != what })
	if len(found) == 0 {
		found = slices.DeleteFunc(slices.Clone(items), func(i review.Item) bool { return !strings.EqualFold(i.CaseKey, what) })
	}
	// a failed trial stands before an invalid one of the same case
	slices.SortStableFunc(found, func(a, b review.Item) int { return strings.Compare(a.Outcome, b.Outcome) })
	if len(found) == 0 && len(what) >= 6 {
		found = slices.DeleteFunc(items, func(i review.Item) bool { return !strings.HasSuffix(i.TrialID, strings.ToLower(what)) })
	}
	if len(found) == 0 {
		return regression.Failure{}, (&cli.Failure{Status: cli.StatusNotFound, Code: "failure_review_item_not_found",
			Err: fmt.Errorf("run %s has no failed trial or case %q", r.Name, what)}).Hint("agentclash run failures %s", cli.Short(r.ID))
	}
	var labels []string
	for _, i := range found {
		if i.Outcome == found[0].Outcome && !slices.Contains(labels, i.Agent) {
			labels = append(labels, i.Agent)
		}
	}
	if len(labels) > 1 {
		f := cli.Usage("%d agents failed %s: %s", len(labels), what, strings.Join(labels, ", ")).Hint("add --agent NAME")
		f.Code = "failure_review_item_ambiguous"
		return regression.Failure{}, f
	}
	return FailureOf(ctx, a, db, r, reviewer.Packs[r.PackID], found[0])
}

// FailureOf reads what a reviewed failure of a run was.
func FailureOf(ctx context.Context, a *cli.App, db *store.DB, r store.Run, p *pack.Pack, item review.Item) (regression.Failure, error) {
	t, err := db.Trial(ctx, r.Workspace, item.TrialID)
	if err != nil {
		return regression.Failure{}, err
	}
	end, err := t.End()
	return regression.Failure{
		Pack: p, InputSet: r.InputSet, CaseKey: item.CaseKey, Item: item, Result: end.Trial, RunName: r.Name, Now: a.Process.Now(),
	}, err
}

// keepCase puts a case into a suite, which is made when it is not there, unless
// the suite has it already: known are the cases that the run had it from.
func keepCase(ctx context.Context, a *cli.App, selector, slug string, c regression.Case, known []scoring.Regression) (view.Promotion, error) {
	path, err := SuitePath(a, selector)
	if err != nil {
		return view.Promotion{}, err
	}
	release, err := HoldSuite(ctx, path)
	if err != nil {
		return view.Promotion{}, err
	}
	defer release()
	if !cli.Exists(path) {
		return firstCase(a, path, selector, slug, c)
	}
	var d view.Promotion
	err = changeSuite(a, selector, func(s SuiteFile) ([]byte, error) {
		if err := s.Takes(slug); err != nil {
			return nil, err
		}
		i := s.Same(c)
		for _, ref := range known {
			if ref.Suite == s.Name {
				i = max(i, s.Find(ref.CaseID))
			}
		}
		if i >= 0 {
			d = promoted(s, s.Cases[i], false)
			return s.Src, nil
		}
		c := c
		c.ID = s.FreeID(c.ID)
		d = promoted(s, c, true)
		return regression.Append(s.Src, c)
	})
	d.File = a.Shown(path)
	return d, err
}

// firstCase makes a suite with a case.
func firstCase(a *cli.App, path, selector, slug string, c regression.Case) (view.Promotion, error) {
	s, err := NewSuite(a, path, selector, slug)
	if err != nil {
		return view.Promotion{}, err
	}
	s.Cases = []regression.Case{c}
	src, err := s.Source()
	if err != nil {
		return view.Promotion{}, err
	}
	d := promoted(SuiteFile{Suite: s}, c, true)
	d.File = a.Shown(path)
	return d, WriteSuite(a, path, nil, src)
}

func promoted(s SuiteFile, c regression.Case, created bool) view.Promotion {
	d := view.Promotion{
		Suite: s.Name, CaseID: c.ID, CaseKey: c.Document.Key(), Title: c.Title, Status: c.Status, Severity: s.SeverityOf(c), Mode: c.Mode, Class: c.Class, Created: created,
	}
	if c.Source != nil {
		d.Fingerprint, d.ClusterKey = c.Source.Fingerprint, c.Source.ClusterKey
	}
	return d
}
