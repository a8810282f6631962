package engine

import (
	"context"
	"fmt"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/redact"
)

// eventLog numbers, redacts, folds and emits the events of one attempt, from
// one goroutine. The first error sticks: the loop looks at it between steps,
// so that emitting reads straight.
type eventLog struct {
	ctx    context.Context // of the run, without its cancellation: facts outlive a Ctrl-C
	sink   event.Sink
	redact *redact.Redactor
	clock  *clock
	base   event.Event // the fields every event of the attempt shares
	source string
	seq    int64
	fold   *event.Fold
	err    error
	// said counts the messages already written down: a request event holds
	// only what is new since the last one.
	said int
}

// emit states one fact.
func (l *eventLog) emit(typ event.Type, payload any) { l.emitAs(l.source, typ, payload) }

func (l *eventLog) emitAs(source string, typ event.Type, payload any) {
	if l.err != nil {
		return
	}
	e, err := l.event(source, typ, payload)
	if err != nil {
		l.err = fmt.Errorf("write down %s: %w", typ, err)
		return
	}
	if err := l.fold.Apply(e); err != nil {
		l.err = fmt.Errorf("fold own events: %w", err)
		return
	}
	if err := l.sink.Emit(l.ctx, e); err != nil {
		l.err = fmt.Errorf("record %s: %w", typ, err)
	}
}

// copy states a fact of an earlier attempt as one of this attempt, at the time
// when it was one. Secrets that nobody knew of then are removed.
func (l *eventLog) copy(e event.Event) {
	if l.err != nil {
		return
	}
	l.seq++
	c := l.base
	c.ID, c.Sequence, c.Type, c.Source = event.NewID(c.TrialID, c.Attempt, l.seq), l.seq, e.Type, e.Source
	c.OccurredAt, c.Payload = e.OccurredAt, l.redact.JSON(e.Payload)
	if err := l.fold.Apply(c); err != nil {
		l.err = fmt.Errorf("fold what an earlier attempt recorded: %w", err)
		return
	}
	if err := l.sink.Emit(l.ctx, c); err != nil {
		l.err = fmt.Errorf("record %s: %w", c.Type, err)
	}
}

func (l *eventLog) event(source string, typ event.Type, payload any) (event.Event, error) {
	raw, err := event.Marshal(payload)
	if err != nil {
		return event.Event{}, err
	}
	l.seq++
	e := l.base
	e.ID = event.NewID(e.TrialID, e.Attempt, l.seq)
	e.Sequence, e.Type, e.Source = l.seq, typ, source
	e.OccurredAt, e.Payload = l.clock.Now(), l.redact.JSON(raw)
	return e, nil
}

// glimpse shows views a piece of a reply that is not kept.
func (l *eventLog) glimpse(d event.TextDelta) {
	raw, err := event.Marshal(d)
	if err != nil || l.err != nil {
		return
	}
	e := l.base
	e.Type, e.Source, e.OccurredAt = event.OutputDelta, l.source, l.clock.Now()
	e.Payload, e.Transient = l.redact.JSON(raw), true
	_ = l.sink.Emit(l.ctx, e) // transient: only views see it
}

// request states that a model is asked, with the messages it has not been
// asked with before.
func (l *eventLog) request(c event.Call, messages []provider.Message, tools []provider.Tool) {
	c.MessageCount, c.ToolDefinitionCount = len(messages), len(tools)
	c.Messages = messages[l.said:]
	if l.said == 0 {
		for _, t := range tools {
			c.Tools = append(c.Tools, t.Name)
		}
	}
	l.said = len(messages)
	l.emit(event.CallStarted, c)
}
