package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

const (
	// pollEvery is the pause between two looks at a response.
	pollEvery = 3 * time.Second
	// maxLookFailures bounds the looks in a row that fail for a passing reason.
	maxLookFailures = 10
	cancelTime      = 5 * time.Second
)

// ResearchOptions configure a Research.
type ResearchOptions struct {
	wire.Options
	// Pause waits between two looks at a response, or returns early with the
	// context's error. Nil waits in real time.
	Pause func(ctx context.Context, d time.Duration) error
}

// Research asks one server for responses that are made in the background, with a
// search of the web at hand, and looks every few seconds whether they are done.
// It is safe for concurrent use and shares its connections between calls.
type Research struct {
	server
	service responses.ResponseService
	pause   func(ctx context.Context, d time.Duration) error
}

var (
	_ provider.Client  = (*Research)(nil)
	_ provider.Checker = (*Research)(nil)
)

// NewResearch makes a client. The base URL is the address up to and including
// /v1. It opens no connection and reads no environment.
func NewResearch(o ResearchOptions) (*Research, error) {
	s, err := newServer(o.Options)
	if err != nil {
		return nil, err
	}
	c := &Research{server: s, service: responses.NewResponseService(s.options()...), pause: o.Pause}
	if c.pause == nil {
		c.pause = wait
	}
	return c, nil
}

// Check refuses what the Responses API does not have.
func (c *Research) Check(s provider.Sampling) error { return checkResponses(s) }

// Complete asks and waits for the whole response. A look that fails for a reason
// that may pass does not lose it. When ctx ends first, or the response cannot be
// read, the server is told to stop, as far as it can be reached. A response that
// failed is not worth the same call again: it has been paid for.
func (c *Research) Complete(ctx context.Context, req provider.Request, _ func(provider.Delta)) (provider.Response, error) {
	params, err := researchParams(req)
	if err != nil {
		return provider.Response{}, c.Refused(err)
	}
	call := c.Whole(ctx)
	defer call.End()
	clock := call.Reply(req, nil)
	made, err := c.service.New(call.Context, params, option.WithHTTPClient(call))
	if err != nil {
		return provider.Response{}, call.Failed(err)
	}
	call.End() // what follows are calls of their own
	res, err := c.follow(ctx, []byte(made.RawJSON()))
	if err != nil {
		return provider.Response{}, c.Failed(ctx, err)
	}
	clock.Named(res.Model)
	clock.Usage = res.Usage.usage()
	if err := clock.Say(res.text()); err != nil {
		return provider.Response{}, c.Failed(ctx, err)
	}
	reply := clock.Response(req.Model, res.finish(false))
	reply.TTFT = 0 // nothing came before the whole
	return reply, nil
}

// usable says whether a response may be called that: it becomes part of an
// address.
func usable(id string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return id != "" && len(id) <= wire.MaxNameBytes && strings.Trim(id, letters) == ""
}

// follow looks at a response until it has ended.
func (c *Research) follow(ctx context.Context, made []byte) (*response, error) {
	var res response
	if err := json.Unmarshal(made, &res); err != nil {
		return nil, wire.Malformed("the response cannot be read: %s", provider.Excerpt(c.Hide(err.Error()), wire.MaxNameBytes))
	}
	if !ended(res.Status) && !usable(res.ID) {
		return nil, wire.Malformed("the response has no usable id: %q", provider.Excerpt(c.Hide(res.ID), 80))
	}
	id, failures := res.ID, 0
	for !ended(res.Status) {
		if !underWay(res.Status) {
			c.cancel(ctx, id)
			return nil, spent(wire.Malformed("the response has the status %q, which is none", provider.Excerpt(c.Hide(res.Status), 80)))
		}
		var next response
		err := c.look(ctx, id, &next)
		var failed *provider.Error
		switch {
		case err == nil:
			res, failures = next, 0
		case !errors.As(err, &failed) || !passing(failed) || ctx.Err() != nil || failures+1 == maxLookFailures:
			c.cancel(ctx, id)
			return nil, spent(err)
		default:
			failures++
		}
		if ended(res.Status) {
			break
		}
		pause := pollEvery
		if failed != nil {
			pause = max(pause, min(failed.RetryAfter, time.Minute))
		}
		if err := c.pause(ctx, pause); err != nil {
			c.cancel(ctx, id)
			return nil, err
		}
	}
	return &res, c.outcome(&res)
}

