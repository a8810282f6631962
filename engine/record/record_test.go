package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
)

func TestFileNames(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, label := range []string{"gpt", "GPT", "openai/gpt-4", "openai-gpt-4", "a b", "a-b", "..", "../etc", ".hidden", "", "ünïcode", strings.Repeat("x", 300), strings.Repeat("x", 301), "con:", "a\x00b"} {
		name := fileName(label)
		if folded := strings.ToLower(name); seen[folded] != "" {
			t.Errorf("%q and %q have the same file %q", label, seen[folded], name)
		}
		seen[strings.ToLower(name)] = label + "?"
		if !plainName.MatchString(name) && len(name) > 90 || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\:`+"\x00") || name != filepath.Base(name) {
			t.Errorf("%q becomes %q, which is no plain name", label, name)
		}
	}
}

func TestDrift(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ was, now, field string }{
		{`{"content":"same"}`, `{"content":"same"}`, ""},
		{`{"content":"{\"stdout\":\"took 0.12s\"}"}`, `{"content":"{\"stdout\":\"took 3.4s\"}"}`, ""},
		{`{"content":"{\"stdout\":\"built at 2026-01-02T03:04:05Z\"}"}`, `{"content":"{\"stdout\":\"built at 2027-11-12T13:14:15.5+02:00\"}"}`, ""},
		{`{"content":"Sat Nov 21 18:41:37 UTC 2026"}`, `{"content":"Sun Dec  6 08:01:07 UTC 2027"}`, ""},
		{`{"content":"id 0190a3c4-1111-7222-8333-444455556666"}`, `{"content":"id 0190a3c4-1111-7222-8333-444455557777"}`, ""},
		{`{"content":"<f at 0x7f001234abcd>"}`, `{"content":"<f at 0x7f009999abcd>"}`, ""},
		{`{"content":"{\"stdout\":\"3 passed in 0.01s\"}"}`, `{"content":"{\"stdout\":\"2 passed in 0.01s\"}"}`, "content.stdout"},
		{`{"content":"{\"exit_code\":0}"}`, `{"content":"{\"exit_code\":1}"}`, "content.exit_code"},
		{`{"content":"x"}`, `{"content":"x","is_error":true}`, "is_error"},
		{`{"content":"{} tail"}`, `{"content":"{} tale"}`, "content"},
	} {
		if d, differ := Drift([]byte(row.was), []byte(row.now)); differ != (row.field != "") || d.Field != row.field && differ {
			t.Errorf("%s and %s: got %v %v, want a difference in %q", row.was, row.now, differ, d, row.field)
		}
	}
}

// A reply is given as it was recorded, whatever is in it, and a secret of the
// time is in no file.
func TestReplies(t *testing.T) {
	t.Parallel()
	const secret = "sk-secret-0123456789"
	large := 6 << 20
	if os.Getenv("AGENTCLASH_SLOW") != "" {
		large = 24 << 20
	}
	replies := []any{
		provider.Response{Model: "gpt-x", Text: "hello", Finish: provider.FinishStop, TTFT: 12 * time.Millisecond, Elapsed: 34 * time.Millisecond,
			Usage: &provider.Usage{Input: 1, Output: 2, Total: 3, CacheRead: 4, CacheWrite: 5, Reasoning: 6}},
		provider.Response{Text: strings.Repeat("large ", large/6), Finish: provider.FinishMaxTokens},
		provider.Response{Text: "the key is " + secret, Finish: provider.FinishOther},
		&provider.Error{Provider: "openai", Code: provider.RateLimit, Status: 429, Message: "slow", RetryAfter: 2 * time.Second},
		provider.Response{},
	}
	dir := t.TempDir()
	clock := time.Unix(0, 0)
	o := Options{RunID: "r", Secrets: []string{secret}, Now: func() time.Time { clock = clock.Add(5 * time.Millisecond); return clock },
		Subject: Subject{Repetitions: 1, Cases: []string{"c"}, Agents: []Agent{{Label: "a"}}}}
	r, err := Create(taken(t, dir), o)
	if err != nil {
		t.Fatal(err)
	}
	request := func(i int) provider.Request {
		return provider.Request{Ref: at1("a", "c"), Model: "m", Messages: []provider.Message{{Role: provider.User, Content: fmt.Sprint("question ", i)}}}
	}
	n := 0
	inner := clientFunc(func() (provider.Response, error) {
		n++
		if e, failed := replies[n-1].(error); failed {
			return provider.Response{}, e
		}
		return replies[n-1].(provider.Response), nil
	})
	ask := func(c provider.Client) (got []string) {
		for i := range replies {
			res, err := c.Complete(t.Context(), request(i), nil)
			var e *provider.Error
			if errors.As(err, &e) {
				got = append(got, fmt.Sprintf("%v after %v, wait %v", e, e.Recorded, e.RetryAfter))
				continue
			}
			res.Recorded = false
			text := fmt.Sprintf("%+v %+v", res, res.Usage)
			res.Usage = nil
			got = append(got, strings.ReplaceAll(fmt.Sprintf("%+v", res)+text[:0], secret, "[redacted]"))
		}
		return got
	}
	was := ask(r.Client(Agents, inner))
	if err := r.End(at1("a", "c"), true); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Finish(false); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "trials", "a", "c.r1.jsonl"))
	if err != nil || bytes.Contains(raw, []byte(secret)) || len(raw) < large {
		t.Errorf("the file has %d bytes and the secret %v: %v", len(raw), bytes.Contains(raw, []byte(secret)), err)
	}
	p, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := ask(p.Client(Agents))
	for i := range was {
		if was[i] != now[i] {
			t.Errorf("reply %d: got %.200s, recorded %.200s", i, now[i], was[i])
		}
	}
	if !strings.Contains(now[3], "after 5ms, wait 2s") {
		t.Errorf("the failure is %s", now[3])
	}
	if _, err := p.Client(Agents).Complete(t.Context(), request(5), nil); err == nil || !strings.Contains(err.Error(), "call 6 of the agent") || !strings.Contains(err.Error(), "5 were recorded") {
		t.Errorf("one call too many: got %v", err)
	}
}

// TestCacheCountsCalls: a call that took two tries is one call, also beside one that
// is made at the same time, and the calls after it have the numbers they would have had.
func TestCacheCountsCalls(t *testing.T) {
	t.Parallel()
	shelf, err := OpenShelf(t.TempDir(), MaxShelf, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	down := &provider.Error{Provider: "p", Code: provider.Unavailable, Message: "down"}
	ask := func(c *Cache, call int, question string, inner provider.Client) (provider.Response, error) {
		req := provider.Request{Ref: provider.Ref{Agent: "a", Case: "c", Repetition: 1, Attempt: 1, Call: call}, Model: "m",
			Messages: []provider.Message{{Role: provider.User, Content: question}}}
		return c.Client(Scope{Provider: "p", Who: Agents}, inner).Complete(t.Context(), req, nil)
	}
	answer := func(text string) provider.Client {
		return said{provider.Response{Text: text, Finish: provider.FinishStop}}
	}
	c := NewCache(shelf, nil)
	beside := clientFunc(func() (provider.Response, error) { // while the first try goes on, the same is asked by another call
		if _, err := ask(c, 1, "same", answer("two")); err != nil {
			t.Error(err)
		}
		return provider.Response{}, down
	})
	if _, err := ask(c, 0, "same", beside); err == nil {
		t.Fatal("the first try did not fail")
	}
	for call, q := range []string{"same", "next"} {
		if _, err := ask(c, call+2, q, answer([]string{"one", "then"}[call])); err != nil {
			t.Fatal(err)
		}
	}
	again := NewCache(shelf, nil) // where nothing fails
	for call, want := range []string{"one", "two", "then"} {
		q := "same"
		if call == 2 {
			q = "next"
		}
		res, err := ask(again, call, q, answer("asked again"))
		if err != nil || !res.Cached() || res.Text != want {
			t.Errorf("call %d: got %q, cached %v, %v; want %q", call, res.Text, res.Cached(), err, want)
		}
	}
	res, err := ask(NewCache(shelf, nil), 2, "other", answer("asked"))
	if err != nil || res.Cache == nil || !strings.Contains(res.Cache.Why, `recorded "next", now "other"`) {
		t.Errorf("the third call is compared with another than the third: %+v, %v", res.Cache, err)
	}
}

type clientFunc func() (provider.Response, error)

func (f clientFunc) Complete(context.Context, provider.Request, func(provider.Delta)) (provider.Response, error) {
	return f()
}

// TestShelf fills a cache past its size from several goroutines, spoils it, and
// asks it again: it stays small, and what it gives is what it was given.
func TestShelf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const most = 40 << 10
	open := func() *Cache {
		s, err := OpenShelf(dir, most, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return NewCache(s, nil)
	}
	answer := func(i int) provider.Response {
		return provider.Response{Text: fmt.Sprint("answer ", i, " ", strings.Repeat("x", 400)), Finish: provider.FinishStop}
	}
	ask := func(c *Cache, i, rep int) provider.Response {
		req := provider.Request{Ref: provider.Ref{Agent: "a", Case: "c", Repetition: rep, Attempt: 1}, Model: "m", Messages: []provider.Message{{Role: provider.User, Content: fmt.Sprint(i)}}}
		res, err := c.Client(Scope{Provider: "p", Who: Agents}, said{answer(i)}).Complete(t.Context(), req, nil)
		if err != nil || res.Text != answer(i).Text {
			t.Errorf("question %d: got %.30q, %v", i, res.Text, err)
		}
		return res
	}
	var wg sync.WaitGroup
	for process := range 2 {
		c := open()
		for worker := range 3 {
			wg.Go(func() {
				for i := range 40 {
					ask(c, worker*40+i, process+1)
				}
			})
		}
	}
	wg.Wait()
	c := open()
	if c.size > most*2 { // two that do not know of each other
		t.Errorf("the cache has %d bytes, more than twice %d", c.size, most)
	}
	kept := c.List()
	if len(kept) == 0 {
		t.Fatal("nothing is kept")
	}
	for i, k := range kept {
		var spoiled []byte
		switch i % 3 {
		case 0:
			continue
		case 1:
			spoiled = []byte("{")
		case 2:
			raw, err := os.ReadFile(filepath.Join(dir, repliesDir, k.Key))
			if err != nil {
				t.Fatal(err)
			}
			spoiled = bytes.Replace(raw, []byte(`"model":"m"`), []byte(`"model":"n"`), 1)
			if i%2 == 0 {
				spoiled = bytes.Replace(raw, []byte(`"text":"answer`), []byte(`"text":"ansver`), 1)
			}
			if bytes.Equal(spoiled, raw) {
				t.Fatalf("nothing to spoil in %s", raw)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, repliesDir, k.Key), spoiled, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, sound := range []bool{true, false} { // first those that are, for each miss may evict another
		for i, k := range kept {
			if sound != (i%3 == 0) {
				continue
			}
			var message provider.Message
			if err := json.Unmarshal(k.Messages[0], &message); err != nil {
				t.Fatal(err)
			}
			question, err := strconv.Atoi(message.Content)
			if err != nil {
				t.Fatal(err)
			}
			if got := ask(open(), question, k.Repetition).Cached(); got != sound {
				t.Errorf("entry %d: cached is %v, want %v", i, got, sound)
			}
		}
	}
	// the same question twice in an attempt is two calls, and so is each repetition
	c = open()
	first, second, other := ask(c, 999, 1), ask(c, 999, 1), ask(c, 999, 2)
	if first.Cached() || second.Cached() || other.Cached() {
		t.Error("a question that was never asked was answered from the cache")
	}
	c = open()
	for i, want := range []bool{true, true, false} { // the third sample was never asked for
		if got := ask(c, 999, 1).Cached(); got != want {
			t.Errorf("sample %d asked again: cached is %v, want %v", i, got, want)
		}
	}
	if !ask(c, 999, 2).Cached() {
		t.Error("the other repetition is not cached")
	}
}

// FuzzParse reads files that nobody wrote.
func FuzzParse(f *testing.F) {
	f.Add([]byte("{\"agent\":\"a\",\"case\":\"c\",\"repetition\":1}\n{\"kind\":\"attempt\",\"attempt\":1}\n{\"kind\":\"model\",\"who\":\"agent\",\"request\":{\"model\":\"m\"},\"reply\":{\"text\":\"x\"}}\n" +
		"{\"kind\":\"model\",\"who\":\"agent\",\"kept\":1,\"same\":[\"model\"],\"reply\":{}}\n"))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := parse(raw, Place{"a", "c", 1})
		if err != nil {
			return
		}
		for _, a := range list {
			for _, calls := range a.calls {
				for _, l := range calls {
					_, _ = l.reply(true, func(provider.Delta) {})
				}
			}
		}
	})
}
