package evaluation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
	"github.com/spf13/pflag"
)

// tapeOptions are the flags of recordings.
type tapeOptions struct {
	record    string
	overwrite bool
	Replay    string
	cache     bool
	given     func(flag string) bool // on the command line
	player    *record.Player
}

func (o *tapeOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.record, "record", "", "directory to keep every exchange with models, judges, tools and servers in")
	f.BoolVar(&o.overwrite, "overwrite", false, "with --record: replace the recording that stands there")
	f.StringVar(&o.Replay, "replay", "", "recording to answer every call from: needs no key and opens no connection")
	f.BoolVar(&o.cache, "cache", false, "answer calls that were made before from the cache: for writing packs, not for measuring")
	o.given = f.Changed
}

// check refuses what contradicts itself and directories that are none, and opens
// the recording that is replayed.
func (o *StartOptions) checkTape(a *cli.App) error {
	t := &o.Tape
	switch {
	case t.record != "" && t.Replay != "":
		return cli.Usage("--record and --replay exclude each other: a replay would be recorded as it was")
	case t.cache && (t.record != "" || t.Replay != ""):
		return cli.Usage("--cache excludes --record and --replay: a recording keeps what is asked, and answers alone")
	case t.cache && o.Gate:
		return cli.Usage("--gate decides by what was measured: leave out --cache")
	case t.overwrite && t.record == "":
		return cli.Usage("--overwrite is for --record")
	case o.dryRun && t.record != "":
		return cli.Usage("--dry-run runs nothing: leave out --record")
	}
	asked := plan.Plan{Options: o.plan, Recording: t.recording()}
	if asked.Recording != nil {
		if err := leaveOut(asked.Obstacle(plan.Tape)); err != nil {
			return err
		}
	}
	if o.affected {
		if err := leaveOut(asked.Obstacle(plan.Borrow)); err != nil {
			return err
		}
	}
	if t.record != "" {
		t.record = a.Path(t.record)
		if err := record.Check(t.record, t.overwrite); err != nil {
			return cli.Usage("%w", err)
		}
	}
	if t.Replay == "" {
		return nil
	}
	if o.sandbox == sandboxes.SandboxE2B {
		return cli.Usage("--replay opens no connection, and --sandbox e2b is one: replay in docker or scratch")
	}
	t.Replay = a.Path(t.Replay)
	player, err := record.Open(t.Replay)
	if errors.Is(err, fs.ErrNotExist) {
		return &cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: err, Next: "agentclash eval start --record DIR makes one"}
	}
	if err != nil {
		return cli.Usage("%w", err)
	}
	t.player = player
	return o.asRecorded(player.Header())
}

// recording is what the flags ask for, nil for none. Of a replay that has not been
// opened, the digest is not known.
func (t *tapeOptions) recording() *plan.Recording {
	switch {
	case t.record != "":
		return &plan.Recording{Mode: plan.Recorded, Dir: t.record, Overwrite: t.overwrite}
	case t.player != nil:
		return &plan.Recording{Mode: plan.Replayed, Dir: t.Replay, Digest: t.player.Header().Digest()}
	case t.Replay != "":
		return &plan.Recording{Mode: plan.Replayed, Dir: t.Replay}
	}
	return nil
}

// leaveOut refuses flags that an obstacle stands in the way of.
func leaveOut(o *plan.Obstacle) error {
	if o == nil {
		return nil
	}
	return cli.Usage("%w: %s", o, o.Instead)
}

// asRecorded takes what decides how a run goes from the recording.
func (o *StartOptions) asRecorded(h record.Header) error {
	given := o.Tape.given
	if o.inputSet == "" {
		o.inputSet = h.InputSet
	}
	if !given("repetitions") {
		o.plan.Repetitions = h.Repetitions
	}
	if !given("retry-invalid") {
		o.plan.RetryInvalid = h.RetryInvalid
	}
	if given("seed") && o.plan.Seed != h.Seed {
		return cli.Usage("--seed %d: the recording was made with seed %d; leave the flag out", o.plan.Seed, h.Seed)
	}
	o.plan.Seed = h.Seed
	return nil
}

// tape gives a plan its recording, and refuses one that cannot be of it.
func tape(a *cli.App, o *StartOptions, planned *plan.Plan) error {
	planned.Cache = o.Tape.cache
	planned.Recording = o.Tape.recording()
	if planned.Recording != nil {
		if err := leaveOut(planned.Obstacle(plan.Tape)); err != nil {
			return err
		}
	}
	if planned.Cache {
		if err := leaveOut(planned.Obstacle(plan.Cached)); err != nil {
			return err
		}
	}
	if p := o.Tape.player; p != nil {
		h := p.Header()
		if h.Pack != planned.Pack.Slug || h.Mode != planned.Mode {
			return cli.Usage("replay %s: the recording is of the pack %q (%s), not of %q (%s)", o.Tape.Replay, h.Pack, h.Mode, planned.Pack.Slug, planned.Mode)
		}
		if miss := p.Check(placesOf(planned, planned.Trials)); miss != nil {
			return unrecorded(o.Tape.Replay, h, miss)
		}
		if h.PackDigest != planned.Pack.Digest {
			a.Say("note: the pack is not the one that was recorded (its digest is %.12s, not %.12s): what an agent or a judge now sees differently is a miss",
				planned.Pack.Digest, h.PackDigest)
		}
	}
	return nil
}

