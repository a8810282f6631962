package event

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentclash/agentclash/scoring"
)

// Fold builds the evidence of one attempt from its events, in sequence. Live
// scoring applies them as they are emitted, rescoring as they are read back;
// both see the same redacted and bounded text. [Gather] is for events that are
// all there.
type Fold struct {
	ev   scoring.Evidence
	last int64 // sequence

	usage        map[model]*scoring.ModelUsage
	cached       map[model]*scoring.ModelUsage // the part of it that a cache answered
	users        map[model]*scoring.ModelUsage // what simulated users used
	usageUnknown bool                          // some completed call reported none
	splitUnknown bool                          // some completed call did not say what was input and what output
	asked        []Event                       // calls that were begun, until one is answered
	steps        map[int64]time.Time           // begun and not ended
	turns        map[int64]*scoring.Turn
	messages     int   // of the agent and its users, where the case is watched
	said         int   // bytes of what they and the tools said
	probed       bool  // the agent's work is over, and adversarial prompts are put
	extra        extra // what they used
}

// extra is usage after the terminal event, which has counted all before it.
type extra struct {
	input, output, total int64
	unknown              bool
}

// model is a provider and what it calls the model.
type model struct{ provider, id string }

func (m model) compare(other model) int {
	return cmp.Or(cmp.Compare(m.provider, other.provider), cmp.Compare(m.id, other.id))
}

// NewFold starts a fold for a case.
func NewFold(c scoring.Case) *Fold {
	return &Fold{
		ev: scoring.Evidence{
			Case:        c,
			Files:       map[string]scoring.CapturedFile{},
			Directories: map[string]scoring.CapturedDirectory{},
			CodeRuns:    map[string]scoring.CodeRun{},
			Sources:     map[string]scoring.Source{},
		},
		usage:  map[model]*scoring.ModelUsage{},
		cached: map[model]*scoring.ModelUsage{},
	}
}

// Apply takes one event into account. Kinds that are no evidence are ignored;
// an event whose payload does not decode is an error, and so is one that comes
// after a later one.
func (f *Fold) Apply(e Event) error {
	apply, ok := folders[e.Type]
	if !ok {
		return nil
	}
	if e.Sequence > 0 && e.Sequence <= f.last {
		return fmt.Errorf("event %d (%s) comes after event %d", e.Sequence, e.Type, f.last)
	}
	f.last = max(f.last, e.Sequence)
	if err := apply(f, e); err != nil {
		return fmt.Errorf("event %d (%s): %w", e.Sequence, e.Type, err)
	}
	return nil
}

// folders says, for each kind of event that is evidence, what it adds.
var folders = map[Type]func(*Fold, Event) error{
	Started:       (*Fold).started,
	StepStarted:   (*Fold).stepStarted,
	StepDone:      (*Fold).stepDone,
	CallStarted:   (*Fold).callStarted,
	CallDone:      (*Fold).callDone,
	OutputDelta:   (*Fold).firstOutput,
	OutputFinal:   (*Fold).output,
	Completed:     (*Fold).completed,
	Failed:        (*Fold).failed,
	ToolDone:      (*Fold).tool,
	ToolFailed:    (*Fold).tool,
	CommandFail:   (*Fold).failure,
	Standings:     (*Fold).standings,
	TurnUser:      (*Fold).turn,
	TurnSimulated: (*Fold).simulated,
	TurnAssistant: (*Fold).turn,
	TurnAwaiting:  (*Fold).turn,
	TurnDone:      (*Fold).turn,
	TurnExpired:   (*Fold).expired,
	FileCaptured:  (*Fold).file,
	DirListed:     (*Fold).directory,
	CodeExecuted:  (*Fold).code,
	CallFailed:    (*Fold).withheld,
	PromptPut:     (*Fold).prompted,
	EgressDecide:  (*Fold).contacted,
	JudgeDone:     (*Fold).judged,
}

// Evidential lists the kinds of events that a fold looks at; the others can be
// left unread.
func Evidential() []Type { return slices.Sorted(maps.Keys(folders)) }

