package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/turn"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// NewRunTurn is agentclash run turn: what people say in conversations that wait for them.
func NewRunTurn(a *cli.App) *cobra.Command {
	return cli.Group("turn", "Take the turns of people in conversations", newRunTurnStatus(a), newRunTurnSubmit(a), newRunTurnCalibration(a))
}

func newRunTurnStatus(a *cli.App) *cobra.Command {
	var awaiting bool
	c := &cobra.Command{
		Use: "status [RUN]", Short: "List the turns that people were asked for", Args: cli.UpTo(1),
		Long: `List the turns of a run, the newest by default, that people were asked for:
awaiting, submitted, expired, or abandoned by a process that is gone. A run
waits for people on a live screen (--follow on a terminal) or with
--human-wait.`,
		Example: "  agentclash run turn status\n  agentclash run turn status latest --awaiting --json",
		RunE: func(c *cobra.Command, args []string) error {
			return selector.WithRun(c.Context(), a, args, func(db *store.DB, r store.Run) error {
				list, err := db.HumanTurns(c.Context(), store.TurnFilter{Workspace: r.Workspace, RunID: r.ID, Awaiting: awaiting})
				if err != nil {
					return err
				}
				doc := struct {
					Items view.List[view.HumanTurn] `json:"items"`
				}{}
				slices.Reverse(list) // the newest last
				for _, h := range list {
					if h.State == store.TurnAwaiting && !a.OwnerLives(h.Owner, h.LastSeen) {
						if h.State = "abandoned"; awaiting {
							continue
						}
					}
					doc.Items = append(doc.Items, viewTurn(h))
				}
				return a.Print(doc, func(w io.Writer, o view.Options) error {
					if len(doc.Items) == 0 {
						a.Say("! nobody was asked for a message in run %s", r.Name)
						return nil
					}
					return view.HumanTurns(w, doc.Items, o)
				})
			})
		},
	}
	c.Flags().BoolVar(&awaiting, "awaiting", false, "those alone that somebody waits for now")
	return c
}

func viewTurn(h store.HumanTurn) view.HumanTurn {
	return view.HumanTurn{
		RunID: h.RunID, RunAgentID: h.RunAgentID, RunAgentLabel: h.Label, TrialID: h.TrialID, CaseKey: h.CaseKey, Repetition: h.Repetition,
		Attempt: h.Attempt, PhaseID: h.Phase, TurnIndex: h.Turn, State: h.State, PromptHint: h.Hint,
		AskedAt: h.AskedAt, ExpiresAt: h.ExpiresAt, AnsweredAt: selector.When(h.AnsweredAt),
	}
}

type turnOptions struct {
	message string
	said    bool // --message was given
	phase   string
	run     string
}

func newRunTurnSubmit(a *cli.App) *cobra.Command {
	var o turnOptions
	c := &cobra.Command{
		Use: "submit [TRIAL|RUN-AGENT]", Short: "Say what a conversation waits for a person to say", Args: cli.UpTo(1),
		Long: `Say what a conversation waits for a person to say. With nothing named it is the
only one that waits. --message - reads the message from stdin. --phase alone
asks for a phase whose trigger is manual, before the conversation comes to it;
together with --message it is the phase that must be waiting.

Exit status: 64 when nobody waits for it, or somebody was faster; 66 when there
is nothing of the name.`,
		Example: "  agentclash run turn submit --message 'No, the blue one.'\n  agentclash run turn submit 5f3a9c21 --message - < answer.txt\n  agentclash run turn submit 5f3a9c21 --phase expert",
		RunE: func(c *cobra.Command, args []string) error {
			o.said = c.Flags().Changed("message")
			return runTurnSubmit(c.Context(), a, o, args)
		},
	}
	c.Flags().StringVar(&o.message, "message", "", "what to say; - reads stdin")
	c.Flags().StringVar(&o.phase, "phase", "", "phase that waits, or, without --message, manual phase to ask for")
	c.Flags().StringVar(&o.run, "run", "", "look in this run alone")
	return c
}

func runTurnSubmit(ctx context.Context, a *cli.App, o turnOptions, args []string) error {
	if !o.said && o.phase == "" {
		return cli.Usage("run turn submit needs --message TEXT, or --phase ID to ask for a phase").Hint("agentclash run turn submit --help")
	}
	message, err := messageOf(a, o)
	if err != nil {
		return err
	}
	if _, err := a.Stored(ctx); err != nil {
		return err
	}
	db, err := a.Store(ctx)
	if err != nil {
		return err
	}
	if !o.said {
		return wantPhase(ctx, a, db, o, args)
	}
	t, err := awaitedTurn(ctx, a, db, o, args)
	if err != nil {
		return err
	}
	if !a.OwnerLives(t.Owner, t.LastSeen) {
		return (&cli.Failure{Status: cli.StatusUsage, Code: "conflict", Err: fmt.Errorf("the process that waited for a message to trial %s is gone", cli.Short(t.TrialID))}).
			Hint("agentclash run resume %s", cli.Short(t.RunID))
	}
	if err := db.SubmitTurn(ctx, t.TrialID, t.Attempt, t.Turn, message); err != nil {
		return err
	}
	t.State = store.TurnSubmitted
	return a.Print(viewTurn(t), func(io.Writer, view.Options) error {
		a.Say("✓ said it to %s in %s#%d, phase %s", t.Label, t.CaseKey, t.Repetition, t.Phase)
		return nil
	})
}

