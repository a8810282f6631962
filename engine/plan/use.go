package plan

import "fmt"

// Use is what can be done with a run besides running it from start to end.
type Use int

// The uses of a run.
const (
	Tape   Use = iota // record its exchanges, or answer it from a recording
	Cached            // answer its calls from the cache
	Borrow            // have trials of earlier runs stand for its own
	Lend              // have its trials stand for those of other runs
	Resume            // go on with it, its invalid trials included
	Retry             // run its failed trials again, as a run of their own
)

// Obstacle is why a run cannot be put to a use.
type Obstacle struct {
	Why     string // a sentence without its period
	Instead string // what to type or to leave out, "" for nothing
}

func (o *Obstacle) Error() string { return o.Why }

// Obstacle says what stands in the way of a use of the run, nil for nothing. It
// is the one place that decides this, for a run that is asked for as for one
// that is stored; what files hold by now is for those who read them.
func (p *Plan) Obstacle(u Use) *Obstacle {
	if o := p.standingsHinder(u); o != nil {
		return o
	}
	switch u {
	case Tape, Cached:
		return p.untapeable(u)
	case Borrow:
		if p.Recording != nil {
			return &Obstacle{"what is not run is not recorded, and a replay runs everything", "leave out --affected, or --record and --replay"}
		}
	case Lend:
		if p.replays() {
			return &Obstacle{"it was a replay, in which nothing was measured", ""}
		}
		if p.Cache {
			return &Obstacle{"it took replies from the cache, so that nothing was measured", ""}
		}
	case Resume:
		if p.replays() {
			return &Obstacle{"it was a replay, which is not resumed",
				fmt.Sprintf("agentclash eval start ... --replay %s starts it again, and costs nothing", p.Recording.Dir)}
		}
	case Retry:
		if p.replays() {
			return &Obstacle{"it was a replay, which answers the same again",
				"agentclash eval start ... without --replay asks the models themselves"}
		}
	}
	return nil
}

func (p *Plan) replays() bool { return p.Recording != nil && p.Recording.Mode == Replayed }

// standingsHinder refuses what would have to repeat what went on elsewhere.
func (p *Plan) standingsHinder(u Use) *Obstacle {
	if !p.Options.PeerStandings {
		return nil
	}
	switch u {
	case Tape, Borrow:
		return &Obstacle{"--peer-standings tells agents what happens elsewhere in the run, which nothing can repeat", "leave out --record, --replay and --affected"}
	case Lend:
		return &Obstacle{"its agents were told how the others stood (--peer-standings), which nothing repeats", ""}
	case Cached, Resume, Retry:
	}
	return nil
}

// untapeable refuses what no recording or cache could answer.
func (p *Plan) untapeable(u Use) *Obstacle {
	if u == Tape && p.AsksPeople() {
		return &Obstacle{"conversations of this pack ask people, and what they say is not recorded", "leave out --record and --replay"}
	}
	for _, agent := range p.Agents {
		if u == Cached && agent.Deployment.Kind == KindCommand {
			return &Obstacle{fmt.Sprintf("deployment %q is a program, whose own calls are not cached", agent.Label), "leave out --cache"}
		}
	}
	return nil
}

// LoanObstacle says why no trial of an earlier run can stand for one of this
// plan's on a case, nil when one of the same identity does. Both plans must have
// their packs.
func (p *Plan) LoanObstacle(earlier *Plan, caseKey string) *Obstacle {
	if o := earlier.Obstacle(Lend); o != nil {
		return o
	}
	if o := p.Obstacle(Borrow); o != nil {
		return o
	}
	if p.cases[caseKey].AsksPeople() {
		return &Obstacle{"its conversation asks people, who may say something else", ""}
	}
	return nil
}
