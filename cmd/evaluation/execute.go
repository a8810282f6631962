package evaluation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/infra"
	"github.com/agentclash/agentclash/cmd/packs"
	"github.com/agentclash/agentclash/cmd/runs"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/cmd/site"
	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/store"
)

// heartbeat is how often a run says that its owner lives, and asks whether it
// was cancelled.
const heartbeat = time.Second

// execution is a plan with everything it runs with.
type execution struct {
	plan    *plan.Plan
	pack    *pack.Pack
	clients agents.ModelClients
	secrets map[string]string // of the pack's tools, by name
	boxes   sandbox.Provider  // nil when the mode needs none
	follow  bool
	resumed bool
	from    store.Owner // of a resumed run, when it was read
	// humanWait says that people may answer though there is no live screen.
	humanWait bool
	traces    runs.TraceOptions
	player    *record.Player // of a replay
	taped     bool           // the recording is complete
	claim     *record.Claim  // of the directory that is recorded into
	shelf     *record.Shelf  // of the cache
	// finished says which attempts of a resumed run have ended
	finished func(record.Place, int) bool
}

// deployments are those of the plan's run agents.
func (e execution) deployments() []plan.Deployment {
	list := make([]plan.Deployment, len(e.plan.Agents))
	for i, agent := range e.plan.Agents {
		list[i] = agent.Deployment
	}
	return list
}

// execute runs a plan and stores everything. The sandboxes are gone when it
// returns, however it returns.
func execute(ctx context.Context, a *cli.App, e execution) (result engine.Result, err error) {
	defer sandboxes.CloseBoxes(ctx, a, e.boxes)
	if e.plan.Sandbox.Kind == sandboxes.SandboxE2B {
		o, err := sandboxes.E2bOptions(a, "")
		if err != nil {
			return engine.Result{}, err
		}
		e.clients.Secrets = append(slices.Clone(e.clients.Secrets), o.Key)
	}
	if err := checkPlanted(a, e); err != nil {
		return engine.Result{}, err
	}
	db, err := a.Store(ctx)
	if err != nil {
		return engine.Result{}, err
	}
	if err := sandboxes.Tidy(ctx, a, db); err != nil {
		return engine.Result{}, err
	}
	defer func() { e.releaseTape() }()
	around, err := surround(ctx, a, &e)
	if err != nil {
		return engine.Result{}, err
	}
	if around.tape, err = claim(ctx, a, db, &e); err != nil {
		return engine.Result{}, err
	}
	result, err = run(ctx, a, db, e, around)
	if err != nil {
		return engine.Result{}, cli.Classify(fmt.Errorf("run %s: %w", e.plan.Name, err)).
			Hint("what was finished is kept; agentclash run resume %s runs the rest", cli.Short(e.plan.RunID))
	}
	// the end is stored whatever ended the run
	if err := db.FinishRun(context.WithoutCancel(ctx), e.plan.RunID, cli.Self(), result); err != nil {
		return engine.Result{}, fmt.Errorf("run %s: %w", e.plan.Name, err)
	}
	return result, nil
}

// checkPlanted sees that no secret that the pack plants is a real one: of the run,
// of the secret store, or in a variable that a provider's key is looked for in.
func checkPlanted(a *cli.App, e execution) error {
	if e.pack.Security == nil || len(e.pack.Security.PlantedSecrets) == 0 {
		return nil
	}
	known, err := agents.MachineSecrets(a)
	if err != nil {
		return err
	}
	secrets := append(slices.AppendSeq(agents.ValuesOf(known), maps.Values(e.secrets)), e.clients.Secrets...)
	for i, s := range secrets {
		secrets[i] = strings.TrimSpace(s) // as most are sent
	}
	if err := engine.CheckPlanted(e.pack, secrets); err != nil {
		return cli.Usage("run %s: %w", e.plan.Name, err)
	}
	return nil
}

// surroundings are what stands around an execution besides the store.
type surroundings struct {
	traces   []event.Sink
	exported func() // waits for the collector of traces
	tape     *record.Recorder
}

// surround opens what an execution has around it. Nothing of the run is stored so
// far, so that what fails here leaves none.
func surround(ctx context.Context, a *cli.App, e *execution) (s surroundings, err error) {
	if s.traces, s.exported, err = runs.ExportLive(ctx, a, e.traces); err != nil {
		return s, err
	}
	if err = prepareTape(a, e); err == nil {
		e.withCache()
	}
	return s, err
}

// claim makes this process the run's owner, and begins its recording or goes on
// with it. When that fails there is no run, and one that was to go on stands as it
// did.
func claim(ctx context.Context, a *cli.App, db *store.DB, e *execution) (tape *record.Recorder, err error) {
	if e.resumed {
		return takeOver(ctx, a, db, e)
	}
	if _, err := packs.Snapshot(ctx, a, db, e.pack, e.plan.Workspace, false); err != nil {
		return nil, err
	}
	if err := agents.PinBuilds(ctx, a, e.plan); err != nil {
		return nil, err
	}
	err = infra.Reserve(ctx, a, e.plan, false, func() error {
		if tape, err = startRecorder(a, e); err != nil {
			return err
		}
		err := db.CreateRun(ctx, *e.plan, cli.Self())
		if err != nil && tape != nil {
			err = errors.Join(err, tape.Abandon())
		}
		return err
	})
	return tape, err
}

