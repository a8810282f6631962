package e2b_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/e2b"
	"github.com/agentclash/agentclash/sandbox/e2b/e2btest"
	"github.com/agentclash/agentclash/sandbox/guest"
)

// begin opens a provider and a box of its own at a server of its own.
func begin(t *testing.T, change func(*e2b.Options)) (*e2btest.Server, sandbox.Session) {
	t.Helper()
	e2btest.Need(t)
	s := e2btest.New(t)
	o := options(s)
	if change != nil {
		change(&o)
	}
	box, err := open(t, o).Open(t.Context(), sandbox.Spec{Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return s, box
}

func wantBox(t *testing.T, what string, err error, kind sandbox.Kind, words ...string) {
	t.Helper()
	var box *sandbox.BoxError
	if !errors.As(err, &box) || box.Kind != kind {
		t.Errorf("%s: got %v, want a BoxError of kind %q", what, err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: got %q, want %q in it", what, err, w)
		}
	}
	wantNoSecret(t, what, err.Error())
}

func wantNoSecret(t *testing.T, what, text string) {
	t.Helper()
	if strings.Contains(text, e2btest.Key) || strings.Contains(text, "ea_") || strings.Contains(text, "cm9vdDo") {
		t.Errorf("%s: got a secret in %q", what, text)
	}
}

// goesOn wants that a box, or a provider, is still of use.
func goesOn(t *testing.T, box sandbox.Session) {
	t.Helper()
	r, err := box.Exec(t.Context(), sandbox.Command{Argv: []string{"/bin/sh", "-c", "echo fine"}})
	if err != nil || r.Stdout.Text != "fine\n" {
		t.Errorf("exec: got %+v, %v, want it to work", r, err)
	}
}

// What E2B refuses for a moment is asked for again: by its own word when it
// gives one.
func TestARefusalForNowIsTriedAgain(t *testing.T) {
	t.Parallel()
	e2btest.Need(t)
	for name, fault := range map[string]struct {
		route e2btest.Route
		do    http.HandlerFunc
	}{
		"429 at creation":                   {e2btest.Create, e2btest.Refuse(http.StatusTooManyRequests, "Retry-After", "1")},
		"429 without a wait":                {e2btest.Create, e2btest.Refuse(http.StatusTooManyRequests)},
		"429 with a wait that is no number": {e2btest.Create, e2btest.Refuse(http.StatusTooManyRequests, "Retry-After", "soon")},
		"503 at creation":                   {e2btest.Create, e2btest.Refuse(http.StatusServiceUnavailable)},
		"500 at the upload":                 {e2btest.Files, e2btest.Refuse(http.StatusInternalServerError)},
		"429 at the first input":            {e2btest.Input, e2btest.Refuse(http.StatusTooManyRequests)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e2btest.New(t)
			s.Break(fault.route, 2, fault.do)
			o := options(s)
			o.RetryAfter = 10 * time.Millisecond
			box, err := open(t, o).Open(t.Context(), sandbox.Spec{})
			if err != nil {
				t.Fatalf("open after two refusals: got %v, want a box", err)
			}
			goesOn(t, box)
		})
	}
}

// What E2B refuses for good, or too often, is an error that says so, and leaves
// no machine behind.
func TestWhatCannotBeOpenedIsNamed(t *testing.T) {
	t.Parallel()
	e2btest.Need(t)
	text := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(body))
		}
	}
	stream := func(b ...byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/connect+json")
			_, _ = w.Write(b)
		}
	}
	for name, fault := range map[string]struct {
		route e2btest.Route
		do    http.HandlerFunc
		kind  sandbox.Kind
		words string
	}{
		"over the limit":                   {e2btest.Create, e2btest.Refuse(http.StatusTooManyRequests), sandbox.Engine, "429"},
		"an error of the server's":         {e2btest.Create, e2btest.Refuse(http.StatusInternalServerError), sandbox.Engine, "500"},
		"a bad request":                    {e2btest.Create, e2btest.Refuse(http.StatusBadRequest), sandbox.Engine, "planned by the test"},
		"a page of a proxy's":              {e2btest.Create, text("text/html", "<html>"), sandbox.Engine, "instead of JSON"},
		"no JSON":                          {e2btest.Create, text("application/json", "{"), sandbox.Engine, "does not give"},
		"no id":                            {e2btest.Create, text("application/json", `{"templateID":"base"}`), sandbox.Engine, "can be none"},
		"an id that is a path":             {e2btest.Create, text("application/json", `{"sandboxID":"../../x"}`), sandbox.Engine, "can be none"},
		"a domain that is a path":          {e2btest.Create, text("application/json", `{"sandboxID":"a","domain":"evil/x?"}`), sandbox.Engine, "can be none"},
		"an answer without end":            {e2btest.Create, text("application/json", strings.Repeat(" ", 5<<20)), sandbox.Engine, "more than 4 MiB"},
		"a redirect":                       {e2btest.Create, e2btest.Refuse(http.StatusTemporaryRedirect, "Location", "http://127.0.0.1:1/"), sandbox.Engine, "307"},
		"a machine that is not there":      {e2btest.Files, e2btest.Refuse(http.StatusBadGateway), sandbox.Engine, "502"},
		"a full machine":                   {e2btest.Files, e2btest.Refuse(http.StatusInsufficientStorage), sandbox.Engine, "507"},
		"a token that is refused":          {e2btest.Files, e2btest.Refuse(http.StatusUnauthorized), sandbox.Engine, "401"},
		"no stream":                        {e2btest.Start, text("text/html", "<html>"), sandbox.Engine, "start the guest"},
		"a stream of another kind":         {e2btest.Start, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }, sandbox.Engine, "instead of a stream"},
		"an empty stream":                  {e2btest.Start, stream(), sandbox.Engine, "unexpected EOF"},
		"half an envelope":                 {e2btest.Start, stream(0, 0, 0, 1, 0, '{'), sandbox.Engine, "unexpected EOF"},
		"an envelope of 4 GiB":             {e2btest.Start, stream(0, 0xff, 0xff, 0xff, 0xff), sandbox.Engine, "4294967295 bytes"},
		"a compressed envelope":            {e2btest.Start, stream(1, 0, 0, 0, 0), sandbox.Engine, "flags 0x1"},
		"an envelope of unknown flags":     {e2btest.Start, stream(0x80, 0, 0, 0, 0), sandbox.Engine, "flags 0x80"},
		"an envelope that is no JSON":      {e2btest.Start, stream(0, 0, 0, 0, 2, 'h', 'i'), sandbox.Engine, `"hi"`},
		"a stream without a process":       {e2btest.Start, stream(0, 0, 0, 0, 2, '{', '}'), sandbox.Engine, "without a process"},
		"a machine without a shell":        {e2btest.Start, stream(ended(`{"error":{"code":"invalid_argument","message":"fork/exec /bin/sh: no such file"}}`)...), sandbox.Image, "must have /bin/sh"},
		"a process that takes no input":    {e2btest.Input, e2btest.Refuse(http.StatusNotFound), sandbox.Engine, "write to the sandbox"},
		"an answer that is no JSON's kind": {e2btest.Input, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }, sandbox.Engine, "instead of JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e2btest.New(t)
			s.Break(fault.route, 100, fault.do)
			o := options(s)
			o.RetryAfter = time.Millisecond
			p := open(t, o)
			_, err := p.Open(t.Context(), sandbox.Spec{})
			wantBox(t, "open", err, fault.kind, fault.words)
			if err := p.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
			if left := s.Machines(); len(left) > 0 {
				t.Errorf("machines left: %q", left)
			}
		})
	}
}