// messageOf reads and checks the message.
func messageOf(a *cli.App, o turnOptions) (string, error) {
	if !o.said {
		return "", nil
	}
	text := o.message
	if text == "-" {
		b, err := io.ReadAll(io.LimitReader(a.Process.In, engine.MaxUserMessage+2))
		if err != nil {
			return "", fmt.Errorf("read the message from stdin: %w", err)
		}
		text = strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	}
	return CheckMessage(text)
}

// CheckMessage refuses what cannot be said to an agent.
func CheckMessage(text string) (string, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return "", cli.Usage("the message is blank")
	case len(text) > engine.MaxUserMessage:
		return "", cli.Usage("the message has more than %d bytes", engine.MaxUserMessage)
	case !utf8.ValidString(text):
		return "", cli.Usage("the message is not UTF-8")
	case strings.ContainsRune(text, 0):
		return "", cli.Usage("the message holds a NUL character")
	}
	return text, nil
}

// awaitedTurn finds the turn that is meant.
func awaitedTurn(ctx context.Context, a *cli.App, db *store.DB, o turnOptions, args []string) (store.HumanTurn, error) {
	f, err := turnFilter(ctx, a, db, o)
	if err != nil {
		return store.HumanTurn{}, err
	}
	all, err := db.HumanTurns(ctx, f)
	if err != nil {
		return store.HumanTurn{}, err
	}
	all = slices.DeleteFunc(all, func(h store.HumanTurn) bool {
		return len(args) > 0 && !meant(h, args[0]) || o.phase != "" && h.Phase != o.phase
	})
	now := a.Process.Now()
	open := slices.DeleteFunc(slices.Clone(all), func(h store.HumanTurn) bool {
		return h.State != store.TurnAwaiting || !h.ExpiresAt.After(now)
	})
	switch {
	case len(open) == 1:
		return open[0], nil
	case len(open) > 1:
		return store.HumanTurn{}, severalTurns(open)
	case len(all) > 0:
		return store.HumanTurn{}, nobodyWaits(all[0])
	case len(args) > 0:
		if _, _, err := findTrial(ctx, a, db, replayOptions{}, args[0]); errors.Is(err, store.ErrNotFound) {
			return store.HumanTurn{}, err
		}
	}
	return store.HumanTurn{}, (&cli.Failure{Status: cli.StatusUsage, Code: "conflict", Err: errors.New("no conversation waits for a person")}).
		Hint("agentclash run turn status")
}

func turnFilter(ctx context.Context, a *cli.App, db *store.DB, o turnOptions) (store.TurnFilter, error) {
	workspace, err := a.WorkspaceName()
	if err != nil {
		return store.TurnFilter{}, err
	}
	f := store.TurnFilter{Workspace: workspace}
	if o.run != "" {
		r, err := db.Run(ctx, workspace, o.run)
		if err != nil {
			return f, err
		}
		f.RunID = r.ID
	}
	return f, nil
}

// meant says whether a selector names the trial or the run agent of a turn.
func meant(h store.HumanTurn, selector string) bool {
	digits := strings.ToLower(strings.ReplaceAll(selector, "-", ""))
	for _, id := range []string{h.TrialID, h.RunAgentID} {
		if len(digits) >= 6 && strings.HasSuffix(strings.ReplaceAll(id, "-", ""), digits) {
			return true
		}
	}
	return strings.EqualFold(h.Label, selector)
}

func nobodyWaits(h store.HumanTurn) error {
	what := "has expired"
	if h.State == store.TurnSubmitted {
		what = "was submitted already"
	}
	return (&cli.Failure{Status: cli.StatusUsage, Code: "conflict", Err: fmt.Errorf("turn %d of %s#%d (phase %s) %s", h.Turn, h.CaseKey, h.Repetition, h.Phase, what)}).
		Hint("agentclash run turn status %s", cli.Short(h.RunID))
}

func severalTurns(open []store.HumanTurn) error {
	lines := make([]string, len(open))
	for i, h := range open {
		lines[i] = fmt.Sprintf("  %s  %s  %s#%d, phase %s", cli.Short(h.TrialID), h.Label, h.CaseKey, h.Repetition, h.Phase)
	}
	const shown = 20
	if len(lines) > shown {
		lines = append(lines[:shown], fmt.Sprintf("  ... and %d more", len(open)-shown))
	}
	return cli.Usage("%d conversations wait for a person:\n%s", len(open), strings.Join(lines, "\n")).
		Hint("agentclash run turn submit %s --message TEXT", cli.Short(open[0].TrialID))
}