// outcome says what is wrong with a response that has ended.
func (c *Research) outcome(res *response) error {
	switch {
	case res.Status == "incomplete" && res.finish(false) != provider.FinishOther:
		return nil // cut or withheld: the reply says so
	case res.Status != "completed":
		return spent(res.failure(c.Hide))
	case strings.TrimSpace(res.text()) == "":
		return wire.Malformed("the response holds no text")
	}
	return nil
}

// passing says whether a look may succeed later. A proxy's page says nothing of
// the response.
func passing(e *provider.Error) bool {
	return e.Retryable() || e.Code == provider.MalformedResponse
}

// spent is a failure of a call that has been paid for. One of a look is not the
// request's fault, nor the model's.
func spent(err error) error {
	var failed *provider.Error
	if !errors.As(err, &failed) {
		return err
	}
	failed.Final = true
	if failed.Code == provider.InvalidRequest || failed.Code == provider.UnknownModel {
		failed.Code = provider.Unavailable
	}
	return err
}

func (c *Research) look(ctx context.Context, id string, into *response) error {
	header := http.Header{}
	if c.Key != "" {
		header.Set("Authorization", "Bearer "+c.Key)
	}
	return c.Get(ctx, "responses/"+id, nil, header, into)
}

// cancel tells the server to stop, as far as it can be reached: it is the
// server's to end what it was asked for all the same.
func (c *Research) cancel(ctx context.Context, id string) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer stop()
	call := c.Whole(ctx)
	defer call.End()
	_, _ = c.service.Cancel(call.Context, id, option.WithHTTPClient(call))
}

func ended(status string) bool {
	switch status {
	case "completed", "failed", "cancelled", "incomplete":
		return true
	}
	return false
}

func underWay(status string) bool { return status == "queued" || status == "in_progress" }

// text is what the response says.
func (r *response) text() string {
	if strings.TrimSpace(r.OutputText) != "" {
		return r.OutputText
	}
	var blocks []string
	for _, out := range r.Output {
		if out.Type != "message" {
			continue
		}
		for _, part := range out.Content {
			if text := cmp.Or(part.Text, part.Refusal); text != "" {
				blocks = append(blocks, text)
			}
		}
	}
	return strings.Join(blocks, "\n\n")
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// researchParams asks for a response in the background. What the deployment says
// goes before the question, as the developer's.
func researchParams(req provider.Request) (responses.ResponseNewParams, error) {
	p := responses.ResponseNewParams{Model: req.Model, Background: param.NewOpt(true)}
	if err := errors.Join(wire.Check(req), checkResponses(req.Sampling)); err != nil {
		return p, err
	}
	asked := false
	for _, m := range req.Messages {
		asked = asked || m.Role == provider.User && strings.TrimSpace(m.Content) != ""
		var items []responses.ResponseInputItemUnionParam
		var err error
		switch m.Role {
		case provider.System:
			items, err = said("developer", m.Content)
		case provider.ToolRole:
			err = errors.New("request: a response in the background has no tools but the web search")
		default:
			items, err = inputItems(m)
		}
		if err != nil {
			return p, err
		}
		p.Input.OfInputItemList = append(p.Input.OfInputItemList, items...)
	}
	if !asked {
		return p, errors.New("request: the question is empty")
	}
	if len(req.Tools) > 0 {
		return p, errors.New("request: a response in the background has no tools but the web search")
	}
	p.Tools = []responses.ToolUnionParam{responses.ToolParamOfWebSearchPreview(responses.WebSearchPreviewToolTypeWebSearchPreview)}
	responsesSampling(&p, req.Sampling)
	p.Reasoning.Summary = shared.ReasoningSummaryAuto
	return p, nil
}
