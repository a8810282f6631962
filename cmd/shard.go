package cmd

import (
	"github.com/agentclash/agentclash/engine/plan"
)

// checkShard reads --shard, and refuses what needs all cases of a run.
func (o *startOptions) checkShard() error {
	if o.shard == "" {
		return nil
	}
	s, err := plan.ParseShard(o.shard)
	switch {
	case err != nil:
		return usage("--shard: %w", err)
	case o.gate:
		return usage("--gate judges a whole run, and --shard runs a part of one").hint("agentclash run merge ... --gate")
	case o.plan.PeerStandings:
		return usage("--peer-standings needs all cases of a run in one process: leave out --shard")
	}
	o.plan.Shard = &s
	return nil
}

// shardOf says which part of a run a plan is, "" for a whole one.
func shardOf(p *plan.Plan) string {
	if p.Options.Shard == nil {
		return ""
	}
	return p.Options.Shard.Share()
}

// part says of a side that does not stand for its agent why, and what to do
// instead: a shard, or failed trials that were run again. "" is a whole run.
func (s side) part() (what, next string) {
	switch {
	case s.plan.Options.Shard != nil:
		return "is only shard " + shardOf(&s.plan), "agentclash run merge puts the shards together"
	case s.plan.RetryOf != "":
		return "has only trials that had failed before", "agentclash eval start runs all of them; --repetitions says how often each passes"
	}
	return "", ""
}

// whole refuses a side that is a part of a run.
func (s side) whole(doing string) error {
	what, next := s.part()
	if what == "" {
		return nil
	}
	return usage("%s: run %s %s", doing, s.run.Name, what).hint("%s", next)
}

// mentionPart warns that a side is a part of a run.
func (a *app) mentionPart(sides ...side) {
	for _, s := range sides {
		if what, next := s.part(); what != "" {
			a.say("! run %s %s: %s", s.run.Name, what, next)
		}
	}
}
