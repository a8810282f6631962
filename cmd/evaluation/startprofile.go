package evaluation

import (
	"context"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/engine/plan"
)

// profiled gives the agents of a run what the runtime profiles say, and the run its
// image and the prices to reckon with.
func profiled(ctx context.Context, a *cli.App, o *StartOptions, lanes []plan.Deployment) error {
	if o.Tape.player != nil && o.agents() == 0 {
		if o.Profile != "" {
			return cli.Usage("--runtime-profile is for lanes that are named: those of a recording are as they were")
		}
	} else if _, err := agents.WithProfile(ctx, a, o.Profile, lanes); err != nil {
		return err
	}
	if o.image == "" {
		image, err := agents.ProfiledImage(lanes)
		if err != nil {
			return err
		}
		o.image = image
		if _, err := sandboxes.SandboxKind(a, o.sandbox, image); err != nil {
			return err
		}
	}
	catalog, err := agents.Catalog(a)
	o.prices = catalog.Prices
	return err
}
