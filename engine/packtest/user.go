package packtest

import (
	"context"

	"github.com/agentclash/agentclash/engine/provider"
)

// user plays the simulated users of a conversation: as the reference agent's script
// has them, and where it has none by saying the same thing over and over.
type user struct{ scripted provider.Client }

// goOn is what a user says whom nobody wrote.
const goOn = "Please go on."

// Complete gives the user's next message.
func (u user) Complete(ctx context.Context, req provider.Request, onDelta func(provider.Delta)) (provider.Response, error) {
	if u.scripted != nil {
		res, err := u.scripted.Complete(ctx, req, onDelta)
		if provider.CodeOf(err) != provider.InvalidRequest {
			return res, err
		}
	}
	if err := provider.FromContext(ctx, provider.Scripted); err != nil {
		return provider.Response{}, err
	}
	return provider.Response{Model: req.Model, Text: goOn, Finish: provider.FinishStop, Recorded: true}, nil
}

// Forget drops what a script keeps for a trial.
func (u user) Forget(ref provider.Ref) {
	if f, ok := u.scripted.(provider.Forgetter); ok {
		f.Forget(ref)
	}
}
