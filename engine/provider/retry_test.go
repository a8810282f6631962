package provider_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/provider"
)

// answers is a client that gives each call the next outcome, and the last to
// all after it.
type answers struct {
	outcomes []error // nil: a reply
	refs     []provider.Ref
	onCall   func(ctx context.Context)
}

func (a *answers) Complete(ctx context.Context, req provider.Request, onDelta func(provider.Delta)) (provider.Response, error) {
	a.refs = append(a.refs, req.Ref)
	if a.onCall != nil {
		a.onCall(ctx)
	}
	err := a.outcomes[min(len(a.refs), len(a.outcomes))-1]
	if err != nil {
		return provider.Response{}, err
	}
	if onDelta != nil {
		onDelta(provider.Delta{Text: "fine"})
	}
	return provider.Response{Text: "fine"}, nil
}

func failing(code provider.Code) *provider.Error {
	return &provider.Error{Provider: "p", Code: code, Message: "as asked"}
}

func after(d time.Duration) *provider.Error {
	e := failing(provider.RateLimit)
	e.RetryAfter = d
	return e
}

// noSleep is a Retry whose waits take no time.
func noSleep() provider.Retry {
	return provider.Retry{Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
}

func TestRetryUntilItWorks(t *testing.T) {
	t.Parallel()
	c := &answers{outcomes: []error{failing(provider.RateLimit), failing(provider.Unavailable), nil}}
	ref := provider.Ref{Agent: "a", Case: "c", Repetition: 1, Attempt: 1, Call: 5}
	var failed []provider.FailedTry
	var heard []provider.Delta
	res, err := noSleep().Do(t.Context(), c, provider.Request{Ref: ref}, provider.Observer{
		Delta:  func(d provider.Delta) { heard = append(heard, d) },
		Failed: func(f provider.FailedTry) { failed = append(failed, f) },
	})
	if err != nil || res.Text != "fine" {
		t.Fatalf("got %q, %v", res.Text, err)
	}
	var calls []int
	for _, r := range c.refs {
		calls = append(calls, r.Call)
	}
	if diff := cmp.Diff([]int{5, 6, 7}, calls); diff != "" {
		t.Errorf("call numbers (-want +got):\n%s", diff)
	}
	if len(failed) != 2 || !failed[0].Retrying || failed[0].Try != 1 || failed[1].Try != 2 || failed[1].Ref.Call != 6 {
		t.Errorf("got failures %+v", failed)
	}
	if failed[0].Err.Code != provider.RateLimit || failed[0].Wait < 1600*time.Millisecond {
		t.Errorf("first failure: got %+v", failed[0])
	}
	if diff := cmp.Diff([]provider.Delta{{Text: "fine"}}, heard); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
}

func TestRetryOnlyWhatMayPass(t *testing.T) {
	t.Parallel()
	for _, code := range provider.Codes() {
		c := &answers{outcomes: []error{fmt.Errorf("wrapped: %w", failing(code))}}
		var last provider.FailedTry
		_, err := noSleep().Do(t.Context(), c, provider.Request{}, provider.Observer{
			Failed: func(f provider.FailedTry) { last = f }})
		want := 1
		if code == provider.RateLimit || code == provider.Timeout || code == provider.Unavailable {
			want = 3
		}
		if len(c.refs) != want {
			t.Errorf("%s: got %d tries, want %d", code, len(c.refs), want)
		}
		if provider.CodeOf(err) != code {
			t.Errorf("%s: got %v, want the failure itself", code, err)
		}
		if last.Retrying || last.Wait != 0 || last.Try != want {
			t.Errorf("%s: got %+v as the last failure", code, last)
		}
	}
}

func TestRetryForeignError(t *testing.T) {
	t.Parallel()
	broken := errors.New("not in the taxonomy")
	c := &answers{outcomes: []error{broken}}
	_, err := noSleep().Do(t.Context(), c, provider.Request{}, provider.Observer{})
	if len(c.refs) != 1 || !errors.Is(err, broken) {
		t.Errorf("got %d tries and %v, want one and the error", len(c.refs), err)
	}
}

// The waits of the published table, each within its spread.
func TestWaits(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	for _, test := range []struct {
		name     string
		policy   provider.Policy
		failures []error
		from, to []time.Duration
	}{
		{"backoff doubles", provider.Policy{MaxTries: 4}, []error{failing(provider.Unavailable)},
			[]time.Duration{200 * ms, 400 * ms, 800 * ms}, []time.Duration{300 * ms, 600 * ms, 1200 * ms}},
		{"a rate limit waits 2 s at least", provider.Policy{}, []error{failing(provider.RateLimit)},
			[]time.Duration{1600 * ms, 1600 * ms}, []time.Duration{2400 * ms, 2400 * ms}},
		{"backoff above that counts", provider.Policy{Backoff: 4 * time.Second}, []error{failing(provider.RateLimit)},
			[]time.Duration{3200 * ms, 6400 * ms}, []time.Duration{4800 * ms, 9600 * ms}},
		{"retry-after and a second, never less", provider.Policy{}, []error{after(20 * time.Second)},
			[]time.Duration{21 * time.Second, 21 * time.Second}, []time.Duration{25200 * ms, 25200 * ms}},
		{"backoff has a ceiling", provider.Policy{MaxTries: 6, Backoff: time.Second, MaxBackoff: 3 * time.Second}, []error{failing(provider.Timeout)},
			[]time.Duration{800 * ms, 1600 * ms, 2400 * ms, 2400 * ms, 2400 * ms}, []time.Duration{1200 * ms, 2400 * ms, 3600 * ms, 3600 * ms, 3600 * ms}},
	} {
		for seed := range int64(20) {
			waits := waitsOf(t, provider.Retry{Policy: test.policy, Seed: seed}, test.failures)
			if len(waits) != len(test.from) {
				t.Errorf("%s: got %d waits, want %d", test.name, len(waits), len(test.from))
				continue
			}
			for i, w := range waits {
				if w < test.from[i] || w >= test.to[i] {
					t.Errorf("%s: wait %d is %v, want within [%v, %v)", test.name, i+1, w, test.from[i], test.to[i])
				}
			}
		}
	}
}

func waitsOf(t *testing.T, r provider.Retry, failures []error) []time.Duration {
	t.Helper()
	var waits []time.Duration
	r.Sleep = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
	req := provider.Request{Ref: provider.Ref{Agent: "a", Case: "c", Repetition: 1, Attempt: 1}}
	if _, err := r.Do(t.Context(), &answers{outcomes: failures}, req, provider.Observer{}); err == nil {
		t.Fatal("the call did not fail")
	}
	return waits
}

func TestWaitsAreTheSeeds(t *testing.T) {
	t.Parallel()
	failures := []error{failing(provider.Unavailable)}
	one := waitsOf(t, provider.Retry{Seed: 7}, failures)
	if diff := cmp.Diff(one, waitsOf(t, provider.Retry{Seed: 7}, failures)); diff != "" {
		t.Errorf("the same seed waits otherwise (-first +second):\n%s", diff)
	}
	if slices.Equal(one, waitsOf(t, provider.Retry{Seed: 8}, failures)) {
		t.Errorf("another seed waits the same: %v", one)
	}
	if one[0]*2 == one[1] {
		t.Errorf("both tries drew the same chance: %v", one)
	}
}

// A scripted failure waits just as long as it says, so that a demo does not
// dawdle and a replay is the same each time.
func TestRecordedWaits(t *testing.T) {
	t.Parallel()
	says := after(50 * time.Millisecond)
	says.FromRecording = true
	silent := failing(provider.RateLimit)
	silent.FromRecording = true
	if diff := cmp.Diff([]time.Duration{50 * time.Millisecond}, waitsOf(t, provider.Retry{}, []error{says, silent})); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

func TestMaxWait(t *testing.T) {
	t.Parallel()
	// 21 s and 21 s at least: the second would pass the budget.
	r := provider.Retry{Policy: provider.Policy{MaxTries: 10, MaxWait: 40 * time.Second}}
	if waits := waitsOf(t, r, []error{after(20 * time.Second)}); len(waits) != 1 {
		t.Errorf("got waits %v, want one within 40s", waits)
	}
	if waits := waitsOf(t, provider.Retry{}, []error{after(time.Hour)}); len(waits) != 0 {
		t.Errorf("got waits %v, want to fail at once", waits)
	}
}

// TestWhyNothingWasWaitedFor: a wait that --max-wait does not allow is explained.
func TestWhyNothingWasWaitedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		policy   provider.Policy
		verbatim bool
		failures []error
		want     string
	}{
		{"longer than the default", provider.Policy{}, false, []error{after(10 * time.Minute)},
			"p: rate_limit: as asked; it asks to be left alone for 10m0s, and --max-wait lets a call wait 5m0s in all"},
		{"no wait at all", provider.Policy{MaxWait: -1}, false, []error{failing(provider.Unavailable)},
			"p: unavailable: as asked; another try has to wait, and --max-wait lets a call wait 0s in all"},
		{"no words of the provider's", provider.Policy{MaxWait: time.Second}, false, []error{&provider.Error{Provider: "p", Code: provider.RateLimit, Status: 429, RetryAfter: time.Hour}},
			"p: rate_limit (HTTP 429): it asks to be left alone for 1h0m0s, and --max-wait lets a call wait 1s in all"},
		{"the last of its tries", provider.Policy{MaxTries: 1}, false, []error{after(10 * time.Minute)}, "p: rate_limit: as asked"},
		{"what no wait helps", provider.Policy{MaxWait: -1}, false, []error{failing(provider.Auth)}, "p: auth: as asked"},
		{"a recording", provider.Policy{}, true, []error{after(10 * time.Minute)}, "p: rate_limit: as asked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := noSleep()
			r.Policy, r.Verbatim = c.policy, c.verbatim
			var told provider.FailedTry
			_, err := r.Do(t.Context(), &answers{outcomes: c.failures}, provider.Request{}, provider.Observer{Failed: func(f provider.FailedTry) { told = f }})
			if err == nil || err.Error() != c.want || told.Err.Error() != c.want {
				t.Errorf("got %v, and the observer %v, want %s", err, told.Err, c.want)
			}
			if !errors.Is(err, c.failures[0]) {
				t.Errorf("%v is not the provider's own failure any more", err)
			}
		})
	}
}

