package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/redact"
)

// Player plays a recording back. It is safe for concurrent use, one goroutine a
// trial.
type Player struct {
	name   string // of the directory, as it was given
	dir    *os.Root
	header Header
	redact *redact.Redactor
	missed func(*Miss)

	mu     sync.Mutex
	places map[Place]*playing
}

// playing is a place that is being played.
type playing struct {
	attempts []*attempt
	ended    int // attempts that have ended
	number   int // of the attempt that goes on, as the run counts
	begun    bool
	calls    map[string]int // that were made, by caller
	waits    map[string]int // likewise
	tools    int
	https    int
	played   map[int]bool // calls of the program, by their place
	stated   int
}

// Open reads what a recording says of itself and sees that it is whole and as it
// was recorded.
func Open(dir string) (*Player, error) {
	doing := func(err error) error { return fmt.Errorf("replay %s: %w", dir, err) }
	info, err := os.Stat(dir)
	if err != nil {
		return nil, doing(err)
	}
	if !info.IsDir() {
		return nil, doing(errors.New("it is no directory"))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, doing(err)
	}
	h, err := readHeader(root)
	switch {
	case errors.Is(err, errNone):
		err = fmt.Errorf("it is no recording: %w", err)
	case err == nil && !h.Complete:
		err = incomplete(root, h)
	case err == nil:
		err = verify(root, h)
	}
	if err != nil {
		return nil, doing(errors.Join(err, root.Close()))
	}
	return &Player{name: dir, dir: root, header: h, redact: redact.New(nil), missed: func(*Miss) {}, places: map[Place]*playing{}}, nil
}

// incomplete says what can be done with a recording that lacks something.
func incomplete(dir *os.Root, h Header) error {
	if who := holder(dir); who != "" {
		return fmt.Errorf("%s records into it now: wait for it", who)
	}
	if h.RunID == "" {
		return errors.New("the recording was never completed, and its run is over: record again with --overwrite")
	}
	return fmt.Errorf("the recording was never completed: agentclash run resume %s goes on with it, or record again with --overwrite", runID(h))
}

// runID is the run of an incomplete recording, as long as it is an id: it is
// shown to be typed.
func runID(h Header) string {
	if id, err := uuid.Parse(h.RunID); err == nil {
		return id.String()
	}
	return "RUN"
}

// Header is what the recording says of itself.
func (p *Player) Header() Header { return p.header }

// Hide takes values out of requests before these are compared, as secrets were
// when they were recorded.
func (p *Player) Hide(values []string) { p.redact = redact.New(values) }

// OnMiss is told of each request that is not recorded, before it fails.
func (p *Player) OnMiss(f func(*Miss)) { p.missed = f }

// Close releases the directory.
func (p *Player) Close() error { return p.dir.Close() }

// Check says which trials are not in the recording, nil when all are.
func (p *Player) Check(trials []Place) *Miss {
	for _, t := range trials {
		if p.header.Files[t.file()] != "" {
			continue
		}
		m := &Miss{Place: t, What: "the trial", Why: p.lacks(t)}
		return m
	}
	return nil
}

// lacks says why a trial is not in the recording.
func (p *Player) lacks(t Place) string {
	var labels []string
	for _, a := range p.header.Agents {
		label := fmt.Sprintf("%q", a.Label)
		if a.Model != a.Label {
			label += fmt.Sprintf(" (%s)", a.Model)
		}
		labels = append(labels, label)
	}
	switch {
	case !slices.ContainsFunc(p.header.Agents, func(a Agent) bool { return a.Label == t.Agent }):
		return "agents are told apart by their names, and the recording has " + strings.Join(labels, ", ")
	case !slices.Contains(p.header.Cases, t.Case):
		return fmt.Sprintf("the recording has %d case(s), and not this one", len(p.header.Cases))
	}
	return fmt.Sprintf("the recording has %d repetition(s)", p.header.Repetitions)
}

// Replays is true.
func (p *Player) Replays() bool { return true }