func recordAnew(dir string) string {
	return fmt.Sprintf("agentclash eval start ... --record %s --overwrite records what is asked now", dir)
}

// placesOf are trials as a recording names them.
func placesOf(planned *plan.Plan, trials []plan.Trial) []record.Place {
	var list []record.Place
	for _, t := range trials {
		list = append(list, record.Place{Agent: planned.Agents[t.Agent].Label, Case: t.CaseKey, Repetition: t.Repetition})
	}
	return list
}

// played are the clients of a replay: no adapter is made, and no key is looked
// for.
func played(a *cli.App, p *record.Player, planned *plan.Plan) (agents.ModelClients, error) {
	c := through(agents.ModelClients{}, planned, func(of record.Scope, _ provider.Client) provider.Client { return p.Client(of.Who) })
	var errs []error
	for _, agent := range planned.Agents {
		var program engine.Program
		if agent.Deployment.IsCommand() {
			o, err := agents.OpenPlayed(a, agents.Target{Deployment: agent.Deployment, Who: fmt.Sprintf("deployment %q", agent.Deployment.Name)})
			program, errs = o.Program, append(errs, err...)
		}
		c.Programs = append(c.Programs, program)
	}
	if len(errs) > 0 {
		return agents.ModelClients{}, cli.JoinFailures(errs)
	}
	return c, nil
}

// through has something between a run and each of its models: wrap is told whose
// model it is, and given its client, nil where there is none.
func through(c agents.ModelClients, p *plan.Plan, wrap func(record.Scope, provider.Client) provider.Client) agents.ModelClients {
	out := c
	out.Agents, out.Judges, out.Simulators = nil, map[string]provider.Client{}, nil
	at := func(list []provider.Client, i int) provider.Client {
		if i < len(list) {
			return list[i]
		}
		return nil
	}
	for i, agent := range p.Agents {
		d := agent.Deployment
		of := record.Scope{Provider: d.Provider, BaseURL: d.BaseURL, Who: record.Agents, Pack: p.Pack.Slug}
		client := at(c.Agents, i)
		if !d.IsCommand() { // whose calls are kept where they are let through
			client = wrap(of, client)
		}
		out.Agents = append(out.Agents, client)
	}
	for _, m := range p.Judges {
		of := record.Scope{Provider: m.Provider, BaseURL: m.BaseURL, Who: record.JudgeOf(m.Name), Pack: p.Pack.Slug}
		out.Judges[m.Name] = wrap(of, c.Judges[m.Name])
	}
	for i, m := range p.Simulators {
		of := record.Scope{Provider: m.Provider, BaseURL: m.BaseURL, Who: record.Simulators, Pack: p.Pack.Slug}
		out.Simulators = append(out.Simulators, wrap(of, at(c.Simulators, i)))
	}
	return out
}

// hiddenSecret stands for each secret of a pack's tools on a replay: it is what a
// recording has in their places.
const hiddenSecret = "[redacted]"

// playedSecrets stand for the secrets of the pack's tools.
func playedSecrets(p *pack.Pack) map[string]string {
	values := map[string]string{}
	for _, name := range p.ToolSecrets() {
		values[name] = hiddenSecret
	}
	return values
}

// startRecorder begins or goes on with the recording of an execution, nil for
// none, and puts it between the run and its models.
func startRecorder(a *cli.App, e *execution) (*record.Recorder, error) {
	want := e.plan.Recording
	if want == nil || want.Mode != plan.Recorded || e.taped {
		return nil, nil
	}
	subject, err := subjectOf(e.plan)
	if err != nil {
		return nil, err
	}
	o := record.Options{Subject: subject, RunID: e.plan.RunID, Now: a.Process.Now}
	o.Secrets = append(slices.Clone(e.clients.Secrets), mapValues(e.secrets)...)
	if o.Given, err = givenTexts(e.plan, e.pack); err != nil {
		return nil, err
	}
	var r *record.Recorder
	if e.resumed {
		r, err = record.Reopen(e.claim, o, e.finished)
	} else {
		r, err = record.Create(e.claim, o)
	}
	if err != nil {
		return nil, tapeFailure(err)
	}
	e.clients = through(e.clients, e.plan, func(of record.Scope, inner provider.Client) provider.Client { return r.Client(of.Who, inner) })
	return r, nil
}

