package event_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// block is one vector: its lines by key. testdata/README.md has the format.
type block map[string]string

func readBlocks(t testing.TB, path string) []block {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	for _, part := range strings.Split(string(raw), "\n\n") {
		b := block{}
		for _, line := range strings.Split(part, "\n") {
			if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
				continue
			}
			key, value, ok := strings.Cut(line, ":")
			if _, twice := b[key]; !ok || twice {
				t.Fatalf("want a new \"key: value\", got %q", line)
			}
			b[key] = strings.TrimSpace(value)
		}
		if len(b) > 0 {
			blocks = append(blocks, b)
		}
	}
	if len(blocks) < 50 {
		t.Fatalf("%s: found %d vectors, which cannot be all", path, len(blocks))
	}
	return blocks
}

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// events are the numbered lines of a block, in order.
func (b block) events(t testing.TB) []event.Event {
	t.Helper()
	var list []event.Event
	for key, line := range b {
		n, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			continue
		}
		words := strings.SplitN(line, " ", 3)
		if len(words) != 3 {
			t.Fatalf("%s: event %d is not time, type and payload: %q", b["case"], n, line)
		}
		ms, err := strconv.Atoi(words[0])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, event.Event{Sequence: n, Type: event.Type(words[1]), Payload: json.RawMessage(words[2]),
			OccurredAt: began.Add(time.Duration(ms) * time.Millisecond)})
	}
	slices.SortFunc(list, func(a, b event.Event) int { return int(a.Sequence - b.Sequence) })
	return list
}

// measuring is a spec with every metric that needs only events.
func measuring(t testing.TB) *scoring.Scorer {
	t.Helper()
	limits := func(target, most float64) *scoring.Normalization {
		return &scoring.Normalization{Target: &target, Max: &most}
	}
	spec := scoring.Spec{
		Name: "s", VersionNumber: 1, JudgeMode: scoring.Deterministic,
		Validators: []scoring.Validator{{Key: "v", Type: scoring.Contains, Target: "final_output", ExpectedFrom: "literal:"}},
		Pricing: scoring.Pricing{Models: []scoring.Price{{ProviderKey: "p", ProviderModelID: "m",
			InputCostPerMillionTokens: 1, OutputCostPerMillionTokens: 3}}},
		Scorecard: scoring.ScorecardSpec{Dimensions: []scoring.Dimension{
			{Key: "reliability"}, {Key: "latency", Normalization: limits(500, 5000)}, {Key: "cost", Normalization: limits(0.001, 1)},
		}},
	}
	for _, c := range scoring.Collectors() {
		spec.Metrics = append(spec.Metrics, scoring.Metric{Key: c.Name, Type: c.Type, Collector: c.Name})
	}
	s, problems := scoring.Compile(spec)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return s
}

func TestEvidenceVectors(t *testing.T) {
	t.Parallel()
	scorer := measuring(t)
	for _, b := range readBlocks(t, "testdata/evidence.txt") {
		t.Run(b["case"], func(t *testing.T) {
			t.Parallel()
			list := b.events(t)
			ev, err := event.Gather(scoring.Case{Key: "c"}, list)
			if want, ok := b["error"]; ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got error %v, want %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := shown(scorer.Score(ev))
			describe(t, got, ev)
			for key, want := range b {
				if _, err := strconv.Atoi(key); err == nil || key == "case" {
					continue
				}
				if have, ok := got[key]; !ok || have != want {
					t.Errorf("%s: got %s, want %s", key, have, want)
				}
			}
		})
	}
}

// shown are a scorecard's numbers by the keys of the vectors.
func shown(card scoring.Scorecard) map[string]string {
	out := map[string]string{}
	for _, m := range card.Metrics {
		out[m.Collector] = string(m.State)
		switch v := m.Value.(type) {
		case float64:
			out[m.Collector] = strconv.FormatFloat(v, 'f', -1, 64)
		case bool:
			out[m.Collector] = strconv.FormatBool(v)
		}
		out["event of "+m.Collector] = place(m.Source)
	}
	for _, d := range card.Dimensions {
		out[d.Key] = string(d.State)
		if d.Score != nil {
			out[d.Key] = strconv.FormatFloat(*d.Score, 'g', 17, 64)
		}
	}
	return out
}