// of finds where ref's attempt stands, and the attempt that was recorded.
func (p *Player) of(ref provider.Ref) (*playing, *attempt, error) {
	at := placeOf(ref)
	p.mu.Lock()
	w := p.places[at]
	p.mu.Unlock()
	if w == nil {
		w = &playing{}
		var err error
		if w.attempts, err = p.read(at); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", at.file(), err)
		}
		p.mu.Lock()
		p.places[at] = w
		p.mu.Unlock()
	}
	if !w.begun || w.number != ref.Attempt {
		w.begun, w.number, w.tools, w.https, w.stated = true, ref.Attempt, 0, 0, 0
		w.calls, w.waits, w.played = map[string]int{}, map[string]int{}, map[int]bool{}
	}
	if w.ended >= len(w.attempts) {
		return w, nil, nil // none was recorded
	}
	return w, w.attempts[w.ended], nil
}

// read reads the attempts of a place, none when it is not in the recording.
func (p *Player) read(at Place) ([]*attempt, error) {
	want := p.header.Files[at.file()]
	if want == "" {
		return nil, nil
	}
	raw, err := readFile(p.dir, at.file(), maxFile)
	if err != nil {
		return nil, err
	}
	if digestOf(raw) != want {
		return nil, errors.New("it was changed while it was replayed")
	}
	return parse(raw, at)
}

// miss tells of a request that is not recorded.
func (p *Player) miss(m *Miss) error {
	p.missed(m)
	return m
}

// none is a miss of something that has no place in the recording.
func (p *Player) none(ref provider.Ref, what string, recorded int, err error) error {
	m := &Miss{Place: placeOf(ref), What: what}
	switch {
	case err != nil:
		m.Why = err.Error()
	case recorded == 0:
		m.Why = "none was recorded in this attempt"
	default:
		m.Why = fmt.Sprintf("%d were recorded in this attempt", recorded)
	}
	return p.miss(m)
}

// unbegun is a miss of something in an attempt that is not there at all.
func (p *Player) unbegun(ref provider.Ref, what string, w *playing, err error) error {
	if err == nil {
		err = fmt.Errorf("it is of attempt %d, and %d were recorded", w.ended+1, len(w.attempts))
	}
	return p.none(ref, what, 0, err)
}

func (p *Player) where(ref provider.Ref, l line) string {
	return fmt.Sprintf("line %d of %s in %s", l.number, placeOf(ref).file(), p.name)
}

// Client plays the calls of who back.
func (p *Player) Client(who string) provider.Client { return played{p, who} }

type played struct {
	from *Player
	who  string
}

// Prerecorded says that no server stands behind the client.
func (played) Prerecorded() {}

// Complete gives what was recorded for this call, in its order.
func (c played) Complete(ctx context.Context, req provider.Request, onDelta func(provider.Delta)) (provider.Response, error) {
	if ended := provider.FromContext(ctx, "recording"); ended != nil {
		return provider.Response{}, ended
	}
	l, last, err := c.from.call(c.who, req)
	if err != nil {
		return provider.Response{}, broken(err)
	}
	res, err := l.reply(last, onDelta)
	var e *provider.Error
	if err != nil && !errors.As(err, &e) {
		err = broken(c.from.miss(&Miss{Place: placeOf(req.Ref), What: "the reply", Why: err.Error(), Nearest: c.from.where(req.Ref, l)}))
	}
	return res, err
}

// Forget drops what was read of a trial.
func (c played) Forget(ref provider.Ref) { c.from.Forget(ref) }

// Forget drops what was read of a trial.
func (p *Player) Forget(ref provider.Ref) {
	p.mu.Lock()
	delete(p.places, placeOf(ref))
	p.mu.Unlock()
}

