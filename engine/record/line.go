package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
)

// The kinds of lines.
const (
	kindAttempt = "attempt" // begins
	kindModel   = "model"
	kindWait    = "wait" // between two tries of a call
	kindTool    = "tool"
	kindHTTP    = "http"
	kindEgress  = "egress"
	kindProgram = "program_call"    // of a program that is the agent
	kindRefused = "program_refused" // likewise, what was not let through
	kindEnd     = "end"             // of an attempt
)

// line is one line of a place's file, all but the first.
type line struct {
	Kind    string `json:"kind"`
	Attempt int    `json:"attempt,omitempty"` // of kindAttempt
	// Of a call to a model: whose it is, and the request. A recorded request
	// leaves out the first Kept messages and the members Same, which are those
	// of the same caller's request before.
	Who     string   `json:"who,omitempty"`
	Request fields   `json:"request,omitempty"`
	Kept    int      `json:"kept,omitempty"`
	Same    []string `json:"same,omitempty"`
	Reply   fields   `json:"reply,omitempty"`
	Error   fields   `json:"error,omitempty"`
	First   *piece   `json:"first,omitempty"` // of a streamed reply
	// Dial says that the server could not be reached at all, TimeUp that the
	// trial's own time ran out.
	Dial   bool `json:"dial,omitempty"`
	TimeUp bool `json:"time_up,omitempty"`
	// Of a tool or an http_request.
	Name   string          `json:"name,omitempty"`
	Asked  json.RawMessage `json:"asked,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Lost   *Lost           `json:"lost,omitempty"`
	TookMS int64           `json:"took_ms,omitempty"`
	// Of a program's call: the member of its request that is the conversation, what
	// it can use, and what it was told in place of a reply.
	List    string          `json:"list,omitempty"`
	Bounds  *Bounds         `json:"bounds,omitempty"`
	Refusal json.RawMessage `json:"refusal,omitempty"`
	// Of decisions about the network.
	At        int            `json:"at,omitempty"` // how often they were stated before, from 1
	Decisions []event.Egress `json:"decisions,omitempty"`

	// Digest is that of an attempt's lines, which kindEnd ends: it is seen when they
	// are edited, also while the recording is not complete.
	Digest string `json:"digest,omitempty"`

	number   int               // of the line in its file
	messages []json.RawMessage // of the request, all of them
}

// piece is the first piece of a streamed reply.
type piece struct {
	Text string `json:"text,omitempty"`
	Tool string `json:"tool,omitempty"`
}

// Lost is a tool call that left no answer.
type Lost struct {
	Kind   string `json:"kind,omitempty"` // of a sandbox that broke
	Limit  string `json:"limit,omitempty"`
	Detail string `json:"detail,omitempty"`
	Error  string `json:"error"`
	TimeUp bool   `json:"time_up,omitempty"` // the trial's time ran out
}

// requestOf is a request as it is recorded, with its messages apart.
func requestOf(req provider.Request, m ids) (fields, []json.RawMessage, error) {
	req = m.plain(req)
	req.Seed = 0 // what goes by it is the script's, which is not asked on a replay
	all, err := encode(&req)
	if err != nil {
		return nil, nil, err
	}
	var messages []json.RawMessage
	if raw := all[messagesKey]; raw != nil {
		if err := json.Unmarshal(raw, &messages); err != nil {
			return nil, nil, err
		}
	}
	delete(all, messagesKey)
	return all, messages, nil
}

const messagesKey = "messages"

// asks says that a line has a request.
func (l *line) asks() bool { return l.Kind == kindModel || l.Kind == kindProgram }

// shorten leaves out of a line what the request before it has said.
func (l line) shorten(before *line) (line, error) {
	request := fields{}
	for key, raw := range l.Request {
		if before != nil && bytes.Equal(before.Request[key], raw) {
			l.Same = append(l.Same, key)
			continue
		}
		request[key] = raw
	}
	slices.Sort(l.Same)
	if before != nil {
		for l.Kept < min(len(before.messages), len(l.messages)) && bytes.Equal(before.messages[l.Kept], l.messages[l.Kept]) {
			l.Kept++
		}
	}
	if rest := l.messages[l.Kept:]; len(rest) > 0 {
		raw, err := compact(rest)
		if err != nil {
			return line{}, err
		}
		request[messagesKey] = raw
	}
	l.Request = request
	return l, nil
}

// restore puts back what shorten left out.
func (l *line) restore(before *line) error {
	if l.Request == nil {
		l.Request = fields{}
	}
	var rest []json.RawMessage
	if raw := l.Request[messagesKey]; raw != nil {
		if err := json.Unmarshal(raw, &rest); err != nil {
			return fmt.Errorf("messages: %w", err)
		}
	}
	delete(l.Request, messagesKey)
	if before == nil {
		if l.Kept > 0 || len(l.Same) > 0 {
			return errors.New("it goes on from a request that is not there")
		}
		l.messages = rest
		return nil
	}
	if l.Kept < 0 || l.Kept > len(before.messages) {
		return errors.New("it goes on from messages that are not there")
	}
	l.messages = append(before.messages[:l.Kept:l.Kept], rest...)
	for _, key := range l.Same {
		raw, ok := before.Request[key]
		if !ok {
			return fmt.Errorf("%s is not in the request before it", key)
		}
		l.Request[key] = raw
	}
	return nil
}

// attempt is what was exchanged in one attempt.
type attempt struct {
	number int // of the attempt that was recorded
	calls  map[string][]line
	waits  map[string][]line
	tools  []line
	https  []line
	egress map[int]line
	// program is what the agent asked, when that is a program, refusals included
	program []line
}

func newAttempt(number int) *attempt {
	return &attempt{number: number, calls: map[string][]line{}, waits: map[string][]line{}, egress: map[int]line{}}
}

// take adds a line that was read.
func (a *attempt) take(l line) error {
	if l.TookMS < 0 || l.TookMS > maxDuration.Milliseconds() {
		return errors.New("took_ms: it is no duration")
	}
	switch l.Kind {
	case kindModel:
		calls := a.calls[l.Who]
		var before *line
		if n := len(calls); n > 0 {
			before = &calls[n-1]
		}
		if err := l.restore(before); err != nil {
			return err
		}
		a.calls[l.Who] = append(calls, l)
	case kindProgram:
		if err := l.restore(a.lastAsked()); err != nil {
			return err
		}
		a.program = append(a.program, l)
	case kindRefused:
		a.program = append(a.program, l)
	case kindWait:
		a.waits[l.Who] = append(a.waits[l.Who], l)
	case kindTool:
		a.tools = append(a.tools, l)
	case kindHTTP:
		a.https = append(a.https, l)
	case kindEgress:
		a.egress[l.At] = l
	default:
		return fmt.Errorf("unknown kind %q", l.Kind)
	}
	return nil
}

// lastAsked is the last call of the program, nil before the first.
func (a *attempt) lastAsked() *line {
	for i := len(a.program) - 1; i >= 0; i-- {
		if a.program[i].Kind == kindProgram {
			return &a.program[i]
		}
	}
	return nil
}

// parse reads the file of a place.
func parse(raw []byte, want Place) ([]*attempt, error) {
	if len(raw) == 0 || raw[len(raw)-1] != '\n' {
		return nil, errors.New("its last line is torn")
	}
	f := parsing{whose: want}
	for n := 1; len(raw) > 0; n++ {
		end := bytes.IndexByte(raw, '\n') + 1
		if err := f.line(n, raw[:end]); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		raw = raw[end:]
	}
	if f.open {
		return nil, errors.New("its last attempt has no end")
	}
	return f.list, nil
}

// parsing is a file that is being read.
type parsing struct {
	whose Place
	first []byte
	lines []byte // of the attempt that goes on
	open  bool
	list  []*attempt
}

func (f *parsing) line(n int, text []byte) error {
	if n == 1 {
		var whose Place
		if err := json.Unmarshal(text, &whose); err != nil || whose != f.whose {
			return fmt.Errorf("it does not say that the file is of %s", f.whose)
		}
		f.first = text
		return nil
	}
	l := line{number: n}
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	switch {
	case l.Kind == kindAttempt && f.open:
		return errors.New("the attempt before it has no end")
	case l.Kind == kindAttempt:
		f.open, f.lines = true, nil
		f.list = append(f.list, newAttempt(l.Attempt))
	case !f.open:
		return errors.New("it belongs to no attempt")
	case l.Kind == kindEnd:
		f.open = false
		if got := attemptDigest(f.first, f.lines); got != l.Digest {
			return fmt.Errorf("the attempt was changed after it was recorded (its digest is %.12s, not %.12s)", got, l.Digest)
		}
		return nil
	default:
		if err := f.list[len(f.list)-1].take(l); err != nil {
			return err
		}
	}
	f.lines = append(f.lines, text...)
	return nil
}
