package record

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/engine/provider"
)

// ProgramCall is what a program that is the agent asked its model, and what it was
// answered.
type ProgramCall struct {
	// Endpoint is the address of a wire format, and Request the JSON object that was
	// let through. A request that was not let through has neither, and a Refusal.
	Endpoint string
	Request  []byte
	Bounds   Bounds
	// Refusal is JSON: what the program was told in place of a reply. With a Request
	// it is a limit's, and no call was made.
	Refusal []byte
	Answer  []byte // JSON: what came from the model, as the program got it
	First   *provider.Delta
	Reply   *provider.Response
	Failed  *provider.Error
}

// Bounds are how many tokens a call can use, as the proxy has worked them out.
type Bounds struct {
	Most   int64 `json:"most,omitempty"`
	Output int64 `json:"output,omitempty"`
	Least  int64 `json:"least,omitempty"`
}

// ErrOver is that a program which was ended when it was recorded asks more than it
// had asked until then.
var ErrOver = errors.New("the recording of the program ends here")

// programs is the caller of a program's calls.
const programs = "program"

// programLine is a call as it is written.
func programLine(c ProgramCall) (line, error) {
	l := line{Kind: kindProgram, Who: programs, Name: c.Endpoint, Answer: c.Answer, Refusal: c.Refusal}
	if c.Request == nil {
		l.Kind = kindRefused
		return l, nil
	}
	if err := l.ask(c.Request); err != nil {
		return l, err
	}
	if c.Bounds != (Bounds{}) {
		l.Bounds = &c.Bounds
	}
	if c.First != nil {
		l.First = &piece{c.First.Text, c.First.ToolName}
	}
	var err error
	switch {
	case c.Failed != nil:
		_ = l.fail(c.Failed, c.Failed.Recorded) // which gives the failure back
	case c.Reply != nil:
		l.Reply, err = encode(c.Reply)
	}
	return l, err
}

// ask takes a request apart: what was said, and the rest.
func (l *line) ask(request []byte) error {
	if err := json.Unmarshal(request, &l.Request); err != nil {
		return fmt.Errorf("the request: %w", err)
	}
	for _, key := range []string{messagesKey, "input", "contents"} {
		if json.Unmarshal(l.Request[key], &l.messages) == nil && l.messages != nil {
			l.List = key
			delete(l.Request, key)
			return nil
		}
	}
	return nil
}

// request puts what ask took apart together.
func (l line) request() ([]byte, error) {
	all := fields{}
	for key, raw := range l.Request {
		all[key] = raw
	}
	if l.List != "" {
		raw, err := compact(l.messages)
		if err != nil {
			return nil, err
		}
		all[l.List] = raw
	}
	return compact(all)
}

// programCall reads what programLine has written.
func (l line) programCall() (c ProgramCall, err error) {
	c = ProgramCall{Endpoint: l.Name, Refusal: l.Refusal, Answer: l.Answer}
	if l.Kind == kindRefused {
		return c, nil
	}
	if c.Request, err = l.request(); err != nil {
		return c, err
	}
	if l.Bounds != nil {
		c.Bounds = *l.Bounds
	}
	if l.First != nil {
		c.First = &provider.Delta{Text: l.First.Text, ToolName: l.First.Tool}
	}
	switch {
	case l.Error != nil:
		c.Failed = &provider.Error{}
		err = l.Error.decode(c.Failed)
		if l.TimeUp {
			c.Failed.Err = ErrTimeUp
		}
	case l.Reply != nil:
		c.Reply = &provider.Response{}
		err = l.Reply.decode(c.Reply)
	case l.Refusal == nil:
		err = errors.New("it says nothing of what came of the call")
	}
	return c, err
}

// Called writes down what came of a program's call.
func (r *Recorder) Called(ref provider.Ref, c ProgramCall) error {
	l, err := programLine(c)
	if err != nil {
		return r.fail(placeOf(ref), err)
	}
	return r.add(ref, l)
}

// Program is nothing: nothing is played.
func (r *Recorder) Program(provider.Ref, func(ProgramCall) error) error { return nil }

// Play is never asked.
func (r *Recorder) Play(provider.Ref, string, []byte, bool) (ProgramCall, error) {
	return ProgramCall{}, errors.New("nothing is played while it is recorded")
}

// Unlike is never asked.
func (r *Recorder) Unlike(_ provider.Ref, _, why string) error { return errors.New(why) }

