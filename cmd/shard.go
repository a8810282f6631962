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

// checkSession refuses a session of runs that are no new evidence.
func (o *startOptions) checkSession() error {
	if o.session == "" {
		return nil
	}
	switch {
	case o.shard != "":
		return usage("--session takes whole runs, and a shard is a part of one: give --session to run merge")
	case o.affected:
		return usage("--session counts every trial as new, and --affected has earlier ones stand for them: choose one")
	case o.tape.replay != "" || o.tape.cache:
		return usage("--session counts every trial as new, and --replay and --cache answer with what was said before: leave them out")
	}
	return checkSessionName(o.session)
}
