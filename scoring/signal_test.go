package scoring_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring"
)

// behaving is a spec with a behavioral dimension of these signals.
func behaving(signals ...scoring.Signal) scoring.Spec {
	spec := oneValidator()
	spec.Behavioral = &scoring.Behavioral{Signals: signals}
	spec.Scorecard.Dimensions = []scoring.Dimension{{Key: "behavioral"}}
	spec.Scorecard.PassThreshold = nil
	return spec
}

func everySignal() []scoring.Signal {
	return []scoring.Signal{
		{Key: "recovery_behavior", Weight: 1}, {Key: "exploration_efficiency", Weight: 1},
		{Key: "error_cascade", Weight: 1}, {Key: "scope_adherence", Weight: 1},
	}
}

func TestSignalVectors(t *testing.T) {
	t.Parallel()
	collectors := []string{"behavioral_recovery_score", "behavioral_exploration_efficiency_score", "behavioral_error_cascade_score", "behavioral_scope_adherence_score"}
	for _, b := range readBlocks(t, "testdata/signals.txt") {
		b.only(t, "case", "trace", "want", "event", "reason")
		spec, ev := behaving(everySignal()...), answered()
		for _, c := range collectors {
			spec.Metrics = append(spec.Metrics, scoring.Metric{Key: c, Type: "numeric", Collector: c})
		}
		ev.ToolCalls = calls(t, b["trace"])
		card := scoring.Score(spec, ev)
		want := strings.Fields(b["want"])
		if len(card.Signals) != 4 || len(want) != 4 {
			t.Fatalf("%s: got %d signals: %s", b["case"], len(card.Signals), card.PackError)
		}
		for i, s := range card.Signals {
			if *s.Score != float(t, want[i]) || card.Metrics[i].Value != *s.Score {
				t.Errorf("%s: %s is %s and as a metric %v, want %s", b["case"], s.Key, show(s.Score), card.Metrics[i].Value, want[i])
			}
		}
		d := card.Dimensions[0]
		event := ""
		if d.Event != nil {
			event = fmt.Sprintf("%d %s", d.Event.Sequence, d.Event.EventType)
		}
		reasons := ""
		for _, s := range card.Signals {
			reasons += s.Reason + "\n"
		}
		if b["event"] != "" && event != b["event"] || !strings.Contains(reasons, b["reason"]) {
			t.Errorf("%s: got event %q and the reasons %q", b["case"], event, reasons)
		}
	}
}

func TestBehavioralVectors(t *testing.T) {
	t.Parallel()
	for _, b := range readBlocks(t, "testdata/behavioral.txt") {
		b.only(t, "case", "trace", "signals", "want", "reason")
		spec, ev := behaving(readSignals(t, b["signals"])...), answered()
		ev.ToolCalls = calls(t, b["trace"])
		card := scoring.Score(spec, ev)
		if len(card.Dimensions) != 1 {
			t.Fatalf("%s: the spec is refused: %s", b["case"], card.PackError)
		}
		d := card.Dimensions[0]
		if d.State != scoring.Available || *d.Score != float(t, b["want"]) || !strings.Contains(d.Reason, b["reason"]) || b["reason"] == "" && d.Reason != "" {
			t.Errorf("%s: got %s %s (%s), want %s (%s)", b["case"], d.State, show(d.Score), d.Reason, b["want"], b["reason"])
		}
	}
}

func readSignals(t *testing.T, list string) []scoring.Signal {
	t.Helper()
	var out []scoring.Signal
	for _, text := range strings.Split(list, ",") {
		words := strings.Fields(text)
		s := scoring.Signal{Key: words[0]}
		for i := 1; i+1 < len(words); i += 2 {
			v := float(t, words[i+1])
			switch words[i] {
			case "weight":
				s.Weight = v
			case "gate":
				s.Gate, s.PassThreshold = true, &v
			case "at":
				s.PassThreshold = &v
			default:
				t.Fatalf("unknown word %q", words[i])
			}
		}
		out = append(out, s)
	}
	return out
}

