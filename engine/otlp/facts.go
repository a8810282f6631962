package otlp

import (
	"context"
	"encoding/json"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

// runFact takes a fact of the run's own.
func (s *Sink) runFact(ctx context.Context, e event.Event) {
	switch e.Type {
	case event.RunStarted:
		v, err := event.Decode[event.RunStart](e)
		if err != nil {
			return
		}
		for _, a := range v.Agents {
			s.agents[a.ID] = a
		}
		s.startRun(ctx, e, v)
	case event.RunFinished:
		if s.run == nil {
			return
		}
		if v, err := event.Decode[event.RunEnd](e); err == nil {
			s.run.root.SetAttributes(attribute.String("agentclash.run.status", v.Status))
			if v.Status != "completed" {
				s.run.root.SetStatus(codes.Error, v.Reason)
			}
		}
		at := trace.WithTimestamp(e.OccurredAt)
		s.run.endOpen(at)
		s.run.root.End(at)
		s.run = nil
	default:
		if s.run != nil {
			s.run.last = e
			s.judgeFact(s.run, e)
		}
	}
}

func (s *Sink) startRun(ctx context.Context, e event.Event, v event.RunStart) {
	if s.run != nil { // a run that is resumed starts again
		s.run.abandon()
	}
	s.run = &scope{open: map[string]trace.Span{}, last: e}
	ctx = about(ctx, "run", e.RunID, e.Sequence)
	s.run.ctx, s.run.root = s.tracer.Start(ctx, "invoke_workflow "+v.Pack.Slug,
		trace.WithTimestamp(e.OccurredAt), trace.WithNewRoot(), trace.WithAttributes(
			semconv.GenAIOperationNameInvokeWorkflow, semconv.GenAIWorkflowName(v.Pack.Slug),
			attribute.String("agentclash.run.id", e.RunID), attribute.String("agentclash.run.name", v.Name),
			attribute.String("agentclash.pack.digest", v.Pack.Digest), attribute.Int("agentclash.pack.version", int(v.Pack.Version)),
			attribute.String("agentclash.execution_mode", v.Mode), attribute.Int("agentclash.trials", v.Trials),
		))
	s.link = trace.Link{SpanContext: s.run.root.SpanContext()}
}

// trialFact takes a fact of an attempt. Facts that are no span of their own are
// the root's events.
func (s *Sink) trialFact(t *scope, e event.Event) {
	switch e.Type {
	case event.CallStarted:
		s.callStarted(t, e)
	case event.CallDone:
		s.callDone(t, e)
	case event.CallFailed:
		s.callFailed(t, e)
	case event.StepDone:
		s.stepDone(t, e)
	case event.Failed:
		s.failed(t, e)
	case event.ToolStarted, event.ToolDone, event.ToolFailed:
		s.toolFact(t, e)
	case event.JudgeStarted, event.JudgeDone:
		s.judgeFact(t, e)
	case event.TrialDone:
		s.trialDone(t, e)
	case event.CallRetried, event.CallRefused, event.BudgetReach, event.SandboxLost, event.EgressDecide, event.CodeExecuted, event.FileCaptured,
		event.DirListed, event.SecretPlanted, event.PromptPut, event.VaultAsked, event.Standings,
		event.TurnUser, event.TurnAssistant, event.TurnAwaiting, event.TurnDone:
		t.root.AddEvent(string(e.Type), trace.WithTimestamp(e.OccurredAt), trace.WithAttributes(s.payload(e)...))
	}
}

// payload is a fact's own content, when content was asked for.
func (s *Sink) payload(e event.Event) []attribute.KeyValue {
	if !s.content {
		return nil
	}
	return []attribute.KeyValue{attribute.String("agentclash.event.payload", string(e.Payload))}
}

func (s *Sink) callStarted(t *scope, e event.Event) {
	v, err := event.Decode[event.Call](e)
	if err != nil {
		return
	}
	if _, again := t.calls[v.StepIndex]; again { // facts from before calls had a step
		t.endCall(e, v.StepIndex, "unfinished")
	}
	attrs := []attribute.KeyValue{semconv.GenAIOperationNameChat, providerName(v.ProviderKey), semconv.GenAIRequestModel(v.Model), semconv.GenAIRequestStream(true)}
	if s.content {
		attrs = append(attrs, jsonValue(semconv.GenAIInputMessagesKey, parts(v.Messages)))
	}
	t.calls[v.StepIndex] = call{span: s.span(t, e, "chat "+v.Model, trace.SpanKindClient, attrs...)}
}

func (s *Sink) callDone(t *scope, e event.Event) {
	v, err := event.Decode[event.CallEnd](e)
	if err != nil {
		return
	}
	c, ok := t.calls[v.StepIndex]
	if !ok {
		return
	}
	c.span.SetAttributes(semconv.GenAIResponseModel(v.ProviderModelID), semconv.GenAIResponseFinishReasons(v.FinishReason))
	c.span.SetAttributes(usage(v.Usage)...)
	c.span.SetAttributes(semconv.GenAIResponseTimeToFirstChunk(float64(v.Timing.TTFTMS) / 1000))
	if s.content {
		said := provider.Message{Role: provider.Assistant, Content: v.OutputText, ToolCalls: v.ToolCalls}
		c.span.SetAttributes(jsonValue(semconv.GenAIOutputMessagesKey, parts([]provider.Message{said})))
	}
	t.endCall(e, v.StepIndex, "")
}

// callFailed states a try that failed; the call's span goes on while it is tried
// again. One of a judge or of a simulated user is no try of the agent's.
func (s *Sink) callFailed(t *scope, e event.Event) {
	v, err := event.Decode[event.CallError](e)
	if err != nil {
		return
	}
	span := t.root
	if c, ok := t.calls[v.StepIndex]; ok && v.JudgeKey == "" && v.PhaseID == "" {
		c.code = v.Code
		t.calls[v.StepIndex], span = c, c.span
	}
	span.AddEvent(string(e.Type), trace.WithTimestamp(e.OccurredAt), trace.WithAttributes(
		semconv.ErrorTypeKey.String(v.Code), semconv.HTTPResponseStatusCode(v.Status), attribute.Int("agentclash.try", v.Try)))
}

// failed ends a call that the agent's part ended with.
func (s *Sink) failed(t *scope, e event.Event) {
	v, err := event.Decode[event.Failure](e)
	if err != nil {
		return
	}
	if f := v.ProviderFailure; f != nil {
		for _, step := range []int{v.StepIndex, 0} { // 0 in facts from before calls had a step
			if t.calls[step].code != "" {
				t.endCall(e, step, f.Code)
			}
		}
	}
}

// stepDone ends a call of a program that failed: its step ends without a reply.
func (s *Sink) stepDone(t *scope, e event.Event) {
	if v, err := event.Decode[event.Step](e); err == nil {
		if c, ok := t.calls[v.StepIndex]; ok && c.code != "" {
			t.endCall(e, v.StepIndex, c.code)
		}
	}
}

// endCall ends the span of a call to the agent's model; why is "" for a reply, else
// the code of what ended it.
func (t *scope) endCall(e event.Event, step int, why string) {
	c, ok := t.calls[step]
	if !ok {
		return
	}
	if why != "" {
		c.span.SetAttributes(semconv.ErrorTypeKey.String(why))
		c.span.SetStatus(codes.Error, why)
	}
	c.span.End(trace.WithTimestamp(e.OccurredAt))
	delete(t.calls, step)
}

func (s *Sink) toolFact(t *scope, e event.Event) {
	v, err := event.Decode[event.Tool](e)
	if err != nil {
		return
	}
	key := "tool " + v.ToolCallID
	span := t.open[key]
	if span == nil { // a call that was refused has no start
		attrs := []attribute.KeyValue{
			semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(v.ToolName), semconv.GenAIToolCallID(v.ToolCallID), semconv.GenAIToolType("function"),
		}
		if s.content {
			attrs = append(attrs, attribute.String(string(semconv.GenAIToolCallArgumentsKey), string(v.Arguments)))
		}
		span = s.span(t, e, "execute_tool "+v.ToolName, trace.SpanKindInternal, attrs...)
		t.open[key] = span
	}
	if e.Type == event.ToolStarted {
		return
	}
	if s.content && v.Result != nil {
		span.SetAttributes(attribute.String(string(semconv.GenAIToolCallResultKey), v.Result.Content))
	}
	if e.Type == event.ToolFailed {
		why := v.FailureOrigin
		if why == "" {
			why = "tool_error"
		}
		span.SetAttributes(semconv.ErrorTypeKey.String(why))
		span.SetStatus(codes.Error, why)
	}
	span.End(trace.WithTimestamp(e.OccurredAt))
	delete(t.open, key)
}

// judgeFact takes a call to a judge, of a trial or of the run.
func (s *Sink) judgeFact(t *scope, e event.Event) {
	switch e.Type {
	case event.JudgeStarted:
		v, err := event.Decode[event.JudgeCall](e)
		if err != nil {
			return
		}
		attrs := []attribute.KeyValue{
			semconv.GenAIOperationNameChat, providerName(v.ProviderKey), semconv.GenAIRequestModel(v.Model), semconv.GenAIRequestMaxTokens(int(v.MaxOutputTokens)),
			attribute.String("agentclash.judge.key", v.JudgeKey), attribute.Int("agentclash.judge.sample", v.SampleIndex),
		}
		if s.content && v.Prompt != "" {
			attrs = append(attrs, jsonValue(semconv.GenAIInputMessagesKey, parts([]provider.Message{{Role: provider.User, Content: v.Prompt}})))
		}
		t.open[judgeKey(v.QuestionID, v.JudgeModel, v.SampleIndex)] = s.span(t, e, "chat "+v.Model, trace.SpanKindClient, attrs...)
	case event.JudgeDone:
		v, err := event.Decode[event.JudgeReply](e)
		if err != nil {
			return
		}
		key := judgeKey(v.QuestionID, v.JudgeModel, v.SampleIndex)
		span := t.open[key]
		if span == nil {
			return
		}
		span.SetAttributes(usage(v.Usage)...)
		if v.FinishReason != "" {
			span.SetAttributes(semconv.GenAIResponseModel(v.ProviderModelID), semconv.GenAIResponseFinishReasons(v.FinishReason))
		}
		if s.content {
			span.SetAttributes(jsonValue(semconv.GenAIOutputMessagesKey, parts([]provider.Message{{Role: provider.Assistant, Content: v.ResponseText}})))
		}
		if v.Code != "" {
			span.SetAttributes(semconv.ErrorTypeKey.String(v.Code))
			span.SetStatus(codes.Error, v.Code)
		}
		span.End(trace.WithTimestamp(e.OccurredAt))
		delete(t.open, key)
	}
}

func judgeKey(question, model string, sample int) string {
	return fmt.Sprintf("judge %q %q %d", question, model, sample)
}

func (s *Sink) trialDone(t *scope, e event.Event) {
	at := trace.WithTimestamp(e.OccurredAt)
	t.endOpen(at)
	if v, err := event.Decode[event.TrialEnd](e); err == nil {
		s.outcome(t, e, v.Trial)
	}
	t.root.End(at)
}

// outcome states what a trial came to. A trial that did not pass is an error of
// the span's: that is what a person looks for among traces.
func (s *Sink) outcome(t *scope, e event.Event, v scoring.Trial) {
	attrs := []attribute.KeyValue{
		attribute.String("agentclash.outcome", string(v.Outcome)), attribute.String("agentclash.stop_reason", v.StopReason),
		semconv.GenAIUsageInputTokens(int(v.Usage.InputTokens)), semconv.GenAIUsageOutputTokens(int(v.Usage.OutputTokens)),
	}
	if v.CostUSD != nil {
		attrs = append(attrs, attribute.Float64("agentclash.cost_usd", *v.CostUSD))
	}
	if v.Code != "" {
		attrs = append(attrs, semconv.ErrorTypeKey.String(v.Code), attribute.String("agentclash.phase", v.Phase))
	}
	t.root.SetAttributes(attrs...)
	if v.Outcome == scoring.OutcomePassed {
		t.root.SetStatus(codes.Ok, "")
	} else {
		t.root.SetStatus(codes.Error, string(v.Outcome))
	}
	if v.Scorecard == nil {
		return
	}
	for _, x := range v.Scorecard.Validators {
		s.evaluation(t, e, x.Key, x.Verdict, x.NormalizedScore, x.Reason)
	}
	for _, x := range v.Scorecard.Judges {
		s.evaluation(t, e, x.Key, string(x.State), x.NormalizedScore, x.Reason)
	}
	s.evaluation(t, e, "overall", string(v.Outcome), v.Scorecard.OverallScore, v.Scorecard.OverallReason)
}

// evaluation is one result of scoring, by the conventions' event.
func (s *Sink) evaluation(t *scope, e event.Event, name, label string, score *float64, why string) {
	attrs := []attribute.KeyValue{semconv.GenAIEvaluationName(name), semconv.GenAIEvaluationScoreLabel(label)}
	if score != nil {
		attrs = append(attrs, semconv.GenAIEvaluationScoreValue(*score))
	}
	if s.content && why != "" {
		attrs = append(attrs, semconv.GenAIEvaluationExplanation(why))
	}
	t.root.AddEvent("gen_ai.evaluation.result", trace.WithTimestamp(e.OccurredAt), trace.WithAttributes(attrs...))
}

// providerName is a provider by the conventions' name for it.
func providerName(key string) attribute.KeyValue {
	switch key {
	case provider.Gemini:
		return semconv.GenAIProviderNameGCPGemini
	case provider.XAI:
		return semconv.GenAIProviderNameXAI
	case provider.Mistral:
		return semconv.GenAIProviderNameMistralAI
	}
	return semconv.GenAIProviderNameKey.String(key)
}

func usage(u *provider.Usage) []attribute.KeyValue {
	if u == nil {
		return nil
	}
	list := []attribute.KeyValue{semconv.GenAIUsageInputTokens(int(u.Input)), semconv.GenAIUsageOutputTokens(int(u.Output))}
	for _, part := range []struct {
		key    attribute.Key
		tokens int64
	}{
		{semconv.GenAIUsageCacheReadInputTokensKey, u.CacheRead}, {semconv.GenAIUsageCacheCreationInputTokensKey, u.CacheWrite},
		{semconv.GenAIUsageReasoningOutputTokensKey, u.Reasoning},
	} {
		if part.tokens > 0 {
			list = append(list, part.key.Int64(part.tokens))
		}
	}
	return list
}

// part of a message, by the conventions' schema.
type part struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  string          `json:"response,omitempty"`
}

type message struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

// parts writes messages by the conventions' schema.
func parts(messages []provider.Message) []message {
	list := make([]message, 0, len(messages))
	for _, m := range messages {
		out := message{Role: string(m.Role), Parts: []part{}}
		switch {
		case m.Role == provider.ToolRole:
			out.Parts = append(out.Parts, part{Type: "tool_call_response", ID: m.ToolCallID, Response: m.Content})
		case m.Content != "":
			out.Parts = append(out.Parts, part{Type: "text", Content: m.Content})
		}
		for _, c := range m.ToolCalls {
			out.Parts = append(out.Parts, part{Type: "tool_call", ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		}
		list = append(list, out)
	}
	return list
}

func jsonValue(key attribute.Key, v any) attribute.KeyValue {
	raw, err := json.Marshal(v)
	if err != nil {
		return key.String("")
	}
	return key.String(string(raw))
}
