package view

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

// cacheNote says what a run with the cache is not good for.
const cacheNote = "replies may come from it: durations are not measured"

// CacheExplanation says of each call of a run whether the cache answered it.
type CacheExplanation struct {
	RunID string          `json:"run_id"`
	Hits  int             `json:"hits"`
	Live  int             `json:"live"`
	Calls List[CacheCall] `json:"calls"`
}

// CacheCall is one call to a model or a judge.
type CacheCall struct {
	TrialID    string `json:"trial_id,omitempty"` // "" for a ranking
	Agent      string `json:"agent,omitempty"`
	CaseKey    string `json:"case_key"`
	Repetition int    `json:"repetition"`
	Attempt    int    `json:"attempt,omitempty"`
	Sequence   int64  `json:"sequence_number"` // of the event that says so
	Judge      string `json:"judge_key,omitempty"`
	Model      string `json:"model"`
	Cached     bool   `json:"cached"`
	Key        string `json:"cache_key,omitempty"`
	Why        string `json:"why,omitempty"` // it was not
}

// Add counts a call.
func (e *CacheExplanation) Add(c CacheCall) {
	if e.Calls = append(e.Calls, c); c.Cached {
		e.Hits++
		return
	}
	e.Live++
}

// CacheExplained writes one row a call.
func CacheExplained(w io.Writer, e CacheExplanation, o Options) error {
	p := newPrinter(w, o)
	t := Table{Columns: []Column{left("AGENT"), left("CASE"), right("REP"), right("EVENT"), left("CALL"), whole("CACHE"), left("WHY")}}
	for _, c := range e.Calls {
		what, hit := c.Model, "live"
		if c.Judge != "" {
			what = "judge " + c.Judge + ", " + c.Model
		}
		if c.Cached {
			hit = "hit"
		}
		t.Add(Text(or(c.Agent)), Text(c.CaseKey), Text(strconv.Itoa(c.Repetition)), Text(strconv.FormatInt(c.Sequence, 10)), Text(what), Text(hit), Text(or(c.Why)))
	}
	p.line(fmt.Sprintf("%d from the cache, %d live", e.Hits, e.Live))
	if len(t.Rows) > 0 {
		p.blank()
		p.table(&t)
	}
	return p.flush()
}

// CacheListing is what the cache holds.
type CacheListing struct {
	Items    List[CacheEntry] `json:"items"`
	Bytes    int64            `json:"bytes"`
	MaxBytes int64            `json:"max_bytes"`
}

// CacheEntry is one cached reply.
type CacheEntry struct {
	Key        string    `json:"cache_key"`
	Model      string    `json:"model"`
	Who        string    `json:"who"`
	Pack       string    `json:"pack"`
	CaseKey    string    `json:"case_key"`
	Repetition int       `json:"repetition"`
	Bytes      int64     `json:"bytes"`
	UsedAt     time.Time `json:"used_at"`
}

// CacheList writes one row a reply.
func CacheList(w io.Writer, l CacheListing, o Options) error {
	p := newPrinter(w, o)
	t := Table{Columns: []Column{whole("KEY"), left("MODEL"), left("WHO"), left("PACK"), left("CASE"), right("REP"), right("BYTES"), whole("USED")}}
	for _, e := range l.Items {
		t.Add(Text(shortDigest(e.Key, o)), Text(e.Model), Text(e.Who), Text(e.Pack), Text(e.CaseKey), Text(strconv.Itoa(e.Repetition)),
			Text(strconv.FormatInt(e.Bytes, 10)), Text(o.Time(e.UsedAt)))
	}
	if len(t.Rows) > 0 {
		p.table(&t)
		p.blank()
	}
	p.line(fmt.Sprintf("%d replies, %d of at most %d MiB", len(l.Items), l.Bytes>>20, l.MaxBytes>>20))
	return p.flush()
}