// Waiting beyond the caller's deadline would make a timeout of the caller's out
// of a failure of the provider's.
func TestNoWaitPastTheDeadline(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	var last provider.FailedTry
	start := time.Now()
	_, err := provider.Retry{}.Do(ctx, &answers{outcomes: []error{after(time.Minute)}}, provider.Request{},
		provider.Observer{Failed: func(f provider.FailedTry) { last = f }})
	if provider.CodeOf(err) != provider.RateLimit || last.Retrying {
		t.Errorf("got %v (%+v), want the rate limit, not retried", err, last)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

var errUserStopped = errors.New("stopped by the user")

func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	c := &answers{outcomes: []error{after(time.Minute)}}
	start := time.Now()
	_, err := provider.Retry{}.Do(ctx, c, provider.Request{}, provider.Observer{
		Failed: func(provider.FailedTry) { time.AfterFunc(5*time.Millisecond, func() { cancel(errUserStopped) }) }})
	if provider.CodeOf(err) != provider.Cancelled || !errors.Is(err, errUserStopped) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want cancelled with its cause", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if len(c.refs) != 1 {
		t.Errorf("got %d tries, want 1", len(c.refs))
	}
}

func TestCancelledDuringATry(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	c := &answers{outcomes: []error{failing(provider.Unavailable)}, onCall: func(context.Context) { cancel(errUserStopped) }}
	_, err := noSleep().Do(ctx, c, provider.Request{}, provider.Observer{})
	if provider.CodeOf(err) != provider.Cancelled || !errors.Is(err, errUserStopped) {
		t.Errorf("got %v, want cancelled with its cause", err)
	}
	if len(c.refs) != 1 {
		t.Errorf("got %d tries, want 1", len(c.refs))
	}
}

