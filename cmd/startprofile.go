package cmd

import (
	"context"

	"github.com/agentclash/agentclash/engine/plan"
)

// profiled gives the agents of a run what the runtime profiles say, and the run its
// image and the prices to reckon with.
func (a *app) profiled(ctx context.Context, o *startOptions, lanes []plan.Deployment) error {
	if o.tape.player != nil && o.agents() == 0 {
		if o.profile != "" {
			return usage("--runtime-profile is for lanes that are named: those of a recording are as they were")
		}
	} else if _, err := a.withProfile(ctx, o.profile, lanes); err != nil {
		return err
	}
	if o.image == "" {
		image, err := profiledImage(lanes)
		if err != nil {
			return err
		}
		o.image = image
		if _, err := a.sandboxKind(o.sandbox, image); err != nil {
			return err
		}
	}
	catalog, err := a.catalog()
	o.prices = catalog.prices
	return err
}