// Evidence returns what has been gathered so far.
func (f *Fold) Evidence() scoring.Evidence {
	ev := f.ev
	for _, u := range f.usage {
		ev.Models = append(ev.Models, *u)
	}
	for _, u := range f.cached {
		ev.Cached = append(ev.Cached, *u)
	}
	f.totals(&ev)
	f.more(&ev)
	if len(ev.Models) == 0 && (ev.InputTokens != nil || ev.OutputTokens != nil) {
		ev.Models = f.askedModels()
	}
	byModel := func(a, b scoring.ModelUsage) int {
		return model{a.ProviderKey, a.ProviderModelID}.compare(model{b.ProviderKey, b.ProviderModelID})
	}
	slices.SortFunc(ev.Models, byModel)
	slices.SortFunc(ev.Cached, byModel)
	for _, u := range f.users {
		ev.Simulators = append(ev.Simulators, *u)
	}
	slices.SortFunc(ev.Simulators, byModel)
	for _, t := range f.turns {
		ev.Turns = append(ev.Turns, *t)
	}
	slices.SortFunc(ev.Turns, func(a, b scoring.Turn) int { return cmp.Compare(a.Index, b.Index) })
	if ev.ToolCallCount == nil && len(ev.ToolCalls) > 0 {
		ev.ToolCallCount = new(len(ev.ToolCalls))
	}
	return ev
}

// totals fills what the terminal event left out from the calls, unless one of
// them reported nothing: then the sum would be a guess.
func (f *Fold) totals(ev *scoring.Evidence) {
	if !f.usageUnknown && len(f.usage) > 0 {
		var in, out, total int64
		for _, u := range ev.Models {
			in, out, total = plus(in, u.InputTokens), plus(out, u.OutputTokens), plus(total, u.TotalTokens)
		}
		ev.TotalTokens = cmp.Or(ev.TotalTokens, &total)
		if !f.splitUnknown {
			ev.InputTokens, ev.OutputTokens = cmp.Or(ev.InputTokens, &in), cmp.Or(ev.OutputTokens, &out)
		}
	}
	if ev.TotalTokens == nil && ev.InputTokens != nil && ev.OutputTokens != nil {
		ev.TotalTokens = new(plus(*ev.InputTokens, *ev.OutputTokens))
	}
}

// more adds what came after the terminal event, where that said what was used.
func (f *Fold) more(ev *scoring.Evidence) {
	if ev.Completed == nil || f.extra == (extra{}) || f.ev.TotalTokens == nil {
		return
	}
	if f.extra.unknown {
		ev.InputTokens, ev.OutputTokens, ev.TotalTokens = nil, nil, nil
		return
	}
	for _, sum := range []struct {
		to **int64
		n  int64
	}{{&ev.InputTokens, f.extra.input}, {&ev.OutputTokens, f.extra.output}, {&ev.TotalTokens, f.extra.total}} {
		if *sum.to != nil {
			*sum.to = new(plus(**sum.to, sum.n))
		}
	}
}

// source remembers the event that explains a piece of evidence.
func (f *Fold) source(name, kind string, e Event, field string) {
	f.ev.Sources[name] = scoring.Source{Kind: kind, Sequence: e.Sequence, EventType: string(e.Type), FieldPath: field}
}

func (f *Fold) started(e Event) error {
	if f.ev.StartedAt.IsZero() {
		f.ev.StartedAt = e.OccurredAt
	}
	return nil
}

// named is how events of model calls name their model.
type named struct {
	ProviderKey     text `json:"provider_key"`
	ProviderModelID text `json:"provider_model_id"`
	Model           text `json:"model"`
}

func (n named) model() model {
	return model{n.ProviderKey.String(), cmp.Or(n.ProviderModelID.String(), n.Model.String())}
}

// callStarted remembers what was asked. It matters only where no answer says
// it, so that it is read only then.
func (f *Fold) callStarted(e Event) error {
	if len(f.usage) == 0 {
		f.asked = append(f.asked, e)
	}
	return nil
}

