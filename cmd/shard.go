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

// whole refuses a side that is a part of a run.
func (s side) whole(doing string) error {
	if s.plan.Options.Shard == nil {
		return nil
	}
	return usage("%s: run %s is only shard %s", doing, s.run.Name, shardOf(&s.plan)).hint("agentclash run merge puts the shards together")
}

// mentionShard warns that a side is a part of a run.
func (a *app) mentionShard(sides ...side) {
	for _, s := range sides {
		if s.plan.Options.Shard != nil {
			a.say("! run %s is only shard %s: agentclash run merge puts the shards together", s.run.Name, shardOf(&s.plan))
		}
	}
}
