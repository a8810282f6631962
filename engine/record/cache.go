package record

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/redact"
)

// maxEntry is the largest reply that is cached, with its request.
const maxEntry = 8 << 20

// Cache gives replies again that a model has given to the very same request. It
// is for writing packs, not for measuring: it is safe for concurrent use, also
// by several processes, and what cannot be read or written in it is only a miss.
type Cache struct {
	*Shelf
	redact *redact.Redactor

	mu   sync.Mutex
	seen map[Place]map[string]*asked // of trials that go on, by caller and attempt
}

// asked is what a caller has asked in an attempt. Calls count, and not the tries
// that they took: what failed is asked again as the same.
type asked struct {
	times  map[string]map[int]bool // the occurrences of a request, from 1, that are taken
	failed int                     // tries
}

// NewCache is a cache on a shelf. Secrets are not written.
func NewCache(s *Shelf, secrets []string) *Cache {
	return &Cache{Shelf: s, redact: redact.New(secrets), seen: map[Place]map[string]*asked{}}
}

// Scope is what belongs to a cached request besides the request itself.
type Scope struct {
	Provider string `json:"provider"`
	BaseURL  string `json:"base_url,omitempty"`
	Who      string `json:"who"` // Agents, or what JudgeOf says
	Pack     string `json:"pack"`
}

// Entry is a cached reply.
type Entry struct {
	Version int    `json:"version"`
	Key     string `json:"key"`
	Scope
	Place
	Occurrence int               `json:"occurrence"` // of the same request in one attempt, from 1
	Request    fields            `json:"request"`
	Messages   []json.RawMessage `json:"messages"`
	Reply      fields            `json:"reply"`
}

// Model is what the provider calls the model.
func (e Entry) Model() string {
	var name string
	_ = json.Unmarshal(e.Request["model"], &name) // an entry of another kind has none
	return name
}

// Client answers from the cache what it can, and asks inner the rest.
func (c *Cache) Client(s Scope, inner provider.Client) provider.Client { return cached{c, s, inner} }

type cached struct {
	in    *Cache
	scope Scope
	inner provider.Client
}

// Complete gives the cached reply to the request, or makes the call.
func (c cached) Complete(ctx context.Context, req provider.Request, onDelta func(provider.Delta)) (provider.Response, error) {
	if ended := provider.FromContext(ctx, c.scope.Provider); ended != nil {
		return provider.Response{}, ended
	}
	e, try, err := c.entry(req)
	if err != nil {
		return c.inner.Complete(ctx, req, onDelta)
	}
	if res, ok := c.in.reply(e); ok {
		if onDelta != nil && res.Text != "" {
			onDelta(provider.Delta{Text: res.Text})
		}
		res.Cache = &provider.CacheUse{Hit: true, Key: e.Key}
		return res, nil
	}
	place := e.place(req.Ref.Call - try.failed)
	why := c.in.why(e, place)
	res, err := c.inner.Complete(ctx, req, onDelta)
	if err != nil {
		c.in.failed(try)
		return res, err
	}
	if !cacheable(res) {
		why += fmt.Sprintf("; the reply was not kept: it ended with %s", cmp.Or(string(res.Finish), "nothing"))
	} else if err := c.in.keep(e, place, res); err != nil {
		why += "; the reply could not be kept"
	}
	res.Cache = &provider.CacheUse{Key: e.Key, Why: why}
	return res, nil
}

// Forget drops what is kept of a trial that is over.
func (c cached) Forget(ref provider.Ref) {
	c.in.mu.Lock()
	delete(c.in.seen, placeOf(ref))
	c.in.mu.Unlock()
	if f, ok := c.inner.(provider.Forgetter); ok {
		f.Forget(ref)
	}
}

// cacheable says whether a reply is one that another call would be glad of: not
// a refusal, nor one that was cut.
func cacheable(res provider.Response) bool {
	return res.Finish == provider.FinishStop || res.Finish == provider.FinishToolCalls
}