func TestTryTimeout(t *testing.T) {
	t.Parallel()
	r := noSleep()
	r.Policy = provider.Policy{TryTimeout: 5 * time.Millisecond}
	tries := 0
	_, err := r.Do(t.Context(), clientFunc(func(ctx context.Context) error {
		tries++
		<-ctx.Done()
		return provider.FromContext(ctx, "p")
	}), provider.Request{}, provider.Observer{})
	if provider.CodeOf(err) != provider.Timeout || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a timeout", err)
	}
	if tries != 3 {
		t.Errorf("got %d tries, want each to have its own time", tries)
	}
}

type clientFunc func(ctx context.Context) error

func (f clientFunc) Complete(ctx context.Context, _ provider.Request, _ func(provider.Delta)) (provider.Response, error) {
	return provider.Response{}, f(ctx)
}

// A client that panics gives back what others wait for: its place in the pace,
// and what was set aside for it.
func TestPanicGivesEverythingBack(t *testing.T) {
	t.Parallel()
	p := provider.NewPace("p", 1, nil)
	settled := 0
	begin := func(context.Context, provider.Try, *provider.Request) (func(provider.Response, *provider.Error), error) {
		return func(_ provider.Response, failure *provider.Error) {
			if settled++; failure == nil {
				t.Error("a panic was settled as a reply")
			}
		}, nil
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = provider.Retry{Pace: p}.Do(t.Context(), clientFunc(func(context.Context) error { panic("a bug") }), provider.Request{}, provider.Observer{Begin: begin})
		t.Error("the panic was swallowed")
	}()
	if _, err := call(t.Context(), p, provider.Policy{MaxWait: -1}, fine); err != nil || settled != 1 {
		t.Errorf("settled %d times, then %v", settled, err)
	}
}

// Begin is told of each try, may lower its output bound, and its error ends the
// call without a failure.
func TestBeginDecides(t *testing.T) {
	t.Parallel()
	c := &answers{outcomes: []error{failing(provider.Unavailable)}}
	var tries []int
	failed := 0
	_, err := noSleep().Do(t.Context(), c, provider.Request{}, provider.Observer{
		Begin: func(_ context.Context, try provider.Try, _ *provider.Request) (func(provider.Response, *provider.Error), error) {
			if tries = append(tries, try.Number); try.Number == 2 {
				return nil, errUserStopped
			}
			return nil, nil
		},
		Failed: func(provider.FailedTry) { failed++ },
	})
	if !errors.Is(err, errUserStopped) || provider.CodeOf(err) != "" || failed != 1 || len(c.refs) != 1 || !slices.Equal(tries, []int{1, 2}) {
		t.Errorf("got %v after tries %v, %d calls and %d failures", err, tries, len(c.refs), failed)
	}
}
