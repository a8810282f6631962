package evaluation

import (
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/sessions"
	"github.com/agentclash/agentclash/engine/plan"
)

// checkShard reads --shard, and refuses what needs all cases of a run.
func (o *StartOptions) checkShard() error {
	if o.shard == "" {
		return nil
	}
	s, err := plan.ParseShard(o.shard)
	switch {
	case err != nil:
		return cli.Usage("--shard: %w", err)
	case o.Gate:
		return cli.Usage("--gate judges a whole run, and --shard runs a part of one").Hint("agentclash run merge ... --gate")
	case o.plan.PeerStandings:
		return cli.Usage("--peer-standings needs all cases of a run in one process: leave out --shard")
	}
	o.plan.Shard = &s
	return nil
}

// checkSession refuses a session of runs that are no new evidence.
func (o *StartOptions) checkSession() error {
	if o.session == "" {
		return nil
	}
	switch {
	case o.shard != "":
		return cli.Usage("--session takes whole runs, and a shard is a part of one: give --session to run merge")
	case o.affected:
		return cli.Usage("--session counts every trial as new, and --affected has earlier ones stand for them: choose one")
	case o.Tape.Replay != "" || o.Tape.cache:
		return cli.Usage("--session counts every trial as new, and --replay and --cache answer with what was said before: leave them out")
	}
	return sessions.CheckSessionName(o.session)
}