// entry is a request as the cache knows it, without its reply. Its key is of all
// that the model sees, the trial's agent, case and repetition, and how often the
// attempt has asked the same: two agents that ask alike, and the samples of a
// judge, are calls of their own, in whatever order they are made.
func (c cached) entry(req provider.Request) (Entry, try, error) {
	request, messages, err := requestOf(req, ids{})
	if err != nil {
		return Entry{}, try{}, err
	}
	l := line{Request: request, messages: messages}
	l.clean(c.in.redact)
	e := Entry{Version: version, Scope: c.scope, Place: placeOf(req.Ref), Request: l.Request, Messages: l.messages}
	raw, err := compact([]any{version, e.Provider, e.BaseURL, e.Place, e.Request, e.Messages})
	if err != nil {
		return Entry{}, try{}, err
	}
	t := c.in.begin(e.Place, strconv.Itoa(req.Ref.Attempt)+c.scope.Who, digestOf(raw))
	e.Occurrence = t.occurrence
	e.Key = digestOf([]byte(t.request + " " + strconv.Itoa(t.occurrence)))
	return e, t, nil
}

// try is one that is under way.
type try struct {
	of         *asked
	request    string
	occurrence int // of the request, from 1
	failed     int // tries of the caller before it
}

// begin takes the first occurrence of a request that is free.
func (c *Cache) begin(p Place, who, request string) try {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[p] == nil {
		c.seen[p] = map[string]*asked{}
	}
	a := c.seen[p][who]
	if a == nil {
		a = &asked{times: map[string]map[int]bool{}}
		c.seen[p][who] = a
	}
	taken := a.times[request]
	if taken == nil {
		taken = map[int]bool{}
		a.times[request] = taken
	}
	n := 1
	for taken[n] {
		n++
	}
	taken[n] = true
	return try{of: a, request: request, occurrence: n, failed: a.failed}
}

// failed frees what a try took, for the next.
func (c *Cache) failed(t try) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(t.of.times[t.request], t.occurrence)
	t.of.failed++
}

// place names the call in a run, whatever it asks: the entry it last came to is
// what a miss is compared with.
func (e Entry) place(call int) string {
	return digestOf(fmt.Appendf(nil, "%q %q %q %q %d %d %d", e.Pack, e.Who, e.Agent, e.Case, e.Repetition, call, e.Occurrence))
}

// reply finds the reply to a request.
func (c *Cache) reply(want Entry) (provider.Response, bool) {
	var res provider.Response
	e, err := c.Get(want.Key)
	if err != nil {
		return res, false
	}
	if _, differ := e.differs(want); differ || e.Reply.decode(&res) != nil {
		return res, false
	}
	res.Recorded = true
	c.touch(want.Key)
	return res, true
}

// differs compares the requests of two entries.
func (e Entry) differs(now Entry) (Difference, bool) {
	return compareRequests(line{Request: e.Request, messages: e.Messages}, now.Request, now.Messages)
}

// why says what keeps a request from being answered.
func (c *Cache) why(now Entry, place string) string {
	key, err := c.at(place)
	if err != nil {
		return "nothing was kept of this call before"
	}
	e, err := c.Get(key)
	if errors.Is(err, errChanged) {
		return "what was kept of this call was changed on disk: it is not used"
	}
	if err != nil {
		return "what was kept of this call is gone"
	}
	if d, differ := e.differs(now); differ {
		return d.String()
	}
	return fmt.Sprintf("the request is the same: the one that is kept is of provider %s %s, repetition %d, occurrence %d", e.Provider, e.BaseURL, e.Repetition, e.Occurrence)
}

func (c *Cache) keep(e Entry, place string, res provider.Response) error {
	var err error
	if e.Reply, err = encode(&res); err != nil {
		return err
	}
	raw, err := compact(e)
	if err != nil {
		return err
	}
	raw = c.redact.JSON(raw)
	if len(raw) > maxEntry {
		return errors.New("it is too large")
	}
	return c.put(e.Key, place, raw)
}
