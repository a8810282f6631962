package widget

import (
	"cmp"

	"github.com/agentclash/agentclash/engine/event"
)

// Kind says what an entry of a transcript is.
type Kind int

// The kinds of entries.
const (
	System  Kind = iota // what the model is told beforehand
	User                // what it is asked
	Model               // what it says
	Call                // a tool call, with its arguments
	Result              // what a tool answered
	Broken              // the same, of one that failed
	Trouble             // what went wrong
	Note                // what else happened
)

// Entry is one thing that was said or done. Its texts are as they came: drawing
// cleans them.
type Entry struct {
	ID   int // grows within a transcript
	Rev  int // grows while text comes in
	Kind Kind
	Head string // one line
	Text string
}

const (
	// maxTail is what is kept of a trial where nothing else is said.
	maxTail = 48 << 10
	// maxEntry bounds one entry: of what is being written its end is kept, of
	// everything else its beginning.
	maxEntry = 8 << 10
)

// Tail is the end of a transcript, folded from the facts of a trial. The zero
// value is ready. Facts are read when they are looked at, or when many have
// come, so that a trial that nobody looks at costs next to nothing. What it
// takes is bounded, however much is said.
type Tail struct {
	// Most is how much is kept, in bytes of facts and of entries; 0 is 48 KB.
	Most int

	pending []said
	size    int // bytes pending
	entries []Entry
	bytes   int // of entries
	open    bool
	dropped int
	lastID  int
}

// deltaPart is what is read of a piece of text: there are many.
type deltaPart struct {
	Text string `json:"text_delta"`
}

// said is a fact that has not been read, or text that was written.
type said struct {
	fact event.Event
	text []byte
}

// Apply takes a fact of the trial into account.
func (t *Tail) Apply(e event.Event) {
	if e.Type == event.OutputDelta {
		if v, err := event.Decode[deltaPart](e); err == nil && v.Text != "" {
			t.write(v.Text)
		}
		return
	}
	if _, told := tellers[e.Type]; !told {
		return
	}
	t.pending = append(t.pending, said{fact: e})
	if t.size += len(e.Payload); t.size > t.most() {
		t.read()
	}
}

func (t *Tail) most() int { return cmp.Or(t.Most, maxTail) }

// write takes text that a model writes.
func (t *Tail) write(text string) {
	last := len(t.pending) - 1
	if last < 0 || t.pending[last].text == nil {
		t.pending = append(t.pending, said{})
		last++
	}
	s := &t.pending[last]
	s.text = append(s.text, text...)
	t.size += len(text)
	if len(s.text) > 2*maxEntry {
		cut := len(s.text) - maxEntry
		s.text = append(s.text[:0], s.text[cut:]...)
		t.size -= cut
	}
}

// Entries are what there is to show, the oldest first. The result stays as it is.
func (t *Tail) Entries() []Entry {
	t.read()
	return append([]Entry(nil), t.entries...)
}

// Dropped is how many entries came before those that are kept.
func (t *Tail) Dropped() int { return t.dropped }

// read makes entries of all that is pending.
func (t *Tail) read() {
	for _, s := range t.pending {
		if s.text != nil {
			t.wrote(string(s.text))
		} else {
			tellers[s.fact.Type](t, s.fact)
		}
	}
	clear(t.pending) // lets go of the payloads
	t.pending, t.size = t.pending[:0], 0
	n := 0
	for ; t.bytes > t.most() && n < len(t.entries)-1; n++ {
		t.bytes -= t.entries[n].bytes()
	}
	if n > 0 {
		t.entries = append([]Entry(nil), t.entries[n:]...)
		t.dropped += n
	}
}

// overhead is about what an entry takes beside its text.
const overhead = 100

func (e Entry) bytes() int { return len(e.Head) + len(e.Text) + overhead }

// add appends an entry.
func (t *Tail) add(kind Kind, head, text string) {
	t.open = false
	t.lastID++
	e := Entry{ID: t.lastID, Kind: kind, Head: event.Clip(head, 400), Text: event.Clip(text, maxEntry)}
	t.entries = append(t.entries, e)
	t.bytes += e.bytes()
}

// wrote adds to what the model is saying.
func (t *Tail) wrote(text string) {
	if !t.open {
		t.add(Model, "", "")
		t.open = true
	}
	e := &t.entries[len(t.entries)-1]
	t.bytes -= e.bytes()
	e.Text += text
	if len(e.Text) > maxEntry {
		e.Text = "..." + e.Text[len(e.Text)-maxEntry+3:]
	}
	e.Rev++
	t.bytes += e.bytes()
}

// spoke is all that the model has said, which may have come in pieces.
func (t *Tail) spoke(text string) {
	switch {
	case text == "":
	case t.open: // pieces may have been lost at the front
		e := &t.entries[len(t.entries)-1]
		if len(text) <= maxEntry && e.Text != text {
			t.bytes += len(text) - len(e.Text)
			e.Text = text
			e.Rev++
		}
	default:
		t.add(Model, "", text)
	}
	t.open = false
}

// last is the newest entry of a kind; nil when there is none.
func (t *Tail) last(kind Kind) *Entry {
	for i := len(t.entries) - 1; i >= 0; i-- {
		if t.entries[i].Kind == kind {
			return &t.entries[i]
		}
	}
	return nil
}