// Called is nothing: it was written down.
func (p *Player) Called(provider.Ref, ProgramCall) error { return nil }

// Unlike is a miss of something that has no recorded counterpart.
func (p *Player) Unlike(ref provider.Ref, what, why string) error {
	return p.none(ref, what, 0, errors.New(why))
}

// Program yields all that a program asked in ref's attempt, in order.
func (p *Player) Program(ref provider.Ref, yield func(ProgramCall) error) error {
	w, a, err := p.of(ref)
	if err != nil || a == nil {
		return p.unbegun(ref, "the agent's program", w, err)
	}
	for _, l := range a.program {
		c, err := l.programCall()
		if err != nil {
			return p.miss(&Miss{Place: placeOf(ref), What: "a call of the program", Why: err.Error(), Nearest: p.where(ref, l)})
		}
		if err := yield(c); err != nil {
			return err
		}
	}
	return nil
}

// Play gives the answer to a program's request: the first recorded one, of those
// that were not given yet, which is for the same. Programs make several calls at
// once, and their order is not the same twice. With over, a request after all that
// are recorded is no miss but ErrOver.
func (p *Player) Play(ref provider.Ref, endpoint string, request []byte, over bool) (ProgramCall, error) {
	w, a, err := p.of(ref)
	if err != nil || a == nil {
		return ProgramCall{}, p.unbegun(ref, "a call of the program", w, err)
	}
	what := fmt.Sprintf("call %d of the program", len(w.played)+1)
	now := line{Name: endpoint}
	if err := now.ask(request); err != nil {
		return ProgramCall{}, p.none(ref, what, 0, err)
	}
	now.clean(p.redact)
	left := a.unplayed(w.played)
	if i, ok := findCall(a.program, left, now); ok {
		w.played[i] = true
		return a.program[i].programCall()
	}
	switch {
	case over:
		return ProgramCall{}, ErrOver
	case len(left) == 0:
		return ProgramCall{}, p.none(ref, what, len(w.played), nil)
	}
	l := a.program[nearest(a.program, left, now)]
	d, _ := compareCalls(l, now)
	return ProgramCall{}, p.miss(&Miss{Place: placeOf(ref), What: what, Nearest: p.where(ref, l), Differs: &d})
}

// unplayed are the calls, by their place, that no request has met.
func (a *attempt) unplayed(played map[int]bool) (left []int) {
	for i, l := range a.program {
		if l.Kind == kindProgram && !played[i] {
			left = append(left, i)
		}
	}
	return left
}

// findCall finds the recording of a request: one that is the same in every byte,
// else one that differs only in what is volatile, as what programs print is.
func findCall(all []line, left []int, now line) (int, bool) {
	for _, i := range left {
		if all[i].Name != now.Name || all[i].List != now.List {
			continue
		}
		if _, differ := compareRequests(all[i], now.Request, now.messages); !differ {
			return i, true
		}
	}
	for _, i := range left {
		if _, differ := compareCalls(all[i], now); !differ {
			return i, true
		}
	}
	return 0, false
}

// nearest is the recorded call that has most of the same words at its beginning.
func nearest(all []line, left []int, now line) int {
	best, most := left[0], -1
	for _, i := range left {
		same := 0
		for same < min(len(all[i].messages), len(now.messages)) && string(all[i].messages[same]) == string(now.messages[same]) {
			same++
		}
		if all[i].Name == now.Name && same > most {
			best, most = i, same
		}
	}
	return best
}

// compareCalls compares two calls of a program. What is volatile does not count:
// the program's own tools are run again, and say when and how long.
func compareCalls(was, now line) (Difference, bool) {
	if was.Name != now.Name {
		return texts("endpoint", was.Name, now.Name), true
	}
	settled := func(field string, a, b json.RawMessage) (Difference, bool) {
		return compare(field, settle(tree(a)), settle(tree(b)))
	}
	if d, differ := settled("model", was.Request["model"], now.Request["model"]); differ {
		return d, true
	}
	if was.List != now.List {
		return texts("the key of what is said", was.List, now.List), true
	}
	for i := range max(len(was.messages), len(now.messages)) {
		if d, differ := settled(fmt.Sprintf("%s[%d]", was.List, i), at(was.messages, i), at(now.messages, i)); differ {
			return d, true
		}
	}
	for _, key := range union(was.Request, now.Request) {
		if d, differ := settled(key, was.Request[key], now.Request[key]); differ {
			return d, true
		}
	}
	return Difference{}, false
}
