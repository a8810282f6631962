package provider_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
)

// call makes one call at a pace, and says what came of it.
func call(ctx context.Context, p *provider.Pace, policy provider.Policy, f func(context.Context) error) (provider.FailedTry, error) {
	var last provider.FailedTry
	_, err := provider.Retry{Pace: p, Policy: policy}.Do(ctx, clientFunc(f), provider.Request{},
		provider.Observer{Failed: func(t provider.FailedTry) { last = t }})
	return last, err
}

var once = provider.Policy{MaxTries: 1}

func fine(context.Context) error { return nil }

// The window grows by one after as many successes as it is wide.
func TestPaceGrowsSlowly(t *testing.T) {
	t.Parallel()
	p := provider.NewPace("p", 10, nil)
	want := provider.FirstWindow
	for range 3 {
		if p.Window() != want {
			t.Fatalf("the window is %d, want %d", p.Window(), want)
		}
		for range want {
			if _, err := call(t.Context(), p, once, fine); err != nil {
				t.Fatal(err)
			}
		}
		want = min(want+1, 10)
	}
	if p.Window() != 10 {
		t.Errorf("the window is %d, and 10 is the most", p.Window())
	}
}

// Calls that were under way together halve the window once, however many of
// them are refused; those begun afterwards halve it again.
func TestPaceHalvesOncePerMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := provider.NewPace("p", 0, nil)
		refuse := func(ctx context.Context) error {
			time.Sleep(time.Second) // all are under way by then
			return failing(provider.RateLimit)
		}
		for _, want := range []int{4, 2, 1, 1} {
			var all sync.WaitGroup
			for range p.Window() {
				all.Go(func() { _, _ = call(t.Context(), p, once, refuse) })
			}
			all.Wait()
			if p.Window() != want {
				t.Fatalf("the window is %d, want %d", p.Window(), want)
			}
		}
		for _, code := range []provider.Code{provider.Unavailable, provider.Timeout, provider.InvalidRequest} {
			_, _ = call(t.Context(), p, once, func(context.Context) error { return failing(code) })
		}
		_, _ = call(t.Context(), p, once, fine)
		if p.Window() != 2 {
			t.Errorf("the window is %d: only rate limits narrow it", p.Window())
		}
	})
}

// No more are let in than the window holds, and those who wait come in the order
// of coming.
func TestPaceIsFairAndBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := provider.NewPace("p", 2, nil)
		var mu sync.Mutex
		var order []int
		under, most := 0, 0
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				_, err := call(t.Context(), p, once, func(context.Context) error {
					mu.Lock()
					order = append(order, i)
					under++
					most = max(most, under)
					mu.Unlock()
					time.Sleep(time.Second + time.Duration(i)*time.Millisecond) // no two end at once: who comes next is then one
					mu.Lock()
					under--
					mu.Unlock()
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // so that they come one after the other
		}
		all.Wait()
		if most != 2 || !slices.IsSorted(order) {
			t.Errorf("%d at once, in the order %v", most, order)
		}
	})
}

// What a provider asks for holds back all calls of the key, and no longer.
func TestPaceIsHeldBackByRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := provider.NewPace("p", 0, nil)
		_, _ = call(t.Context(), p, once, func(context.Context) error { return after(20 * time.Second) })
		began := time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				_, err := call(t.Context(), p, once, func(context.Context) error {
					if held := time.Since(began); held < 20*time.Second {
						t.Errorf("let in after %v", held)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if whole := time.Since(began); whole > 21*time.Second {
			t.Errorf("held back for %v", whole)
		}
	})
}