// takeOver goes on with a stored run.
func takeOver(ctx context.Context, a *cli.App, db *store.DB, e *execution) (*record.Recorder, error) {
	was, err := db.TakeOver(ctx, e.plan.RunID, e.from, cli.Self(), cli.Alive)
	if err != nil {
		return nil, err
	}
	err = infra.Reserve(ctx, a, e.plan, true, func() error { return db.SetOptions(ctx, *e.plan, cli.Self()) })
	var tape *record.Recorder
	if err == nil {
		tape, err = startRecorder(a, e)
	}
	if err != nil {
		return nil, errors.Join(err, db.GiveBack(context.WithoutCancel(ctx), e.plan.RunID, cli.Self(), was))
	}
	return tape, nil
}

// run executes the plan with the store, the view and the heartbeat around it.
func run(ctx context.Context, a *cli.App, db *store.DB, e execution, around surroundings) (result engine.Result, err error) {
	recorder, err := db.Recorder(context.WithoutCancel(ctx), e.plan.RunID, cli.Self())
	if err != nil {
		return engine.Result{}, err
	}
	defer func() {
		if cerr := recorder.Close(); cerr != nil && err == nil {
			err = cerr // else it is what has been said already
		}
	}()
	if err := db.SetRunStatus(ctx, e.plan.RunID, cli.Self(), store.Running); err != nil {
		return engine.Result{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	people := peopleOf(a, db, e)
	controls := new(engine.Controls)
	screen, wait := screen(ctx, a, e, tui.Options{
		Interrupt: func() { cancel(engine.ErrInterrupted) }, People: people.answers(ctx), Controls: controls,
		Report: func(ctx context.Context) (string, error) { return site.LivePage(ctx, a, db, e.plan.RunID) },
	})
	wait = sync.OnceValue(wait)
	defer func() { _ = wait() }() // also when there is a panic: the terminal is given back
	stop := beat(ctx, a, db, e.plan.RunID, cancel)
	deps := engine.Deps{
		Sink: event.Tee(recorder, append(screen, around.traces...)...), Clients: e.clients.Agents, Programs: e.clients.Programs, Judges: e.clients.Judges,
		Simulators: e.clients.Simulators, Users: people, Boxes: e.boxes, Queries: sandboxes.Queries(),
		Secrets: e.clients.Secrets, ToolSecrets: e.secrets, Now: a.Process.Now,
		Recall: db.Recall(e.plan.Lent()).Events, Controls: controls,
	}
	over := taped(a, e, around.tape, &deps, cancel)
	result, err = engine.Run(ctx, e.plan, deps)
	stop()
	if err == nil {
		over(result)
	}
	if serr := wait(); serr != nil {
		a.Say("! the screen failed, the run did not: %v", serr)
	}
	around.exported()
	return result, err
}

// screen is what --follow shows: the live screen on a terminal, NDJSON or plain
// lines elsewhere; o says what the screen may ask of the run. wait returns when the
// screen has been taken down.
func screen(ctx context.Context, a *cli.App, e execution, o tui.Options) (views []event.Sink, wait func() error) {
	none := func() error { return nil }
	switch {
	case !e.follow:
		return nil, none
	case a.Output == "json":
		out, err := a.Stream()
		return []event.Sink{view.FollowJSON(out)}, func() error { return err }
	case !onScreen(a, e):
		return []event.Sink{view.Follow(a.Process.Out, a.ViewOptions())}, none
	}
	o.Width, o.Height, _ = a.Process.Terminal()
	o.Color, o.Now = a.Color(), a.Process.Now
	s := tui.New(o)
	a.Live.Store(s)
	shown := make(chan error, 1)
	go func() {
		err := s.Run(context.WithoutCancel(ctx), a.Process.In, a.Process.Out) // it shows how the run is taken down, too
		if errors.Is(err, tui.ErrLeave) {
			a.Process.Exit(cli.StatusInterrupted)
		}
		a.Live.CompareAndSwap(s, nil) // what is said from now on is said below it
		shown <- err
	}()
	return []event.Sink{s}, func() error {
		s.Close()
		return <-shown
	}
}

// beat keeps the run's sign of life and listens for `run cancel`. stop waits
// for it to end.
func beat(ctx context.Context, a *cli.App, db *store.DB, runID string, cancel context.CancelCauseFunc) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			asked, err := db.Heartbeat(context.WithoutCancel(ctx), runID, cli.Self())
			switch {
			case asked:
				cancel(engine.ErrCancelled)
			case errors.Is(err, store.ErrOwned):
				cancel(fmt.Errorf("another process has taken over the run: %w", err))
			}
			// another failed beat is no reason to stop: the next may succeed,
			// and facts that cannot be stored end the run by themselves
		}
	})
	return func() { close(done); wg.Wait() }
}
