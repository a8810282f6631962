package vendortest

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
)

// Reply is what a server sends for one request, in no vendor's words: a streamed
// reply, or with Raw, Status or a fault something else. The zero Reply is one
// with no text.
type Reply struct {
	Thought string   // reasoning, signed, before the rest
	Pieces  []string // of text, one event each
	Calls   []Call
	Finish  provider.FinishReason // "" is tool_calls with Calls, else stop
	Usage   *provider.Usage       // nil is not sent; Total is not either

	// Raw replaces the stream: bytes as they stand, one flush each.
	Raw []string
	// Last replaces the events after the first ones that CutAfter counts.
	Last []string

	// Status, Header and Body answer without a stream. A Header alone goes with
	// the stream.
	Status int
	Header map[string]string
	Body   string

	// Delay passes before the headers, Pace after each flush.
	Delay, Pace time.Duration
	ByByte      bool
	// Faults: before the headers or after that many events the connection drops,
	// the body ends as if all were well, or nothing more comes. Half says that
	// half of the next event comes first.
	Drop                           bool
	CutAfter, EndAfter, StallAfter int
	Half                           bool
}

// Call is one tool call of a reply. Arguments is sent as it stands, in pieces
// where the vendor does so.
type Call struct{ Name, Arguments string }

// Text is the plain reply.
func Text(text string) Reply {
	return Reply{Pieces: []string{text}, Usage: &provider.Usage{Input: 10, Output: 5}}
}

// Tool is the reply that calls one tool.
func Tool(name, arguments string) Reply {
	return Reply{Calls: []Call{{name, arguments}}, Usage: &provider.Usage{Input: 10, Output: 5}}
}

func (r Reply) finish() provider.FinishReason {
	switch {
	case r.Finish != "":
		return r.Finish
	case len(r.Calls) > 0:
		return provider.FinishToolCalls
	default:
		return provider.FinishStop
	}
}

type object = map[string]any

// data is one event of a stream.
func data(doc any) string { return "data: " + encode(doc) + "\n\n" }

// named is one event that says its type twice, as some vendors do.
func named(doc object) string {
	return "event: " + doc["type"].(string) + "\n" + data(doc)
}

func encode(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("vendortest: encode: " + err.Error()) // only what this package built
	}
	return strings.TrimSpace(b.String())
}

// pieces cuts arguments as vendors do: where it is not convenient.
func pieces(text string) []string {
	const size = 7
	var out []string
	for rest := []rune(text); len(rest) > 0; {
		n := min(size, len(rest))
		out = append(out, string(rest[:n]))
		rest = rest[n:]
	}
	return out
}