// What would wait for longer than a call may is refused at once, with what the
// provider said; what waits for room is refused when its time is up.
func TestPaceKeepsToMaxWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := provider.NewPace("p", 1, nil)
		_, _ = call(t.Context(), p, once, func(context.Context) error { return after(time.Hour) })
		began := time.Now()
		failed, err := call(t.Context(), p, provider.Policy{MaxWait: time.Minute}, fine)
		if provider.CodeOf(err) != provider.RateLimit || time.Since(began) != 0 || failed.Retrying || !failed.Err.Unsent || failed.Err.RetryAfter != time.Hour {
			t.Errorf("after %v: %v, %+v", time.Since(began), err, failed)
		}
		p = provider.NewPace("p", 1, nil)
		leave := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() { _, _ = call(t.Context(), p, once, func(context.Context) error { <-leave; return nil }) })
		synctest.Wait()
		began = time.Now()
		failed, err = call(t.Context(), p, provider.Policy{MaxWait: time.Minute}, fine)
		if provider.CodeOf(err) != provider.RateLimit || time.Since(began) != time.Minute || failed.Paced != time.Minute {
			t.Errorf("after %v: %v, %+v", time.Since(began), err, failed)
		}
		if _, err = call(t.Context(), p, provider.Policy{MaxWait: -1}, fine); provider.CodeOf(err) != provider.RateLimit || time.Since(began) != time.Minute {
			t.Errorf("without any waiting: after %v: %v", time.Since(began), err)
		}
		close(leave)
		all.Wait()
	})
}

// Who gives up leaves the queue to the others.
func TestPaceCanBeLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := provider.NewPace("p", 1, nil)
		leave := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() { _, _ = call(t.Context(), p, once, func(context.Context) error { <-leave; return nil }) })
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		var gone error
		all.Go(func() { _, gone = call(ctx, p, once, fine) })
		synctest.Wait()
		let := false
		all.Go(func() { _, _ = call(t.Context(), p, once, func(context.Context) error { let = true; return nil }) })
		synctest.Wait()
		cancel(errUserStopped)
		synctest.Wait()
		if provider.CodeOf(gone) != provider.Cancelled || !errors.Is(gone, errUserStopped) || let {
			t.Errorf("got %v, and the next was let in: %v", gone, let)
		}
		close(leave)
		all.Wait()
		if !let {
			t.Error("the next was never let in")
		}
	})
}

// The time of a try begins when it is let in.
func TestPaceIsNotTheStepsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := provider.NewPace("p", 1, nil)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				_, err := call(t.Context(), p, provider.Policy{MaxTries: 1, TryTimeout: 10 * time.Second}, func(ctx context.Context) error {
					select {
					case <-time.After(9 * time.Second):
						return nil
					case <-ctx.Done():
						return provider.FromContext(ctx, "p")
					}
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

// A client that speaks from a script is never held back.
type recorded struct{ clientFunc }

func (recorded) Prerecorded() {}

func TestPaceLeavesRecordingsAlone(t *testing.T) {
	t.Parallel()
	p := provider.NewPace("p", 1, nil)
	_, _ = call(t.Context(), p, once, func(context.Context) error { return after(time.Hour) })
	if _, err := (provider.Retry{Pace: p}).Do(t.Context(), recorded{fine}, provider.Request{}, provider.Observer{}); err != nil {
		t.Error(err)
	}
}

// Whatever calls end with, every one of them ends, no window is passed, and the
// pace goes on working.
func TestPaceProperty(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				draw := rand.New(rand.NewPCG(seed, 1))
				most := 1 + draw.IntN(12)
				p := provider.NewPace("p", most, nil)
				var mu sync.Mutex
				under, ended := 0, 0
				chance := func(n int) int {
					mu.Lock()
					defer mu.Unlock()
					return draw.IntN(n)
				}
				var all sync.WaitGroup
				for range 200 {
					all.Go(func() {
						time.Sleep(time.Duration(chance(60)) * time.Second)
						ctx, stop := context.WithTimeout(t.Context(), time.Duration(1+chance(600))*time.Second)
						defer stop()
						_, _ = call(ctx, p, provider.Policy{}, func(ctx context.Context) error {
							mu.Lock()
							under++
							if under > most {
								t.Errorf("%d are under way, and %d is the most", under, most)
							}
							mu.Unlock()
							time.Sleep(time.Duration(chance(20)) * time.Second)
							mu.Lock()
							under--
							mu.Unlock()
							switch chance(5) {
							case 0:
								return after(time.Duration(chance(40)) * time.Second)
							case 1:
								return failing(provider.Unavailable)
							}
							return nil
						})
						mu.Lock()
						ended++
						mu.Unlock()
					})
				}
				all.Wait()
				time.Sleep(time.Hour)
				if _, err := call(t.Context(), p, once, fine); ended != 200 || under != 0 || err != nil {
					t.Errorf("%d ended, %d are under way, the next call: %v", ended, under, err)
				}
			})
		})
	}
}

