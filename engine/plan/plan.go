package plan

import (
	"fmt"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/sequential"
)

// Plan is everything one run will do. Its JSON is what the store keeps; the
// pack itself is kept beside it as a snapshot, by Pack.Digest.
type Plan struct {
	RunID      string              `json:"run_id"`
	Name       string              `json:"name"`
	Workspace  string              `json:"workspace"`
	CreatedAt  time.Time           `json:"created_at"`
	Pack       event.PackRef       `json:"pack"`
	InputSet   string              `json:"input_set"`
	Mode       string              `json:"execution_mode"`
	SpecDigest string              `json:"evaluation_spec_digest"`
	Sandbox    sandbox.Description `json:"sandbox"` // Kind "" when the mode needs none
	Agents     []RunAgent          `json:"agents"`
	Cases      []CaseRef           `json:"cases"`
	Options    Options             `json:"options"`
	// Recording is what the run records, or plays back; nil: neither.
	Recording *Recording `json:"recording,omitempty"`
	// Cache says that replies may come from the cache of the home directory.
	Cache bool `json:"cache,omitempty"`
	// Judges are the models that the spec's judges ask.
	Judges []JudgeModel `json:"judges,omitempty"`
	// Simulators are the models that play the users of conversations.
	Simulators []SimulatorModel `json:"simulators,omitempty"`
	// Affected are the runs, newest first, whose trials may stand for this run's;
	// none when every trial is run.
	Affected []string `json:"affected_since,omitempty"`
	// Session names the session that the run was started into; "" for none, or
	// for one of its own.
	Session string `json:"session,omitempty"`
	// RetryOf is the run whose failed trials this one runs again.
	RetryOf string `json:"retry_of,omitempty"`
	// Merged are the runs that this one was put together from, by shard; none for a
	// run that was executed.
	Merged []MergedRun `json:"merged_from,omitempty"`
	// Imported says that the run, or one that it repeats or is put together from, came
	// from elsewhere: its deployments are not to be believed with secrets.
	Imported bool `json:"imported,omitempty"`
	// Until is the test that ends the run once it has decided; nil runs every trial.
	Until *sequential.Test `json:"until_decided,omitempty"`
	// Prices are the list prices of the day the run was planned, for models
	// that the pack does not price; costs are worked out again by these.
	Prices scoring.ListPrices `json:"prices,omitzero"`
	// Trials are in execution order. A resumed plan holds only what is
	// unfinished.
	Trials []Trial `json:"-"`

	// What a plan has of its pack, by New, Reopen and Bind.
	Source *pack.Pack      `json:"-"`
	Spec   scoring.Spec    `json:"-"`
	Scorer *scoring.Scorer `json:"-"`
	// Before is how far earlier processes of the run have come.
	Before Progress `json:"-"`

	cases map[string]pack.Case
}

// What a run does with a recording.
const (
	Recorded = "record"
	Replayed = "replay"
)

// Recording is the recording of a run.
type Recording struct {
	Mode      string `json:"mode"`             // Recorded or Replayed
	Dir       string `json:"dir"`              // absolute
	Digest    string `json:"digest,omitempty"` // of a recording that is replayed
	Overwrite bool   `json:"-"`
}

// Options are the run's own settings.
type Options struct {
	Repetitions  int     `json:"repetitions"`
	Seed         int64   `json:"seed"`
	Concurrency  int     `json:"concurrency"`
	RetryInvalid int     `json:"retry_invalid"`
	MinPassRate  float64 `json:"min_pass_rate"`
	MaxInvalid   int     `json:"max_invalid"`
	// BudgetUSD is what all the run's model calls may cost together, those of
	// judges included and those of earlier processes of the run; 0: anything.
	BudgetUSD float64 `json:"budget_usd,omitempty"`
	// Deadline is when the run ends, done or not; zero: never.
	Deadline time.Time `json:"deadline,omitzero"`
	// MaxWaitMS is how long one call may wait for its provider, in all; nil: as
	// [provider.DefaultPolicy] has it. 0 never waits.
	MaxWaitMS *int64 `json:"max_wait_ms,omitempty"`
	// HumanWait has conversations wait for people where no screen asks them.
	HumanWait bool `json:"human_wait,omitempty"`
	// PeerStandings has agents told how the others stand on the same case, at most
	// every PeerGap steps unless there is news.
	PeerStandings bool `json:"peer_standings,omitempty"`
	PeerGap       int  `json:"peer_standings_gap,omitempty"`
	// Shard is the part of the cases that the run has; nil: all of them.
	Shard *Shard `json:"shard,omitempty"`
}

// RunAgent is one deployment's lane in a run.
type RunAgent struct {
	ID         string     `json:"run_agent_id"`
	Label      string     `json:"label"`
	Lane       int        `json:"lane_index"`
	Deployment Deployment `json:"deployment"`
}

// CaseRef names a planned case and what its content was.
type CaseRef struct {
	Key    string `json:"case_key"`
	Digest string `json:"digest"` // of case and challenge document and their assets
	// Regressions are the cases of regression suites that this one is.
	Regressions []scoring.Regression `json:"regression_cases,omitempty"`
}

// Trial is one run agent on one case, one repetition.
type Trial struct {
	ID         string `json:"trial_id"`
	Agent      int    `json:"agent"` // index into Plan.Agents
	CaseKey    string `json:"case_key"`
	Repetition int    `json:"repetition"` // from 1
	Attempt    int    `json:"attempt"`    // the first attempt to make, from 1
	// Reuse is the attempt of another run's trial whose evidence stands for this
	// one's; nil runs the trial.
	Reuse *event.Reused `json:"-"`
	// OtherJudges are the models, by [JudgeModel.Name], whose replies in that
	// evidence do not stand, since other ones are asked by that name now.
	OtherJudges []string `json:"-"`
}

// Progress is how far a stored run has come.
type Progress struct {
	Left  []Trial           // what is still to be run
	Prior [][]scoring.Trial // the finished attempts, by lane and in order
	Facts int64             // the number of the run's own last fact
	// Decided says that one of these was the decision of Plan.Until.
	Decided bool
	// ChargedUSD is what the run has taken of its budget: see [Charges].
	ChargedUSD float64
}

// Case is a case of the plan's input set.
func (p *Plan) Case(key string) (pack.Case, error) {
	c, ok := p.cases[key]
	if !ok {
		return pack.Case{}, fmt.Errorf("input set %q has no case %q", p.InputSet, key)
	}
	return c, nil
}

// Prior are the attempts of a run agent that earlier processes of the run finished.
func (p *Plan) Prior(lane int) []scoring.Trial {
	if lane < len(p.Before.Prior) {
		return p.Before.Prior[lane]
	}
	return nil
}

// Reused counts the trials that earlier ones stand for.
func (p *Plan) Reused() (n int) {
	for _, t := range p.Trials {
		if t.Reuse != nil {
			n++
		}
	}
	return n
}

// Decide is what scoring says of a trial: of a living one as of a stored one.
func (p *Plan) Decide(t *scoring.Trial, ev scoring.Evidence, agentCode string) scoring.Scorecard {
	p.Scorer.Measure(t, ev)
	card := p.Scorer.Score(ev)
	p.Scorer.Decide(t, card, agentCode)
	return card
}
