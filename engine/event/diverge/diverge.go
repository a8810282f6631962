package diverge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/agentclash/agentclash/engine/event"
)

// Point is the first difference of two trials. A side is nil where its trial had
// nothing more when the other went on.
type Point struct {
	Shared    int   `json:"shared_events"` // alike before it, of the kinds that count
	Baseline  *Mark `json:"baseline_event"`
	Candidate *Mark `json:"candidate_event"`
}

// Mark is what an event did.
type Mark struct {
	Sequence int64      `json:"sequence_number"`
	Type     event.Type `json:"event_type"`
	Tool     string     `json:"tool_name,omitempty"`
	// Text is the arguments, the result or the words, the first 400 bytes of
	// them; Digest is the SHA-256 of all, in hex.
	Text   string `json:"text"`
	Digest string `json:"digest"`
}

const maxText = 400

// First finds the first difference; nil when the trials did the same. Events
// must be in their order. What an event of a kind that counts says and cannot be
// read is compared as it stands.
func First(baseline, candidate []event.Event) *Point {
	b, k := marks(baseline), marks(candidate)
	for i := 0; i < len(b) || i < len(k); i++ {
		if i < len(b) && i < len(k) && b[i].same(k[i]) {
			continue
		}
		p := Point{Shared: i}
		if i < len(b) {
			p.Baseline = &b[i]
		}
		if i < len(k) {
			p.Candidate = &k[i]
		}
		return &p
	}
	return nil
}

func (m Mark) same(o Mark) bool { return m.Type == o.Type && m.Tool == o.Tool && m.Digest == o.Digest }

func marks(events []event.Event) (list []Mark) {
	for _, e := range events {
		tool, text, counts := read(e)
		if !counts {
			continue
		}
		sum := sha256.Sum256([]byte(text))
		list = append(list, Mark{Sequence: e.Sequence, Type: e.Type, Tool: tool,
			Text: event.Clip(text, maxText), Digest: hex.EncodeToString(sum[:])})
	}
	return list
}

// read is what an event says, for the kinds that count.
func read(e event.Event) (tool, text string, counts bool) {
	switch e.Type {
	case event.ToolStarted:
		v, err := event.Decode[event.Tool](e)
		if err != nil {
			return "", string(e.Payload), true
		}
		return v.ToolName, canonical(v.Arguments), true
	case event.ToolDone, event.ToolFailed:
		v, err := event.Decode[event.Tool](e)
		if err != nil {
			return "", string(e.Payload), true
		}
		if v.Result != nil {
			text = v.Result.Content
		}
		return v.ToolName, text, true
	case event.CallDone:
		v, err := event.Decode[event.CallEnd](e)
		if err != nil {
			return "", string(e.Payload), true
		}
		return "", v.OutputText, true
	case event.CommandDone, event.CommandFail:
		v, err := event.Decode[event.Command](e)
		if err != nil {
			return "", string(e.Payload), true
		}
		return "", v.Stdout + v.Stderr + v.Error, true
	case event.OutputFinal:
		v, err := event.Decode[event.Output](e)
		if err != nil {
			return "", string(e.Payload), true
		}
		return "", v.FinalOutput, true
	}
	return "", "", false
}

// canonical is JSON without white space and with sorted keys; numbers keep
// their digits. What is no JSON stays as it is.
func canonical(raw json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return string(raw)
	}
	out, err := event.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(out)
}
