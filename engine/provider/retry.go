package provider

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// Policy says how often a call is made and how long one waits in between. Zero
// fields take [DefaultPolicy]'s.
type Policy struct {
	// MaxTries counts the first try too; 1 never tries again.
	MaxTries int
	// Backoff is the wait before the second try. It doubles with each try, up
	// to MaxBackoff.
	Backoff    time.Duration
	MaxBackoff time.Duration
	// RateLimitFloor is the least wait after a rate limit that names no time.
	RateLimitFloor time.Duration
	// MaxWait bounds the sum of all waits of a call: those between tries and
	// those for the pace. A wait that would pass it is not begun: the failure is
	// returned at once. Less than 0 never waits.
	MaxWait time.Duration
	// TryTimeout bounds one try, waits excluded. Zero: only the context does.
	TryTimeout time.Duration
}

// DefaultPolicy is three tries, 250 ms doubling to 30 s, 2 s at least after a
// rate limit, and 5 minutes of waiting in all.
func DefaultPolicy() Policy {
	return Policy{MaxTries: 3, Backoff: 250 * time.Millisecond, MaxBackoff: 30 * time.Second,
		RateLimitFloor: 2 * time.Second, MaxWait: 5 * time.Minute}
}

func (p Policy) orDefaults() Policy {
	d := DefaultPolicy()
	p.MaxTries = cmp.Or(p.MaxTries, d.MaxTries)
	p.Backoff = cmp.Or(p.Backoff, d.Backoff)
	p.MaxBackoff = cmp.Or(p.MaxBackoff, d.MaxBackoff)
	p.RateLimitFloor = cmp.Or(p.RateLimitFloor, d.RateLimitFloor)
	p.MaxWait = cmp.Or(p.MaxWait, d.MaxWait)
	return p
}

// wait is how long to wait after the given failed try. chance is in [0,1).
//
// What the provider asked for is a floor: a second is added and chance only
// lengthens it. Our own backoff is spread by a fifth to both sides. A failure
// from a script or a recording waits exactly as long as it says, and not at
// all when it says nothing.
func (p Policy) wait(e *Error, try int, chance float64) time.Duration {
	if e.FromRecording {
		return e.RetryAfter
	}
	if e.RetryAfter > 0 {
		return scale(e.RetryAfter+time.Second, 1+0.2*chance)
	}
	base := p.Backoff
	for i := 1; i < try && base < p.MaxBackoff; i++ {
		base *= 2
	}
	base = min(base, p.MaxBackoff)
	if e.Code == RateLimit {
		base = max(base, p.RateLimitFloor)
	}
	return scale(base, 0.8+0.4*chance)
}

func scale(d time.Duration, by float64) time.Duration {
	return time.Duration(float64(d) * by)
}