// checkReopen refuses a run that goes on with a recording that cannot.
func checkReopen(e *execution) error {
	want := e.plan.Recording
	if want == nil || want.Mode != plan.Recorded {
		return nil
	}
	err := record.CheckReopen(want.Dir, e.plan.RunID)
	if errors.Is(err, record.ErrComplete) && len(e.plan.Trials) == 0 { // the process died when only the run's end was missing
		e.taped = true
		return nil
	}
	if err != nil {
		return cli.Usage("run %s: %w", e.plan.Name, err).Hint("agentclash eval start ... --record %s --overwrite runs and records the pack anew", want.Dir)
	}
	return nil
}

func subjectOf(p *plan.Plan) (record.Subject, error) {
	s := record.Subject{
		Pack: p.Pack.Slug, PackDigest: p.Pack.Digest, InputSet: p.InputSet, Mode: p.Mode,
		Seed: p.Options.Seed, Repetitions: p.Options.Repetitions, RetryInvalid: p.Options.RetryInvalid,
	}
	for _, agent := range p.Agents {
		recorded, err := recordedAgent(agent)
		if err != nil {
			return s, err
		}
		s.Agents = append(s.Agents, recorded)
	}
	for _, m := range p.Judges {
		s.Judges = append(s.Judges, m.Name)
	}
	for _, c := range p.Cases {
		s.Cases = append(s.Cases, c.Key)
	}
	return s, nil
}

// taped gives a run its recording. The function completes the recording once the
// run is over.
func taped(a *cli.App, e execution, r *record.Recorder, deps *engine.Deps, cancel context.CancelCauseFunc) (over func(engine.Result)) {
	switch {
	case r != nil:
		deps.Tape = r
		recall := deps.Recall
		deps.Recall = func(ctx context.Context, trialID string, attempt int, yield func(event.Event) error) error {
			if p, begun := e.unfinishedPlace(trialID); begun && !r.Holds(p, attempt) {
				return nil // a replay would have nothing to go on from
			}
			return recall(ctx, trialID, attempt, yield)
		}
		return func(result engine.Result) { finishRecording(a, e.plan, r, result) }
	case e.player != nil:
		e.player.OnMiss(func(m *record.Miss) { cancel(m) })
		e.player.Hide(append(slices.Clone(e.clients.Secrets), mapValues(e.secrets)...))
		deps.Tape = e.player
		deps.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() } // the clock has been told
	}
	return func(engine.Result) {}
}

// unfinishedPlace names a trial that this execution runs.
func (e execution) unfinishedPlace(trialID string) (record.Place, bool) {
	i := slices.IndexFunc(e.plan.Trials, func(t plan.Trial) bool { return t.ID == trialID })
	if i < 0 {
		return record.Place{}, false
	}
	return placesOf(e.plan, e.plan.Trials[i:i+1])[0], true
}

func finishRecording(a *cli.App, planned *plan.Plan, r *record.Recorder, result engine.Result) {
	dir := planned.Recording.Dir
	if shown, err := filepath.Rel(a.Process.Dir, dir); err == nil && filepath.IsLocal(shown) {
		dir = shown
	}
	digest, missing, err := r.Finish(result.Status == "cancelled")
	switch {
	case err != nil:
		a.Say("! the recording %s could not be completed: %v", dir, err)
	case len(missing) > 0 && result.Status == "interrupted":
		a.Say("! the recording %s is not complete: %d trial(s) are missing, and run resume adds them", dir, len(missing))
	case len(missing) > 0:
		a.Say("! the recording %s cannot be replayed: it lacks %d trial(s), the first of %s", dir, len(missing), missing[0])
	default:
		a.Say("recorded in %s (%.12s); --replay %s runs it again with no key and no connection", dir, digest, dir)
	}
}

// finishedAttempts says which attempts of a run have ended; the rankings of a
// case count when all of its trials have.
func finishedAttempts(planned *plan.Plan, prior [][]scoring.Trial) func(record.Place, int) bool {
	type key struct {
		place   record.Place
		attempt int
	}
	ended, left := map[key]bool{}, map[record.Place]bool{}
	for lane, list := range prior {
		for _, t := range list {
			ended[key{record.Place{Agent: planned.Agents[lane].Label, Case: t.CaseKey, Repetition: t.Repetition}, t.Attempt}] = true
		}
	}
	for _, t := range planned.Trials {
		left[record.Place{Case: t.CaseKey, Repetition: t.Repetition}] = true
	}
	return func(p record.Place, attempt int) bool {
		if p.Agent == "" {
			return !left[p]
		}
		return ended[key{p, attempt}]
	}
}
