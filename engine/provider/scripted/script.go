package scripted

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
)

// Script is a loaded script. It does not change and may be shared.
type Script struct {
	name       string
	agent      book
	judges     book
	simulators book
}

// Name is the name the script was loaded under.
func (s *Script) Name() string { return s.name }

// book is one role's replies: entries in order, and what is used when none
// matches.
type book struct {
	entries  []*entry
	byCase   map[string]int // index of the first entry for a case key
	whens    []int          // indexes of the entries with a when, ascending
	fallback *entry
}

// entry is one list of replies and the calls it is for: those of a case, those
// a when matches, or as a fallback all. One that draws has branches instead of
// replies.
type entry struct {
	caseKey  string
	when     *when
	replies  []reply
	endError bool
	branches []branch
	place    int // of an entry that draws, among those of its script
}

// branch is one of the lists that an entry draws from. upTo is the sum of the
// chances of the branches so far.
type branch struct {
	upTo float64
	list *entry
}

// drawn is the list that a trial has of an entry: the same one for all its calls
// and attempts, by the run's seed, the case and the repetition.
func (e *entry) drawn(req provider.Request) *entry {
	if e == nil || len(e.branches) == 0 {
		return e
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %s", req.Seed, e.place, req.Ref.Repetition, req.Ref.Case))
	at := float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53) // 0 to below 1
	for _, b := range e.branches {
		if at < b.upTo {
			return b.list
		}
	}
	return e.branches[len(e.branches)-1].list
}

// when chooses by what the conversation holds; "" is not asked about.
type when struct {
	system, user, tool string
}

// reply is one reply, ready to be given.
type reply struct {
	text   string
	echo   bool
	calls  []toolCall
	usage  *provider.Usage
	finish provider.FinishReason
	delay  time.Duration
	fail   *failure
}

type toolCall struct {
	name      string
	arguments json.RawMessage
}

type failure struct {
	code       provider.Code
	message    string
	retryAfter time.Duration
}

func (b *book) add(e *entry) {
	index := len(b.entries)
	b.entries = append(b.entries, e)
	if e.when != nil {
		b.whens = append(b.whens, index)
		return
	}
	if b.byCase == nil {
		b.byCase = map[string]int{}
	}
	if _, taken := b.byCase[e.caseKey]; !taken {
		b.byCase[e.caseKey] = index
	}
}

// find returns the first list for a call, or nil. A script with an entry for
// each of many cases is not searched through.
func (b *book) find(req provider.Request) *entry { return b.entry(req).drawn(req) }

func (b *book) entry(req provider.Request) *entry {
	first, found := b.byCase[req.Ref.Case]
	for _, i := range b.whens {
		if found && i > first {
			break
		}
		if b.entries[i].when.matches(req.Messages) {
			return b.entries[i]
		}
	}
	if found {
		return b.entries[first]
	}
	return b.fallback
}

func (w *when) matches(messages []provider.Message) bool {
	return (w.system == "" || anyHolds(messages, provider.System, w.system)) &&
		(w.user == "" || anyHolds(messages, provider.User, w.user)) &&
		(w.tool == "" || anyHolds(latestResults(messages), provider.ToolRole, w.tool))
}

func anyHolds(messages []provider.Message, role provider.Role, text string) bool {
	for _, m := range messages {
		if m.Role == role && strings.Contains(m.Content, text) {
			return true
		}
	}
	return false
}

// latestResults are the messages since the model last spoke.
func latestResults(messages []provider.Message) []provider.Message {
	for i := len(messages); i > 0; i-- {
		if messages[i-1].Role == provider.Assistant {
			return messages[i:]
		}
	}
	return messages
}