// Calls with one account have as many places as it says, for all models together,
// also those of who asks without knowing the bound. They come in the order of
// coming, but for those whose own model is held back.
func TestAccountsAreSharedByModels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var paces provider.Paces
		key := provider.PaceKey{Provider: "p", BaseURL: "u", Account: "a"}
		pace := func(model string, most int) *provider.Pace {
			key.Model = model
			return paces.Of(key, most)
		}
		simulator, held, free := pace("simulator", 0), pace("held", 1), pace("free", 3)
		var order []string
		underWay := 0
		works := func(name string) func(context.Context) error {
			return func(context.Context) error {
				if underWay++; underWay > 1 { // one at a time, so that no lock is needed
					t.Errorf("%s: %d calls at once", name, underWay)
				}
				time.Sleep(time.Second)
				underWay--
				order = append(order, name)
				return nil
			}
		}
		limited := func(context.Context) error {
			e := failing(provider.RateLimit)
			e.RetryAfter = 10 * time.Second
			return e
		}
		if _, err := call(t.Context(), held, once, limited); err == nil {
			t.Fatal("want a rate limit")
		}
		gone, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i, p := range []*provider.Pace{simulator, held, free, simulator, free, held} {
			ctx := t.Context()
			if i == 3 {
				ctx = gone
			}
			all.Go(func() { _, _ = call(ctx, p, once, works(fmt.Sprint(i))) })
			synctest.Wait()
		}
		leave()
		all.Wait()
		if got := fmt.Sprint(order); got != "[0 2 4 1 5]" {
			t.Errorf("the calls came in the order %s", got)
		}
		key.Account = "b"
		if _, err := call(t.Context(), pace("held", 0), once, fine); err != nil {
			t.Errorf("another account is held back: %v", err)
		}
	})
}

// What changes is told once in a while, and at the end what was not told by then.
func TestPaceTellsWhatChanges(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var told []string
	paces := &provider.Paces{Now: func() time.Time { return now }, Changed: func(s provider.Standing) {
		told = append(told, fmt.Sprint(s.Key.Model, " ", s.Window, " ", !s.HeldUntil.IsZero()))
	}}
	p := paces.Of(provider.PaceKey{Provider: "p", Model: "m"}, 0)
	paces.Of(provider.PaceKey{Provider: "p", Model: "quiet"}, 0)
	want := func(list ...string) {
		t.Helper()
		if !slices.Equal(told, list) {
			t.Errorf("told %q, want %q", told, list)
		}
		told = nil
	}
	calls := func(n int, f func(context.Context) error) {
		for range n {
			_, _ = call(t.Context(), p, once, f)
		}
	}
	limited := func(context.Context) error { return failing(provider.RateLimit) }
	calls(provider.FirstWindow-1, fine)
	want()
	calls(1, fine)
	want("m 9 false")
	calls(9, fine)
	calls(2, limited) // to 5, then to 2
	want()
	now = now.Add(provider.TellEvery)
	calls(1, fine)
	want("m 2 false")
	calls(1, fine)
	want()
	paces.TellLast()
	want("m 3 false")
	paces.TellLast()
	now = now.Add(time.Hour)
	calls(1, fine)
	want()
	calls(1, func(context.Context) error {
		e := failing(provider.RateLimit)
		var limit *provider.Error
		errors.As(e, &limit)
		limit.RetryAfter = time.Minute
		return limit
	})
	want("m 1 true")
}