func place(s *scoring.Source) string {
	if s == nil {
		return "(none)"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s %s", s.Sequence, s.EventType, s.FieldPath))
}

// describe adds what evidence holds beside numbers.
func describe(t *testing.T, out map[string]string, ev scoring.Evidence) {
	t.Helper()
	out["output"], out["output of"] = "(none)", "(none)"
	if ev.FinalOutput != nil {
		out["output"] = *ev.FinalOutput
	}
	if s, ok := ev.Sources[scoring.AtFinalOutput]; ok {
		out["output of"] = place(&s)
	}
	var models, trace, steps []string
	for _, m := range ev.Models {
		usage := "?"
		if m.Known {
			usage = fmt.Sprintf("%d+%d", m.InputTokens, m.OutputTokens)
		}
		models = append(models, m.ProviderKey+"/"+m.ProviderModelID+" "+usage)
	}
	for _, c := range ev.ToolCalls {
		text := c.Name + " " + c.Arguments
		if c.Failed {
			text += " failed"
		}
		if c.FailureOrigin != "" {
			text += " by " + c.FailureOrigin
		}
		if c.Error != "" {
			text += ": " + c.Error
		}
		trace = append(trace, text)
	}
	for _, s := range ev.Steps {
		steps = append(steps, fmt.Sprintf("%d %d", s.Index, s.DurationMS))
	}
	out["models"], out["trace"], out["steps"], out["captures"] = joined(models), joined(trace), joined(steps), joined(captures(ev))
	expectations, _ := scoring.Lookup("turn.expectations", ev)
	transcript, _ := scoring.Lookup("transcript.full", ev)
	out["turns"] = strings.TrimSpace(expectations + " " + strings.ReplaceAll(transcript, "\n", " | "))
}

func captures(ev scoring.Evidence) []string {
	var out []string
	for key, f := range ev.Files {
		text := "file " + key + " missing"
		if f.Exists {
			text = fmt.Sprintf("file %s %q", key, f.Content)
		}
		out = append(out, text)
	}
	slices.Sort(out)
	var rest []string
	for key, d := range ev.Directories {
		text := "directory " + key + " missing"
		if d.Exists {
			text = fmt.Sprintf("directory %s %d entries", key, len(d.Entries))
		}
		rest = append(rest, text)
	}
	slices.Sort(rest)
	for key, c := range ev.CodeRuns {
		rest = append(rest, fmt.Sprintf("code %s %d", key, *c.ExitCode))
	}
	return append(out, rest...)
}

func joined(list []string) string {
	if len(list) == 0 {
		return "(none)"
	}
	return strings.Join(list, "; ")
}

// The numbers of the events are their order: handing them over in another one
// changes nothing, and neither do their times.
func TestOnlyTheSequenceOrders(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, b := range readBlocks(t, "testdata/evidence.txt") {
		list := b.events(t)
		want, err := event.Gather(scoring.Case{Key: "c"}, list)
		for range 5 {
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			got, again := event.Gather(scoring.Case{Key: "c"}, list)
			if (err == nil) != (again == nil) {
				t.Fatalf("%s: got error %v, then %v", b["case"], err, again)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: shuffled (-in order +shuffled):\n%s", b["case"], diff)
			}
		}
	}
}

// Events come once and in order; what does not is damage, not evidence.
func TestFoldRefusesDisorder(t *testing.T) {
	t.Parallel()
	f := event.NewFold(scoring.Case{})
	for _, n := range []int64{2, 5} {
		if err := f.Apply(event.Event{Sequence: n, Type: event.CommandFail}); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int64{5, 3} {
		err := f.Apply(event.Event{Sequence: n, Type: event.CommandFail})
		if err == nil || !strings.Contains(err.Error(), "comes after event 5") {
			t.Errorf("event %d after event 5: got %v", n, err)
		}
	}
	if got := f.Evidence().FailureCount; got != 2 {
		t.Errorf("got %d failures, want the 2 of the events that came in order", got)
	}
}

// Events without a number come last, by their time and then by their kind.
func TestGatherOrdersWhatHasNoNumber(t *testing.T) {
	t.Parallel()
	at := func(ms int, typ event.Type, payload string) event.Event {
		return event.Event{Type: typ, OccurredAt: began.Add(time.Duration(ms) * time.Millisecond), Payload: json.RawMessage(payload)}
	}
	numbered := at(900, event.OutputFinal, `{"final_output":"numbered"}`)
	numbered.Sequence = 7
	ev, err := event.Gather(scoring.Case{}, []event.Event{
		at(30, event.Completed, `{"final_output":"end"}`), at(20, event.ToolFailed, `{"tool_name":"b"}`),
		at(20, event.ToolDone, `{"tool_name":"a"}`), at(10, event.OutputFinal, `{"final_output":"early"}`), numbered,
	})
	if err != nil {
		t.Fatal(err)
	}
	if *ev.FinalOutput != "end" || len(ev.ToolCalls) != 2 || ev.ToolCalls[0].Name != "a" {
		t.Errorf("got output %q and calls %+v", *ev.FinalOutput, ev.ToolCalls)
	}
	if s := ev.Sources[scoring.AtFinalOutput]; s.Sequence != 7 {
		t.Errorf("the output is of event %d, want 7: numbered events come first", s.Sequence)
	}
}

// What is kept of a failed call's error is bounded, in whole characters.
func TestToolErrorsAreBounded(t *testing.T) {
	t.Parallel()
	content, err := json.Marshal(strings.Repeat("é", 100_000))
	if err != nil {
		t.Fatal(err)
	}
	ev, err := event.Gather(scoring.Case{}, []event.Event{{Sequence: 1, Type: event.ToolFailed,
		Payload: json.RawMessage(`{"tool_name":"t","result":{"content":` + string(content) + `}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	if got := ev.ToolCalls[0].Error; len(got) > 4<<10 || !strings.HasSuffix(got, "é") {
		t.Errorf("kept %d bytes, ending %q", len(got), got[len(got)-4:])
	}
}

// FuzzFold hands hostile payloads to every kind of event that is evidence.
// They are errors or evidence, never a panic, and evidence can be scored.
func FuzzFold(f *testing.F) {
	for _, b := range readBlocks(f, "testdata/evidence.txt") {
		for _, e := range b.events(f) {
			f.Add(string(e.Type), []byte(e.Payload), []byte(`{"turn_index":0,"step_index":1}`))
		}
	}
	scorer := measuring(f)
	f.Fuzz(func(t *testing.T, typ string, first, second []byte) {
		list := []event.Event{
			{Sequence: 1, Type: event.Started}, {Sequence: 2, Type: event.Type(typ), Payload: first},
			{Sequence: 3, Type: event.Type(typ), Payload: second},
		}
		ev, err := event.Gather(scoring.Case{}, list)
		if err != nil {
			return
		}
		for name, n := range map[string]*int64{"input": ev.InputTokens, "output": ev.OutputTokens, "total": ev.TotalTokens} {
			if n != nil && *n < 0 {
				t.Errorf("%s tokens are %d", name, *n)
			}
		}
		for _, d := range scorer.Score(ev).Dimensions {
			if d.Score != nil && !(*d.Score >= 0 && *d.Score <= 1) {
				t.Errorf("dimension %s is %v", d.Key, *d.Score)
			}
		}
		slices.Reverse(list)
		again, err := event.Gather(scoring.Case{}, list)
		if err != nil {
			t.Fatalf("reversed: %v", err)
		}
		if diff := cmp.Diff(ev, again); diff != "" {
			t.Errorf("reversed (-in order +reversed):\n%s", diff)
		}
	})
}

func BenchmarkGather(b *testing.B) {
	payload := func(v string) json.RawMessage { return json.RawMessage(v) }
	list := []event.Event{{Type: event.Started, Payload: payload(`{"deployment_type":"native"}`)}}
	for i := range 50 {
		list = append(list,
			event.Event{Type: event.StepStarted, Payload: payload(fmt.Sprintf(`{"step_index":%d}`, i))},
			event.Event{Type: event.CallStarted, Payload: payload(`{"provider_key":"p","model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", 2000) + `"}]}`)},
			event.Event{Type: event.CallDone, Payload: payload(`{"provider_key":"p","provider_model_id":"m","output_text":"` + strings.Repeat("y", 2000) + `","usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15}}`)},
			event.Event{Type: event.ToolDone, Payload: payload(fmt.Sprintf(`{"tool_name":"read_file","arguments":{"path":"f%d"},"result":{"content":"%s","is_error":false}}`, i, strings.Repeat("z", 4000)))},
			event.Event{Type: event.StepDone, Payload: payload(fmt.Sprintf(`{"step_index":%d}`, i))})
	}
	list = append(list, event.Event{Type: event.Completed, Payload: payload(`{"final_output":"done","tool_call_count":50}`)})
	for i := range list {
		list[i].Sequence = int64(i + 1)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := event.Gather(scoring.Case{}, list); err != nil {
			b.Fatal(err)
		}
	}
}

// More than is looked through is not taken for clean.
func TestMoreIsSaidThanKept(t *testing.T) {
	t.Parallel()
	f := event.NewFold(scoring.Case{Watched: true})
	text := strings.Repeat("x", 1<<20)
	for i := range 20 {
		raw, err := json.Marshal(event.CallEnd{OutputText: text})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Apply(event.Event{Type: event.CallDone, Sequence: int64(i + 1), Payload: raw}); err != nil {
			t.Fatal(err)
		}
	}
	ev, kept := f.Evidence(), 0
	for _, s := range ev.Said {
		kept += len(s.Text)
	}
	if !ev.SaidCut || kept > 16<<20 || len(ev.Said) != 20 {
		t.Errorf("kept %d bytes of %d messages, cut %v", kept, len(ev.Said), ev.SaidCut)
	}
	f = event.NewFold(scoring.Case{})
	if err := f.Apply(event.Event{Type: event.CallDone, Sequence: 1, Payload: json.RawMessage(`{"output_text":"x"}`)}); err != nil || len(f.Evidence().Said) != 0 {
		t.Errorf("a case that is not watched: got %v, %+v", err, f.Evidence().Said)
	}
}

// A key that stands twice hides nothing, and neither does what follows a value;
// the keys of a tool's own result are no one's words.
func TestDuplicateKeysHideNothing(t *testing.T) {
	t.Parallel()
	ev, err := event.Gather(scoring.Case{Watched: true}, []event.Event{
		{Sequence: 1, Type: event.CallDone, Payload: json.RawMessage(
			`{"output_text":"x","tool_calls":[{"name":"exec","arguments":{"a":"one","a":{"b":"two","b":"thr\u0065e"}}}]}`)},
		{Sequence: 2, Type: event.ToolDone, Payload: json.RawMessage(
			`{"tool_name":"exec","result":{"content":"{\"stdout\":\"four\",\"stdout\":\"five\",\"exit_code\":0,\"own\":{\"k\":1,\"k\":\"six\"},\"own\":7}"}}`)},
		{Sequence: 3, Type: event.ToolDone, Payload: json.RawMessage(`{"tool_name":"exec","result":{"content":"{\"a\":\"eight\"} nine"}}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range ev.Said {
		got = append(got, s.Tool+"="+strings.ReplaceAll(s.Text, "\n", "|"))
	}
	want := []string{
		"=x", "exec:arguments=a|one|a|b|two|b|three", "exec:stdout=four", "exec:stdout=five", "exec:result=0|k|1|k|six|7",
		`exec:result={"a":"eight"} nine`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