// wantPhase asks for a phase with the trigger manual.
func wantPhase(ctx context.Context, a *cli.App, db *store.DB, o turnOptions, args []string) error {
	trialID, runID := "", ""
	if len(args) > 0 {
		t, agent, err := findTrial(ctx, a, db, replayOptions{}, args[0])
		if err != nil {
			return err
		}
		trialID, runID = t.ID, agent.RunID
	} else {
		phase := o.phase
		o.phase = "" // it is another phase that waits
		h, err := awaitedTurn(ctx, a, db, o, nil)
		if err != nil {
			return err
		}
		trialID, runID, o.phase = h.TrialID, h.RunID, phase
	}
	if err := checkManual(ctx, a, db, runID, trialID, o.phase); err != nil {
		return err
	}
	if err := db.WantPhase(ctx, trialID, o.phase); err != nil {
		return err
	}
	doc := map[string]string{"trial_id": trialID, "phase_id": o.phase, "action": "phase_requested"}
	return a.Print(doc, func(io.Writer, view.Options) error {
		a.Say("✓ asked for phase %s of trial %s", o.phase, cli.Short(trialID))
		return nil
	})
}

// checkManual sees that a trial's case has the phase, and that it is asked for.
func checkManual(ctx context.Context, a *cli.App, db *store.DB, runID, trialID, phase string) error {
	workspace, err := a.WorkspaceName()
	if err != nil {
		return err
	}
	r, err := db.Run(ctx, workspace, runID)
	if err != nil {
		return err
	}
	t, err := db.Trial(ctx, workspace, trialID)
	if err != nil {
		return err
	}
	p, err := selector.PackOf(ctx, db, r.PackID)
	if err != nil {
		return err
	}
	set, err := p.InputSet(r.InputSet)
	if err != nil {
		return err
	}
	var manual []string
	for _, c := range set.Cases {
		if c.Key() != t.CaseKey || c.UserSimulator == nil {
			continue
		}
		for _, ph := range c.UserSimulator.Phases {
			if strings.TrimSpace(ph.Trigger) == turn.Manual {
				manual = append(manual, strings.TrimSpace(ph.ID))
			}
		}
	}
	if slices.Contains(manual, phase) {
		return nil
	}
	if len(manual) == 0 {
		return cli.Usage("case %q has no phase with the trigger manual", t.CaseKey)
	}
	return cli.Usage("case %q has no manual phase %q; it has %s", t.CaseKey, phase, strings.Join(manual, ", "))
}

func newRunTurnCalibration(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "calibration [RUN]", Short: "List the conversations that people are to look at", Args: cli.UpTo(1),
		Long: `List the conversations of a run that its pack's calibration drew for people to
look at. They are drawn by seed, agent, case and repetition, so that the same plan
draws the same ones.`,
		Example: "  agentclash run turn calibration latest",
		RunE: func(c *cobra.Command, args []string) error {
			return selector.WithRun(c.Context(), a, args, func(db *store.DB, r store.Run) error {
				list, err := calibrated(c.Context(), db, r)
				if err != nil {
					return err
				}
				doc := struct {
					Items view.List[view.CalibrationTrial] `json:"items"`
				}{list}
				return a.Print(doc, func(w io.Writer, o view.Options) error {
					if len(list) == 0 {
						a.Say("! no conversation of run %s was drawn for people to look at", r.Name)
						return nil
					}
					return view.CalibrationTrials(w, list, o)
				})
			})
		},
	}
}

func calibrated(ctx context.Context, db *store.DB, r store.Run) ([]view.CalibrationTrial, error) {
	agents, err := db.RunAgents(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	ended := map[string]event.ConversationEnd{}
	filter := store.EventFilter{RunID: r.ID, Types: []string{string(event.ConversationDone)}}
	err = db.Events(ctx, filter, func(_ int64, e event.Event) error {
		v, err := event.Decode[event.ConversationEnd](e)
		if v.Calibration {
			ended[e.TrialID] = v // the last attempt's
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var list []view.CalibrationTrial
	for _, agent := range agents {
		err := db.Trials(ctx, store.TrialFilter{RunAgentID: agent.ID, NoResults: true}, func(t store.Trial) error {
			if v, ok := ended[t.ID]; ok {
				list = append(list, view.CalibrationTrial{
					RunAgentID: agent.ID, RunAgentLabel: agent.Label, TrialID: t.ID, CaseKey: t.CaseKey, Repetition: t.Repetition,
					Outcome: t.Status, Turns: v.TurnCount, StopReason: v.StopReason,
				})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}
