package packtest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// silent hands in nothing.
func silent() cheat {
	return cheat{think: func(provider.Request) answer { return answer{final: nothing} }}
}

// echo hands in what it was asked, wherever it can.
func (s *subject) echo() cheat {
	return cheat{think: func(req provider.Request) answer { return s.everywhere(asked(req)) }}
}

// reader hands in what it can read of the expectations, and makes the calls and
// the files that are only asked to be there. It knows expectations only to
// recognize them, and leaves alone what it is shown beside the expectations of
// other cases: an agent could not tell which of these to take.
func (s *subject) reader(set pack.InputSet) cheat {
	wants := map[string]map[string][]want{}
	for _, c := range s.casesOf(set) {
		wants[c.Key()] = s.recognizable(c)
	}
	return cheat{look: true, think: func(req provider.Request) answer {
		shown := seen(req.Messages)
		found := map[string][]want{}
		for target, list := range wants[req.Ref.Case] {
			for _, w := range list {
				if w.free || slices.ContainsFunc(shown, func(p place) bool { return p.gives(w.text) }) {
					found[target] = append(found[target], w)
				}
			}
		}
		a := compose(found)
		a.calls = s.asked()
		return a
	}}
}

// recognizable are the wants of a case without what is a choice.
func (s *subject) recognizable(c *testCase) map[string][]want {
	wants, places := s.wants(c), s.shown(c)
	for target, list := range wants {
		wants[target] = slices.DeleteFunc(list, func(w want) bool {
			if w.free {
				return false
			}
			told, seen := s.telling(places, w.ref, w.text)
			return seen && len(told) == 0
		})
	}
	return wants
}

func (s *subject) casesOf(set pack.InputSet) []*testCase {
	return slices.DeleteFunc(slices.Clone(s.cases), func(c *testCase) bool { return c.set != set.Key })
}

// hardcoded answers every case with what one expects.
func (s *subject) hardcoded(c *testCase) cheat {
	fixed := compose(s.wants(c))
	fixed.calls = s.asked()
	return cheat{think: func(provider.Request) answer { return fixed }}
}

// replay answers every case with what the reference agent said on one.
type replay struct{ said []provider.Response }

// Complete gives the reply of the same step; the last one repeats.
func (r replay) Complete(ctx context.Context, req provider.Request, onDelta func(provider.Delta)) (provider.Response, error) {
	if err := provider.FromContext(ctx, provider.Scripted); err != nil {
		return provider.Response{}, err
	}
	step := 0
	for _, m := range req.Messages {
		if m.Role == provider.Assistant {
			step++
		}
	}
	res := r.said[min(step, len(r.said)-1)]
	res.Model = req.Model
	if onDelta != nil && res.Text != "" {
		onDelta(provider.Delta{Text: res.Text})
	}
	return res, nil
}

// maxRecorded is how many cases the reference's replies are kept of.
const maxRecorded = 20

// recorder is the reference agent, listened to. What its script refuses is an
// empty reply, so that one case without replies does not end all the others. A
// later attempt of a trial begins the script again: it was not the agent that
// ended the first.
type recorder struct {
	inner provider.Client

	mu      sync.Mutex
	attempt map[string]int // by case
	said    map[string][]provider.Response
	refused map[string]string // why
}

func newRecorder(c provider.Client) *recorder {
	return &recorder{inner: c, attempt: map[string]int{}, said: map[string][]provider.Response{}, refused: map[string]string{}}
}

// Complete asks the reference agent.
func (r *recorder) Complete(ctx context.Context, req provider.Request, onDelta func(provider.Delta)) (provider.Response, error) {
	r.begin(req.Ref)
	res, err := r.inner.Complete(ctx, req, onDelta)
	r.mu.Lock()
	defer r.mu.Unlock()
	if fatal(err) {
		r.refused[req.Ref.Case] = err.Error()
		return provider.Response{Model: req.Model, Finish: provider.FinishStop, Recorded: true}, nil
	}
	if err != nil {
		return res, err
	}
	if said, known := r.said[req.Ref.Case]; known || len(r.said) < maxRecorded {
		r.said[req.Ref.Case] = append(said, res)
	}
	return res, nil
}

// begin notes which attempt of a case is being made.
func (r *recorder) begin(ref provider.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.attempt[ref.Case] > 0 && r.attempt[ref.Case] != ref.Attempt {
		delete(r.said, ref.Case)
		r.Forget(ref)
	}
	r.attempt[ref.Case] = ref.Attempt
}

// fatal says whether an error would end the whole run agent.
func fatal(err error) bool {
	var call *provider.Error
	if !errors.As(err, &call) {
		return false
	}
	return call.Code == provider.InvalidRequest || call.Code == provider.Auth || call.Code == provider.UnknownModel
}

// Forget passes on that a trial is over.
func (r *recorder) Forget(ref provider.Ref) {
	if f, ok := r.inner.(provider.Forgetter); ok {
		f.Forget(ref)
	}
}

// source is the first case that the reference passed and whose replies are
// kept.
func (r *recorder) source(played []trial) *trial {
	for i, t := range played {
		if t.result.Outcome == scoring.OutcomePassed && len(r.said[t.of.Key()]) > 0 {
			return &played[i]
		}
	}
	return nil
}