// ended is the end of a stream.
func ended(doc string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{2}, uint32(len(doc))), doc...)
}

func TestAKeyThatIsRefused(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t)
	o := options(s)
	o.Key = "e2b_wrong"
	p := open(t, o)
	_, err := p.Describe(t.Context(), sandbox.Spec{})
	if !errors.Is(err, sandbox.ErrKey) || strings.Contains(err.Error(), o.Key) {
		t.Errorf("describe with a key that is refused: got %v, want ErrKey and not the key", err)
	}
	_, err = p.Open(t.Context(), sandbox.Spec{})
	if !errors.Is(err, sandbox.ErrKey) {
		t.Errorf("open with a key that is refused: got %v, want ErrKey", err)
	}
	if _, err := e2b.Reap(t.Context(), o, false); !errors.Is(err, sandbox.ErrKey) {
		t.Errorf("reap with a key that is refused: got %v, want ErrKey", err)
	}
}

// TestWhatAServerRepeats: who says a key or a token back does not get it into an
// error.
func TestWhatAServerRepeats(t *testing.T) {
	t.Parallel()
	e2btest.Need(t)
	said := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; x="+strings.Repeat("y", 10))
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, "%s no good: %s%s", strings.Repeat("x", 280), r.Header.Get("X-Api-Key"), r.Header.Get("X-Access-Token"))
	}
	stream := func(flags byte, doc string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/connect+json")
			doc := strings.ReplaceAll(doc, "TOKEN", r.Header.Get("X-Access-Token"))
			_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{flags}, uint32(len(doc))), doc...))
		}
	}
	for name, fault := range map[string]struct {
		route e2btest.Route
		do    http.HandlerFunc
	}{
		"the key": {e2btest.Create, said}, "a token": {e2btest.Files, said}, "a token for a stream": {e2btest.Start, said},
		"a token in a stream":            {e2btest.Start, stream(0, "no TOKEN")},
		"a token in the end of a stream": {e2btest.Start, stream(2, `{"error":{"code":"TOKEN","message":"TOKEN"}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e2btest.New(t)
			s.Break(fault.route, 100, fault.do)
			_, err := open(t, options(s)).Open(t.Context(), sandbox.Spec{})
			if err == nil {
				t.Fatal("got a box, want an error")
			}
			if wantNoSecret(t, "open", err.Error()); strings.Contains(err.Error(), e2btest.Key[:8]) {
				t.Errorf("got half of the key in %q", err)
			}
		})
	}
}

func TestOptionsAreRefusedAllAtOnce(t *testing.T) {
	t.Parallel()
	_, err := e2b.New(e2b.Options{BaseURL: "http://e2b.example", SandboxURL: "ftp://x", Timeout: -1})
	if !errors.Is(err, sandbox.ErrKey) {
		t.Errorf("without a key: got %v, want ErrKey", err)
	}
	for _, want := range []string{"E2B_API_KEY", "E2B_TEMPLATE_ID", "E2B_API_BASE_URL", "E2B_SANDBOX_URL", "E2B_REQUEST_TIMEOUT"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s in it", err, want)
		}
	}
	for _, address := range []string{"https://user:pw@e2b.example", "https://e2b.example?x=1", "e2b.example", "http://10.0.0.1"} {
		if (e2b.Options{Key: "k", Template: "t", BaseURL: address}).Check() == nil {
			t.Errorf("the address %q: got no error", address)
		}
	}
	for _, address := range []string{"", "https://e2b.example/", "http://127.0.0.1:3000", "http://localhost:3000"} {
		if err := (e2b.Options{Key: "k", Template: "t", BaseURL: address}).Check(); err != nil {
			t.Errorf("the address %q: got %v", address, err)
		}
	}
}

// A box whose machine, stream or daemon fails ends with an error that says what
// did, for every call from then on; and its provider goes on.
func TestABoxThatIsLost(t *testing.T) {
	t.Parallel()
	e2btest.Need(t)
	event := func(doc string) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(doc))), doc...)
	}
	for name, fault := range map[string]struct {
		strike func(s *e2btest.Server, id string)
		kind   sandbox.Kind
		words  string
	}{
		"its machine vanishes":     {(*e2btest.Server).Vanish, sandbox.Lost, "E2B has ended its machine"},
		"its stream is cut":        {(*e2btest.Server).Cut, sandbox.Lost, "its machine still ran"},
		"its stream says nonsense": {func(s *e2btest.Server, id string) { s.Say(id, event("nonsense")) }, sandbox.Lost, "nonsense"},
		"its stream ends in error": {func(s *e2btest.Server, id string) {
			s.Say(id, ended(`{"error":{"code":"unavailable","message":"gone"}}`))
		}, sandbox.Lost, "unavailable"},
		"an oversized document": {func(s *e2btest.Server, id string) { s.Say(id, []byte{0, 0x7f, 0, 0, 0}) }, sandbox.Lost, "bytes in a stream"},
		"a guest's frame is forged": {func(s *e2btest.Server, id string) {
			s.Say(id, event(`{"event":{"data":{"stdout":"AAAAApkAAAABaGk="}}}`))
		}, sandbox.Tampered, "unknown kind"},
		"a guest's frame of 4 GiB": {func(s *e2btest.Server, id string) { s.Say(id, event(`{"event":{"data":{"stdout":"/////5kAAAAB"}}}`)) }, sandbox.Tampered, ""},
		"its process is said to end": {func(s *e2btest.Server, id string) {
			s.Say(id, event(`{"event":{"end":{"exitCode":137,"exited":true,"status":"signal: killed"}}}`))
		}, sandbox.Lost, "exit status 137"},
		"the machine's memory is used up": {func(s *e2btest.Server, id string) {
			s.Say(id, event(`{"event":{"data":{"stderr":"`+base64.StdEncoding.EncodeToString([]byte("sandbox-agent: "+guest.NoMemory+"\n"))+`"}}}`))
			s.Say(id, event(`{"event":{"end":{"exitCode":137,"exited":true,"status":"exit status 137"}}}`))
		}, sandbox.Limit, "memory"},
		"its input is refused": {func(s *e2btest.Server, _ string) {
			s.Break(e2btest.Input, 1000, e2btest.Refuse(http.StatusInternalServerError))
		}, sandbox.Lost, "500"},
		"E2B says nothing of it": {func(s *e2btest.Server, id string) {
			s.Break(e2btest.Look, 100, e2btest.Refuse(http.StatusInternalServerError))
			s.Cut(id)
		}, sandbox.Engine, "500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e2btest.New(t)
			p := open(t, options(s))
			box, err := p.Open(t.Context(), sandbox.Spec{})
			if err != nil {
				t.Fatal(err)
			}
			goesOn(t, box)
			fault.strike(s, box.ID())
			_, err = box.Exec(t.Context(), sandbox.Command{Argv: []string{"/bin/sh", "-c", "while :; do :; done"}})
			wantBox(t, "exec", err, fault.kind, fault.words)
			_, err = box.ReadFile(t.Context(), "x", 1)
			wantBox(t, "read afterwards", err, fault.kind, fault.words)
			if err := box.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
			if err := box.WriteFile(t.Context(), "x", nil); !errors.Is(err, sandbox.ErrClosed) {
				t.Errorf("write after close: got %v, want ErrClosed", err)
			}
		})
	}
}

// What a later version of the daemon may say is passed by.
func TestUnknownEventsArePassedBy(t *testing.T) {
	t.Parallel()
	s, box := begin(t, nil)
	for _, doc := range []string{`{"event":{}}`, `{"event":{"news":{"x":1}},"more":[]}`, `{"event":{"keepalive":{}}}`, `{"event":{"data":{"pty":"eA=="}}}`, `{"event":{"data":{"stderr":"eA=="}}}`} {
		s.Say(box.ID(), append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(doc))), doc...))
	}
	goesOn(t, box)
}

// A server that sends its answers a byte at a time, or not at all, costs the
// time that was agreed on.
func TestAnswersThatDoNotCome(t *testing.T) {
	t.Parallel()
	e2btest.Need(t)
	slow := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte(" "))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	}
	for name, fault := range map[string]struct {
		route e2btest.Route
		do    http.HandlerFunc
	}{
		"no answer to a creation": {e2btest.Create, e2btest.Hang}, "a creation byte by byte": {e2btest.Create, slow}, "no stream": {e2btest.Start, e2btest.Hang},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e2btest.New(t)
			s.Break(fault.route, 100, fault.do)
			o := options(s)
			o.Timeout = 300 * time.Millisecond
			_, err := open(t, o).Open(t.Context(), sandbox.Spec{})
			wantBox(t, "open", err, sandbox.Engine, "E2B_REQUEST_TIMEOUT")
		})
	}
	s := e2btest.New(t)
	s.Break(e2btest.Create, 100, e2btest.Refuse(http.StatusTooManyRequests, "Retry-After", "3600"))
	_, err := open(t, options(s)).Open(t.Context(), sandbox.Spec{})
	wantBox(t, "open where the wait would be an hour", err, sandbox.Engine, "429")
	s = e2btest.New(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s.Break(e2btest.Create, 1, func(w http.ResponseWriter, r *http.Request) {
		stop()
		e2btest.Hang(w, r)
	})
	if _, err := open(t, options(s)).Open(ctx, sandbox.Spec{}); !errors.Is(err, context.Canceled) {
		t.Errorf("open while its context ends: got %v, want context.Canceled", err)
	}
}

// A machine that was made although the answer was lost is found by the label of
// its opening, and removed.
func TestAMachineWhoseCreationWasLost(t *testing.T) {
	t.Parallel()
	e2btest.Need(t)
	s := e2btest.New(t)
	s.Break(e2btest.Create, 1, func(_ http.ResponseWriter, r *http.Request) {
		s.Begin(discard{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	})
	p := open(t, options(s))
	_, err := p.Open(t.Context(), sandbox.Spec{})
	wantBox(t, "open", err, sandbox.Engine)
	if n := len(s.Asked()); n != 1 {
		t.Errorf("machines asked for: got %d, want 1: nobody knows what became of it", n)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left := s.Machines(); len(left) > 0 {
		t.Errorf("machines left: %q", left)
	}
}

// A machine may be made long after its creation was given up, and a list may fail
// meanwhile.
func TestAMachineThatComesLate(t *testing.T) {
	t.Parallel()
	e2btest.Need(t)
	s := e2btest.New(t)
	made := make(chan struct{})
	s.Break(e2btest.Create, 1, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		later := r.Clone(context.WithoutCancel(r.Context()))
		later.Body = io.NopCloser(bytes.NewReader(body))
		go func() {
			defer close(made)
			for s.Requests(e2btest.List) == 0 {
				time.Sleep(time.Millisecond)
			}
			s.Begin(discard{http.Header{}}, later)
		}()
		panic(http.ErrAbortHandler)
	})
	s.Break(e2btest.List, 1, func(w http.ResponseWriter, r *http.Request) {
		<-made
		e2btest.Refuse(http.StatusBadRequest)(w, r)
	})
	p := open(t, options(s))
	_, err := p.Open(t.Context(), sandbox.Spec{})
	wantBox(t, "open", err, sandbox.Engine)
	<-made
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if left := s.Machines(); len(left) > 0 {
		t.Errorf("machines left: %q", left)
	}
}

type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// What is asked of E2B, and what goes along.
func TestWhatAMachineIsAskedFor(t *testing.T) {
	t.Parallel()
	e2btest.Need(t)
	s := e2btest.New(t)
	box, err := open(t, options(s)).Open(t.Context(), sandbox.Spec{
		Labels: sandbox.Labels{RunID: "run", TrialID: "tri\nal", Agent: strings.Repeat("ä", 300), Case: "case"}, Env: map[string]string{"SECRET": "planted"},
	})
	if err != nil {
		t.Fatal(err)
	}
	asked := s.Asked()
	if len(asked) != 1 {
		t.Fatalf("got %d requests", len(asked))
	}
	for _, want := range []string{`"secure":true`, `"allow_internet_access":false`, `"autoPause":false`, `"timeout":600`, `"templateID":"base"`} {
		if !bytes.Contains(asked[0], []byte(want)) {
			t.Errorf("got %s, want %s in it", asked[0], want)
		}
	}
	if bytes.Contains(asked[0], []byte("planted")) {
		t.Errorf("got %s: a box's environment is the guest's business", asked[0])
	}
	labels := s.Metadata(box.ID())
	for k, want := range map[string]string{"owner": "owner", "host": "host", "run": "run", "trial": "trial", "case": "case", "kind": "sandbox"} {
		if got := labels["dev.agentclash."+k]; got != want {
			t.Errorf("label %s: got %q, want %q", k, got, want)
		}
	}
	if n := len(labels["dev.agentclash.agent"]); n != 256 || labels["dev.agentclash.expires"] == "" {
		t.Errorf("labels: got %q", labels)
	}
}

// A lease is renewed while its owner lives, and a machine that E2B no longer
// has is noticed without being asked for anything.
func TestLease(t *testing.T) {
	t.Parallel()
	s, box := begin(t, func(o *e2b.Options) { o.Lease = 3 * time.Second })
	await(t, "the lease is renewed", func() bool { return s.Requests(e2btest.Keep) >= 3 })
	goesOn(t, box)
	s.Break(e2btest.Keep, 1000, e2btest.Refuse(http.StatusNotFound))
	await(t, "the box is lost", func() bool {
		_, err := box.List(t.Context(), "", false, 1)
		var lost *sandbox.BoxError
		return errors.As(err, &lost) && lost.Kind == sandbox.Lost
	})
}

// A machine whose owner says nothing any more ends with its lease.
func TestAMachineWhoseOwnerIsGone(t *testing.T) {
	t.Parallel()
	e2btest.Need(t)
	s := e2btest.New(t)
	s.Break(e2btest.Keep, 1000, e2btest.Hang)
	o := options(s)
	o.Lease = 3 * time.Second
	box, err := open(t, o).Open(t.Context(), sandbox.Spec{Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the lease is over", func() bool { return len(s.Machines()) == 0 })
	_, err = box.List(t.Context(), "", false, 1)
	wantBox(t, "list", err, sandbox.Lost)
	if n := s.Requests(e2btest.Remove); n > 1 {
		t.Errorf("removals asked for: %d; the machine was to end by itself", n)
	}
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waiting until %s: it never was", what)
		}
	}
}

func TestReap(t *testing.T) {
	t.Parallel()
	e2btest.Need(t)
	s := e2btest.New(t)
	made := func(change func(*e2b.Options), lifetime time.Duration) string {
		o := options(s)
		change(&o)
		box, err := open(t, o).Open(t.Context(), sandbox.Spec{Lifetime: lifetime})
		if err != nil {
			t.Fatal(err)
		}
		return box.ID()
	}
	long := time.Now().Add(-time.Hour)
	mine := made(func(*e2b.Options) {}, time.Hour)
	living := made(func(o *e2b.Options) { o.Owner = "living" }, time.Hour)
	dead := made(func(o *e2b.Options) { o.Owner = "dead" }, time.Hour)
	away := made(func(o *e2b.Options) { o.Owner, o.HostID = "dead", "another" }, time.Hour)
	over := made(func(o *e2b.Options) { o.HostID = "another"; o.Now = func() time.Time { return long } }, time.Minute)
	o := options(s)
	o.Template, o.Alive = "", func(owner string) bool { return owner == "living" }
	n, err := e2b.Reap(t.Context(), o, false)
	if err != nil || n != 2 {
		t.Errorf("reap: got %d, %v, want 2", n, err)
	}
	there := fmt.Sprint(s.Machines())
	for id, want := range map[string]bool{mine: true, living: true, away: true, dead: false, over: false} {
		if strings.Contains(there, id) != want {
			t.Errorf("after reap: %s is there: %v, want %v (mine %s, living %s, away %s, dead %s, over %s)", id, !want, want, mine, living, away, dead, over)
		}
	}
}

// A removal that fails is tried again by Close, which says what it could not do.
func TestARemovalThatFails(t *testing.T) {
	t.Parallel()
	s, box := begin(t, nil)
	var refuse atomic.Bool
	refuse.Store(true)
	s.Break(e2btest.Remove, 1000, func(w http.ResponseWriter, r *http.Request) {
		if refuse.Load() {
			e2btest.Refuse(http.StatusInternalServerError)(w, r)
			return
		}
		s.Begin(w, r)
	})
	if err := box.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	await(t, "the removal was tried", func() bool { return s.Requests(e2btest.Remove) >= 4 })
	refuse.Store(false) // and the provider's Close, after the test, has no error
}

// A guest that the wiring cannot give is an error before a machine is made.
func TestNoGuest(t *testing.T) {
	t.Parallel()
	s := e2btest.New(t)
	o := options(s)
	o.Guest = func(string) ([]byte, error) { return nil, os.ErrNotExist }
	p, err := e2b.New(o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Open(t.Context(), sandbox.Spec{})
	wantBox(t, "open", err, sandbox.Engine, "guest")
	if n := s.Requests(e2btest.Create); n != 0 {
		t.Errorf("machines asked for: %d", n)
	}
}

// What the machine cannot give is refused with the reason.
func TestABoxThatDoesNotFit(t *testing.T) {
	t.Parallel()
	e2btest.Need(t)
	s := e2btest.New(t)
	p := open(t, options(s))
	_, err := p.Open(t.Context(), sandbox.Spec{Limits: sandbox.Limits{WorkspaceBytes: 1 << 50}})
	wantBox(t, "a workspace of a PiB", err, sandbox.Image, "does not fit into the machine's")
	for _, spec := range []sandbox.Spec{{Limits: sandbox.Limits{PIDs: 3}}, {Env: map[string]string{"a=b": "c"}}, {Limits: sandbox.Limits{WorkspaceBytes: -1}}} {
		before := s.Requests(e2btest.Create)
		if _, err := p.Open(t.Context(), spec); !errors.Is(err, sandbox.ErrSpec) || s.Requests(e2btest.Create) != before {
			t.Errorf("open %+v: got %v, want a refusal before anything is made", spec, err)
		}
	}
}
