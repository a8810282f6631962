package view

import (
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentclash/agentclash/engine/event"
)

// lanes remembers what a stream of facts has said about the run agents, so that
// a line can name them.
type lanes struct {
	labels map[string]string
}

// learn takes the labels from run.started.
func (l *lanes) learn(e event.Event) {
	if e.Type != event.RunStarted {
		return
	}
	v, err := event.Decode[event.RunStart](e)
	if err != nil {
		return // its own line says that the payload is unreadable
	}
	l.name(v.Agents)
}

func (l *lanes) name(agents []event.AgentRef) {
	l.labels = make(map[string]string, len(agents))
	for _, a := range agents {
		l.labels[a.ID] = SanitizeLine(a.Label)
	}
}

// subject is whom a fact is about: "run", or the agent and the trial.
func (l *lanes) subject(e event.Event) string {
	if e.RunAgentID == "" {
		return "run"
	}
	label, ok := l.labels[e.RunAgentID]
	if !ok || label == "" {
		label = ShortID(e.RunAgentID)
	}
	if e.CaseKey == "" {
		return label
	}
	return label + " " + trialName(e.CaseKey, e.Repetition)
}

// Events is a sink that writes every stored fact as one line: its time, the
// trial, the number within the trial, the kind and what it holds. It may be
// fed live or from the store. Agents have the labels of run.started; known ones
// name them where that is not among the facts.
func Events(w io.Writer, o Options, known ...event.AgentRef) event.Sink {
	s := &eventLines{w: w, o: o}
	s.lanes.name(known)
	return event.SinkFunc(s.emit)
}

type eventLines struct {
	mu    sync.Mutex
	w     io.Writer
	o     Options
	lanes lanes
}

func (s *eventLines) emit(_ context.Context, e event.Event) error {
	if e.Transient {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes.learn(e)
	at := e.OccurredAt.UTC().Format("2006-01-02T15:04:05.000Z07:00") // RFC 3339, in columns
	if s.o.Terminal() {
		at = clock(e.OccurredAt, s.o)
	}
	line := at + " " + s.lanes.subject(e)
	if e.Sequence > 0 {
		line += " " + strconv.FormatInt(e.Sequence, 10)
	}
	line += " " + SanitizeLine(string(e.Type))
	if e.Attempt > 1 {
		line += " (" + attempt(e.Attempt) + ")"
	}
	if detail := Describe(e); detail != "" {
		line += "  " + detail
	}
	return writeLine(s.w, s.o, line)
}

// EventsJSON is a sink that writes every stored fact as one line of JSON.
func EventsJSON(w io.Writer) event.Sink {
	var mu sync.Mutex
	return event.SinkFunc(func(_ context.Context, e event.Event) error {
		if e.Transient {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		return writeJSONLine(w, e)
	})
}

func writeJSONLine(w io.Writer, v any) error {
	b, err := compact(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// writeLine writes one line with one call, so that lines of several writers to
// one terminal do not mix.
func writeLine(w io.Writer, o Options, line string) error {
	line = strings.TrimRight(line, " ")
	if o.Terminal() {
		line = Fit(line, o.Width)
	}
	_, err := io.WriteString(w, line+"\n")
	return err
}

// clock is the time of day where the reader is.
func clock(t time.Time, o Options) string {
	return t.In(o.Now.Location()).Format(time.TimeOnly)
}