// The one signal that the format names and nobody may use is refused with the
// reason, as a signal and as a collector.
func TestConfidenceIsRefused(t *testing.T) {
	t.Parallel()
	spec := behaving(scoring.Signal{Key: "confidence_calibration", Weight: 1})
	if p := problemAt(spec, "behavioral.signals[0].key"); p == nil || !strings.Contains(p.Message, "nothing measures it") {
		t.Errorf("got %v", p)
	}
	for _, s := range scoring.SignalTypes() {
		if !s.Supported || s.Doc == "" {
			t.Errorf("%s is not measured", s.Name)
		}
	}
}

func TestConversationVectors(t *testing.T) {
	t.Parallel()
	blocks := readBlocks(t, "testdata/conversations.txt")
	for _, b := range blocks[1:] {
		turns := readTurns(t, b)
		if turns == nil && b["turns"] != "none" {
			turns = readTurns(t, blocks[0])
		}
		t.Run(b["case"], func(t *testing.T) {
			t.Parallel()
			if b["recovery"] != "" {
				checkRecovery(t, b, turns)
				return
			}
			spec, ev := reading(b["ref"]), answered()
			ev.Turns = turns
			if got := resolvedText(t, spec, ev); got != b.text(t, "want") {
				t.Errorf("%s resolves to %q, want %q", b["ref"], got, b.text(t, "want"))
			}
			card := scoring.Score(spec, ev)
			checkShown(t, b, card.Validators[0])
			if d := card.Decide(); b["outcome"] != "" && string(d.Outcome)+" "+d.Code != b["outcome"] {
				t.Errorf("got outcome %s %s, want %s", d.Outcome, d.Code, b["outcome"])
			}
		})
	}
}

// checkRecovery scores recovery_behavior beside validators of these scores.
func checkRecovery(t *testing.T, b block, turns []scoring.Turn) {
	t.Helper()
	spec, ev := overallTrial(t, block{"strategy": "weighted", "dimensions": b["validators"]})
	spec.Behavioral = &scoring.Behavioral{Signals: []scoring.Signal{{Key: "recovery_behavior", Weight: 1}}}
	spec.Scorecard.Dimensions = append(spec.Scorecard.Dimensions, scoring.Dimension{Key: "behavioral"})
	ev.Turns = turns
	if b["trace"] != "" {
		ev.ToolCalls = calls(t, b["trace"])
	}
	card := scoring.Score(spec, ev)
	if got := dimensions(card)["behavioral"]; got != b["recovery"] {
		t.Errorf("got %s, want %s (%s)", got, b["recovery"], card.PackError)
	}
}

// readTurns reads the turns of a block.
func readTurns(t *testing.T, b block) []scoring.Turn {
	t.Helper()
	var out []scoring.Turn
	for i := range 10 {
		text, ok := b["turn "+strconv.Itoa(i)]
		if !ok {
			continue
		}
		turn := scoring.Turn{Index: int64(i), Actor: "scripted",
			Source: scoring.Source{Kind: scoring.KindRunEvent, Sequence: int64(10 + i), EventType: "turn.completed"}}
		if strings.Contains(text, "(mismatch)") {
			turn.Mismatched, text = true, strings.Replace(text, "(mismatch)", "", 1)
		}
		if rest, ok := strings.CutPrefix(strings.TrimSpace(text), "(phase "); ok {
			turn.PhaseID, text, _ = strings.Cut(rest, ")")
		}
		user, assistant, ok := strings.Cut(text, "=>")
		if !ok {
			t.Fatalf("turn %d has no =>: %q", i, text)
		}
		turn.User, turn.Assistant = said(t, user), said(t, assistant)
		out = append(out, turn)
	}
	return out
}

func said(t *testing.T, text string) string {
	t.Helper()
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, `"`) {
		return text
	}
	var s string
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}
