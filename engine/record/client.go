package record

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
)

// Client records the calls that are made with inner on behalf of who: Agents, or
// what JudgeOf says. What it returns takes as long as what is recorded.
func (r *Recorder) Client(who string, inner provider.Client) provider.Client {
	return recording{r, who, inner}
}

type recording struct {
	to    *Recorder
	who   string
	inner provider.Client
}

// Complete makes one call.
func (c recording) Complete(ctx context.Context, req provider.Request, onDelta func(provider.Delta)) (provider.Response, error) {
	m := ids{}
	l := line{Kind: kindModel, Who: c.who}
	var err error
	if l.Request, l.messages, err = requestOf(req, m); err != nil {
		return provider.Response{}, broken(err)
	}
	began := c.to.now()
	res, err := c.inner.Complete(ctx, req, func(d provider.Delta) {
		if l.First == nil {
			l.First = &piece{d.Text, d.ToolName}
		}
		if onDelta != nil {
			onDelta(d)
		}
	})
	if err != nil {
		err = l.fail(err, c.to.now().Sub(began))
	} else {
		res, err = l.answer(res, m)
	}
	if kept := c.to.add(req.Ref, l); kept != nil {
		return provider.Response{}, broken(kept)
	}
	return res, err
}

// Forget drops what is kept of a trial that is over.
func (c recording) Forget(ref provider.Ref) {
	c.to.Forget(ref)
	if f, ok := c.inner.(provider.Forgetter); ok {
		f.Forget(ref)
	}
}

// broken is a failure of the recording itself, which nothing more can help.
func broken(err error) error {
	return &provider.Error{Provider: "recording", Code: provider.MalformedResponse, Message: err.Error(), Err: err}
}

// answer writes a reply down, with its durations in whole milliseconds.
func (l *line) answer(res provider.Response, m ids) (provider.Response, error) {
	res.TTFT, res.Elapsed = res.TTFT.Truncate(time.Millisecond), res.Elapsed.Truncate(time.Millisecond)
	kept := res
	kept.ToolCalls = m.calls(res.ToolCalls)
	var err error
	l.Reply, err = encode(&kept)
	if err != nil {
		return res, broken(err)
	}
	return res, nil
}

// fail writes a failure down. It took as long as was measured, unless it says
// itself how long.
func (l *line) fail(err error, took time.Duration) error {
	var e *provider.Error
	if !errors.As(err, &e) {
		e = &provider.Error{Provider: "adapter", Code: provider.MalformedResponse, Message: err.Error(), Err: err}
	}
	kept := *e
	if !kept.FromRecording {
		kept.Recorded = took
	}
	kept.Recorded = kept.Recorded.Truncate(time.Millisecond)
	var op *net.OpError
	l.Dial = errors.As(err, &op) && op.Op == "dial"
	l.TimeUp = errors.Is(err, ErrTimeUp)
	var failed error
	if l.Error, failed = encode(&kept); failed != nil {
		return broken(failed)
	}
	return &kept
}

// reply gives a recorded answer. last says that no other try followed it.
func (l *line) reply(last bool, onDelta func(provider.Delta)) (provider.Response, error) {
	var res provider.Response
	if l.Error == nil {
		if err := l.Reply.decode(&res); err != nil {
			return res, err
		}
	}
	if l.First != nil && onDelta != nil {
		onDelta(provider.Delta{Text: l.First.Text, ToolName: l.First.Tool})
		if rest := res.Text; l.Error == nil && len(rest) > len(l.First.Text) && l.First.Tool == "" {
			onDelta(provider.Delta{Text: rest[len(l.First.Text):]})
		}
	}
	if l.Error == nil {
		res.Recorded = true
		return res, nil
	}
	e := &provider.Error{}
	if err := l.Error.decode(e); err != nil {
		return res, err
	}
	var causes []error
	if last {
		causes = append(causes, ErrLastTry)
	}
	if l.TimeUp {
		causes = append(causes, ErrTimeUp)
	}
	if l.Dial {
		causes = append(causes, &net.OpError{Op: "dial", Err: errors.New("as recorded")})
	}
	e.Err = errors.Join(causes...)
	return res, e
}