// askedModels are the models that were asked, of unknown usage. A call that
// cannot be read names none.
func (f *Fold) askedModels() []scoring.ModelUsage {
	seen := map[model]bool{}
	var list []scoring.ModelUsage
	for _, e := range f.asked {
		call, err := members[named](e)
		if m := call.model(); err == nil && !seen[m] {
			seen[m] = true
			list = append(list, scoring.ModelUsage{ProviderKey: m.provider, ProviderModelID: m.id})
		}
	}
	return list
}

func (f *Fold) callDone(e Event) error {
	call, err := members[struct {
		named
		Usage   tokens `json:"usage"`
		Cached  any    `json:"cached"`
		CostUSD amount `json:"cost_usd"`
	}](e)
	if err != nil {
		return err
	}
	if err := f.spoken(e); err != nil {
		return err
	}
	f.asked = nil
	if !f.probed {
		f.source(scoring.AtModelCall, scoring.KindModelCall, e, "")
	}
	if !f.probed && f.ev.Sources[scoring.AtFinalOutput].Kind != scoring.KindFinalOutput {
		f.source(scoring.AtFinalOutput, scoring.KindModelCall, e, "output_text")
	}
	key := call.model()
	u := f.usage[key]
	if u == nil {
		u = &scoring.ModelUsage{ProviderKey: key.provider, ProviderModelID: key.id, Known: true, ReportedUSD: new(0.0)}
		f.usage[key] = u
	}
	if cost := call.CostUSD.f; cost == nil || u.ReportedUSD == nil {
		u.ReportedUSD = nil // of all calls, or of none
	} else {
		u.ReportedUSD = new(*u.ReportedUSD + *cost)
	}
	if call.Usage.Input.n == nil || call.Usage.Output.n == nil {
		u.Known, f.splitUnknown = false, true
		if call.Usage.Total.n == nil {
			f.usageUnknown = true
			f.extra.unknown = f.extra.unknown || f.probed
			return nil
		}
	}
	in, out := call.Usage.Input.value(), call.Usage.Output.value()
	if f.probed {
		f.extra.input, f.extra.output = plus(f.extra.input, in), plus(f.extra.output, out)
		f.extra.total = plus(f.extra.total, cmp.Or(call.Usage.Total.value(), plus(in, out)))
	} else {
		f.source(scoring.AtUsage, scoring.KindModelCall, e, "usage")
	}
	u.InputTokens, u.OutputTokens = plus(u.InputTokens, in), plus(u.OutputTokens, out)
	u.TotalTokens = plus(u.TotalTokens, cmp.Or(call.Usage.Total.value(), plus(in, out)))
	if call.Cached == true {
		f.fromCache(key, in, out)
	}
	return nil
}

// fromCache counts what a cache answered, which cost nothing.
func (f *Fold) fromCache(key model, in, out int64) {
	c := f.cached[key]
	if c == nil {
		c = &scoring.ModelUsage{ProviderKey: key.provider, ProviderModelID: key.id, Known: true}
		f.cached[key] = c
	}
	c.InputTokens, c.OutputTokens = plus(c.InputTokens, in), plus(c.OutputTokens, out)
	c.TotalTokens = plus(c.TotalTokens, plus(in, out))
}

func (f *Fold) firstOutput(e Event) error {
	if f.ev.FirstOutputAt.IsZero() && !f.probed {
		kind := scoring.KindModelCall
		if e.Type == OutputFinal {
			kind = scoring.KindFinalOutput
		}
		f.ev.FirstOutputAt = e.OccurredAt
		f.source(scoring.AtFirstOutput, kind, e, "")
	}
	return nil
}

func (f *Fold) output(e Event) error {
	out, err := members[struct {
		FinalOutput text `json:"final_output"`
		Output      text `json:"output"`
	}](e)
	if err != nil {
		return err
	}
	final, field := out.FinalOutput.s, "final_output"
	if final == nil {
		final, field = out.Output.s, "output"
	}
	if f.ev.FinalOutput == nil && final != nil {
		f.ev.FinalOutput = final
		f.source(scoring.AtFinalOutput, scoring.KindFinalOutput, e, field)
	}
	return f.firstOutput(e)
}