// call finds the recorded call, and whether it was its last try.
func (p *Player) call(who string, req provider.Request) (line, bool, error) {
	w, a, err := p.of(req.Ref)
	if err != nil || a == nil {
		return line{}, false, p.unbegun(req.Ref, "a call of the "+who, w, err)
	}
	calls := a.calls[who]
	n := w.calls[who]
	what := fmt.Sprintf("call %d of the %s", n+1, who)
	now, messages, err := p.plain(req)
	if err != nil {
		return line{}, false, p.none(req.Ref, what, len(calls), err)
	}
	if n >= len(calls) {
		return line{}, false, p.none(req.Ref, what, len(calls), nil)
	}
	l := calls[n]
	if d, differ := compareRequests(l, now, messages); differ {
		return line{}, false, p.miss(&Miss{Place: placeOf(req.Ref), What: what, Nearest: p.where(req.Ref, l), Differs: &d})
	}
	w.calls[who]++
	last := true
	if n+1 < len(calls) {
		_, differ := compareRequests(calls[n+1], now, messages)
		last = differ
	}
	return l, last, nil
}

// plain is a request as it would be recorded.
func (p *Player) plain(req provider.Request) (fields, []json.RawMessage, error) {
	request, messages, err := requestOf(req, ids{})
	if err != nil {
		return nil, nil, err
	}
	l := line{Request: request, messages: messages}
	l.clean(p.redact)
	return l.Request, l.messages, nil
}

// Tool gives what the call came to when it was recorded.
func (p *Player) Tool(ref provider.Ref, name string, _ Answer) (Answer, error) {
	w, a, err := p.of(ref)
	if err != nil || a == nil {
		return Answer{}, p.unbegun(ref, "a call of the tool "+name, w, err)
	}
	what := fmt.Sprintf("tool call %d", w.tools+1)
	if w.tools >= len(a.tools) {
		return Answer{}, p.none(ref, what+", of "+name, len(a.tools), nil)
	}
	l := a.tools[w.tools]
	if l.Name != name {
		d := texts("name", l.Name, name)
		return Answer{}, p.miss(&Miss{Place: placeOf(ref), What: what, Nearest: p.where(ref, l), Differs: &d})
	}
	w.tools++
	return Answer{Result: l.Answer, Lost: l.Lost, TookMS: l.TookMS}, nil
}

// Wait gives the wait that was recorded. One that was not is as it is now.
func (p *Player) Wait(ref provider.Ref, who string, now time.Duration) (time.Duration, error) {
	w, a, err := p.of(ref)
	if err != nil {
		return 0, p.none(ref, "a wait", 0, err)
	}
	if a == nil || w.waits[who] >= len(a.waits[who]) {
		return now, nil
	}
	l := a.waits[who][w.waits[who]]
	w.waits[who]++
	return time.Duration(l.TookMS) * time.Millisecond, nil
}

// HTTP gives the recorded answer to the same request, and asks nobody.
func (p *Player) HTTP(ref provider.Ref, asked []byte, _ func() ([]byte, error)) ([]byte, error) {
	w, a, err := p.of(ref)
	if err != nil || a == nil {
		return nil, p.unbegun(ref, "an http_request", w, err)
	}
	what := fmt.Sprintf("http_request %d", w.https+1)
	if w.https >= len(a.https) {
		return nil, p.none(ref, what, len(a.https), nil)
	}
	l := a.https[w.https]
	if d, differ := compareJSON("", l.Asked, bytes.TrimSpace(p.redact.JSON(asked))); differ {
		return nil, p.miss(&Miss{Place: placeOf(ref), What: what, Nearest: p.where(ref, l), Differs: &d})
	}
	w.https++
	return l.Answer, nil
}

// Egress gives what was decided then: on a replay nothing is permitted.
func (p *Player) Egress(ref provider.Ref, _ []event.Egress) ([]event.Egress, error) {
	w, a, err := p.of(ref)
	if err != nil {
		return nil, p.none(ref, "a decision about the network", 0, err)
	}
	w.stated++
	if a == nil {
		return nil, nil
	}
	return a.egress[w.stated].Decisions, nil
}

// End goes on to the next recorded attempt, unless this one is to be made again.
func (p *Player) End(ref provider.Ref, keep bool) error {
	w, _, err := p.of(ref)
	if err != nil {
		return p.none(ref, "the end of an attempt", 0, err)
	}
	if keep {
		w.ended++
	}
	w.begun = false
	return nil
}