// Retry makes a call again while that can help. The zero value uses the
// defaults and real time. It is safe for concurrent use and keeps nothing
// between calls, but in Pace.
type Retry struct {
	Policy Policy
	// Pace says when a try may be made; nil: at once.
	Pace *Pace
	// Seed decides the spread of the waits, together with the call's Ref: the
	// same trial waits the same however trials are scheduled.
	Seed int64
	// Verbatim leaves failures as the provider said them: what is recorded must not
	// hang on how long a run was to wait.
	Verbatim bool
	// Sleep waits, or returns the context's error as soon as it is done. Nil
	// waits in real time.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Observer is told what happens during [Retry.Do], from the calling goroutine.
// All functions may be nil.
type Observer struct {
	// Delta receives the pieces of each try. A try that failed may have sent
	// some; those of the next start over.
	Delta func(Delta)
	// Failed receives every failed try, before the wait that follows it.
	Failed func(FailedTry)
	// Begin is told before each try, once nothing else keeps it from being made.
	// It may lower the request's output bound for this try. What it returns, if
	// anything, is called when the try has ended, with the reply or the failure.
	// Its error ends the call as it is.
	Begin func(context.Context, Try, *Request) (settle func(Response, *Error), err error)
	// Again is asked about a failed try that another would follow, before
	// Failed is told, whether it may; nil: yes.
	Again func(FailedTry) bool
	// Waiting is told true when a wait for the provider begins, and false when it
	// has ended.
	Waiting func(bool)
}

// Try is one that is about to be made.
type Try struct {
	Ref    Ref
	Number int           // from 1
	Paced  time.Duration // how long it waited for its pace
}

// FailedTry is one try that failed.
type FailedTry struct {
	Ref      Ref // of this try; the next provider call of the attempt is Ref.Call+1
	Try      int // from 1
	Err      *Error
	Retrying bool          // another try follows, after Wait
	Wait     time.Duration // 0 when Retrying is false
	Paced    time.Duration // how long this try had waited for its pace
}

// Do makes the call req with client, again after failures that may pass, and
// returns the first reply or the last failure. req.Ref.Call numbers the first
// try and grows by one with each; the number of tries is the number of
// failures observed, plus one for a reply.
//
// A wait that could not end before the context's deadline is not begun: the
// provider's failure is returned then, since waiting would only turn it into a
// timeout of the caller's. A context that is cancelled ends a wait at once, as
// Cancelled with its cause.
func (r Retry) Do(ctx context.Context, client Client, req Request, obs Observer) (Response, error) {
	if _, ok := client.(Prerecorded); ok {
		r.Pace = nil
	}
	policy := r.Policy.orDefaults()
	left := max(policy.MaxWait, 0)
	for try := 1; ; try++ {
		res, paced, err := r.once(ctx, client, req, attempt{policy, obs, try, left})
		left -= paced
		if err == nil {
			return res, nil
		}
		if own := (*refused)(nil); errors.As(err, &own) {
			return Response{}, own.error
		}
		failed := FailedTry{Ref: req.Ref, Try: try, Err: asError(err), Paced: paced}
		wait := policy.wait(failed.Err, try, chance(r.Seed, req.Ref))
		if failed.Err.Retryable() && !failed.Err.Unsent && try < policy.MaxTries && wait <= left && outlives(ctx, wait) {
			failed.Retrying = obs.Again == nil || obs.Again(failed)
		}
		if failed.Retrying {
			failed.Wait = wait
		} else if failed.Err.Retryable() && !failed.Err.Unsent && try < policy.MaxTries && wait > left && !r.Verbatim {
			failed.Err = tooLong(failed.Err, left, policy.MaxWait)
			err = failed.Err
		}
		if obs.Failed != nil {
			obs.Failed(failed)
		}
		if !failed.Retrying || r.waits(ctx, obs, wait) != nil {
			return Response{}, lastWord(ctx, failed.Err, err)
		}
		left -= wait
		req.Ref.Call++
	}
}

// attempt is a try with what it is made by.
type attempt struct {
	policy Policy
	obs    Observer
	try    int
	left   time.Duration // that the call may still wait
}

// refused carries an error of [Observer.Begin], which is no failure of the call.
type refused struct{ error }

func (r *refused) Unwrap() error { return r.error }

// once makes the call once, when its pace lets it.
func (r Retry) once(ctx context.Context, client Client, req Request, a attempt) (Response, time.Duration, error) {
	leave, paced, err := r.enter(ctx, a)
	if err != nil {
		return Response{}, paced, err
	}
	var settle func(Response, *Error)
	if a.obs.Begin != nil {
		settle, err = a.obs.Begin(ctx, Try{Ref: req.Ref, Number: a.try, Paced: paced}, &req)
		if err != nil {
			leave.done(&Error{Code: Cancelled})
			return Response{}, paced, &refused{err}
		}
	}
	failure := &Error{Provider: "adapter", Code: Cancelled, Message: "the call ended in a panic"}
	var res Response
	defer func() { // also when the client panics: others wait for what is given back here
		leave.done(failure)
		if settle != nil {
			settle(res, failure)
		}
	}()
	res, err = a.policy.try(ctx, client, req, a.obs.Delta)
	if failure = nil; err != nil {
		failure = asError(err)
	}
	return res, paced, err
}

// enter waits for the call's pace.
func (r Retry) enter(ctx context.Context, a attempt) (pass, time.Duration, error) {
	if r.Pace == nil {
		return pass{}, 0, nil
	}
	if a.obs.Waiting != nil {
		a.obs.Waiting(true)
		defer a.obs.Waiting(false)
	}
	return r.Pace.enter(ctx, a.left, r.Pause)
}

// waits pauses between two tries.
func (r Retry) waits(ctx context.Context, obs Observer, d time.Duration) error {
	if obs.Waiting != nil {
		obs.Waiting(true)
		defer obs.Waiting(false)
	}
	return r.Pause(ctx, d)
}

// try makes the call once, within the policy's time for one.
func (p Policy) try(ctx context.Context, client Client, req Request, onDelta func(Delta)) (Response, error) {
	if p.TryTimeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, p.TryTimeout,
			fmt.Errorf("no whole reply within %v: %w", p.TryTimeout, context.DeadlineExceeded))
		defer stop()
	}
	return client.Complete(ctx, req, onDelta)
}

// Pause waits as between two tries, or returns early with the context's error.
func (r Retry) Pause(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d <= 0 {
		return nil
	}
	if r.Sleep != nil {
		return r.Sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// tooLong says why a failure is not waited out.
func tooLong(e *Error, left, most time.Duration) *Error {
	asked := "another try has to wait"
	if e.RetryAfter > 0 {
		asked = fmt.Sprintf("it asks to be left alone for %v", e.RetryAfter)
	}
	allowed := fmt.Sprintf("--max-wait lets a call wait %v in all", max(most, 0))
	if left < max(most, 0) {
		allowed += fmt.Sprintf(", of which %v is left", left.Round(time.Millisecond))
	}
	said := *e
	said.Err = e
	said.Message = strings.TrimPrefix(e.Message+"; "+asked+", and "+allowed, "; ")
	return &said
}

// outlives says whether ctx is alive and, as far as it knows, still will be
// when wait has passed.
func outlives(ctx context.Context, wait time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	deadline, ok := ctx.Deadline()
	return !ok || wait < time.Until(deadline)
}

// lastWord is what a call that is not tried again ends with: Cancelled when the
// context was cancelled, else the failure itself. A deadline that passed says
// less than the failure one was waiting to get over.
func lastWord(ctx context.Context, failure *Error, err error) error {
	if ended := FromContext(ctx, failure.Provider); ended != nil && ended.Code == Cancelled {
		return ended
	}
	return err
}

// asError finds the *Error of a failed call. An adapter that returns none has
// broken its contract; that is no reason to call again.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Provider: "adapter", Code: MalformedResponse, Message: err.Error(), Err: err}
}

// chance is a number in [0,1) that seed and ref decide.
func chance(seed int64, ref Ref) float64 {
	h := fnv.New64a()
	var word [8]byte
	for _, n := range [...]int64{seed, int64(ref.Repetition), int64(ref.Attempt), int64(ref.Call), int64(len(ref.Agent))} {
		binary.LittleEndian.PutUint64(word[:], uint64(n))
		_, _ = h.Write(word[:]) // a hash never fails to write
	}
	_, _ = h.Write([]byte(ref.Agent))
	_, _ = h.Write([]byte(ref.Case))
	// FNV leaves its last bytes in the low bits; one round of splitmix64 moves
	// them to where the float is taken from.
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	return float64(x>>11) / (1 << 53)
}
