package store

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// What bounds a recorder.
const (
	maxQueue = 2048                 // events waiting; each is at most inlineBytes and its envelope
	maxBatch = 1024                 // events in one transaction
	maxBlobs = 16 << 20             // compressed bytes of large payloads waiting
	linger   = 5 * time.Millisecond // how long an event may wait for company
)

// Recorder writes the events of one run: it is the run's event.Sink. Emit is
// safe for concurrent use; what one goroutine emits is stored in its order.
//
// One goroutine writes, batch by batch. Emit waits when it lags behind, and
// for trial.finished and run.finished until they, and everything emitted
// before them, are committed. The first failure sticks: every later Emit
// returns it, and nothing more is written.
type Recorder struct {
	db    *DB
	write writer

	queue chan item
	blobs *semaphore.Weighted
	done  chan struct{} // closed when the writing goroutine has ended

	emitting sync.RWMutex  // held by Emit while it queues, by Close alone
	closing  chan struct{} // closed by Close
	closed   bool

	mu  sync.Mutex
	err error
}

// item is one queued event, with the work done that needs no turn at the
// database.
type item struct {
	event event.Event
	blob  *blob       // the payload, when too large for a row
	end   *endOfTrial // of trial.finished
	held  int64       // of Recorder.blobs
	// done is answered once the item is committed; nil when nobody waits. An
	// item without an event is only there to be waited for.
	done chan error
}

// endOfTrial is the part of trial.finished that rows hold.
type endOfTrial struct {
	Outcome   scoring.Outcome `json:"outcome"`
	Code      string          `json:"code"`
	Phase     string          `json:"phase"`
	WillRetry bool            `json:"will_retry"`
	Scorecard *struct {
		OverallScore *float64 `json:"overall_score"`
	} `json:"scorecard"`
}

// Recorder starts a recorder for a run that owner owns; one at a time. It
// outlives ctx's cancellation, so that facts outlive a Ctrl-C: Close ends it.
func (db *DB) Recorder(ctx context.Context, runID string, owner Owner) (*Recorder, error) {
	doing := fmt.Sprintf("record run %q", runID)
	if db.ReadOnly() {
		return nil, db.fail(doing, ErrReadOnly)
	}
	ctx = context.WithoutCancel(ctx)
	r := &Recorder{
		db: db, queue: make(chan item, maxQueue), blobs: semaphore.NewWeighted(maxBlobs),
		done: make(chan struct{}), closing: make(chan struct{}),
	}
	if err := r.write.open(ctx, db, runID, owner); err != nil {
		return nil, db.fail(doing, err)
	}
	go r.run(ctx)
	return r, nil
}

// Emit takes one event, whose payload must not be changed afterwards.
// Transient events are none of the store's business and are dropped. A ctx
// that ends while Emit waits for room takes the event back.
func (r *Recorder) Emit(ctx context.Context, e event.Event) error {
	if e.Transient {
		return nil
	}
	if err := r.failed(); err != nil {
		return err
	}
	it, err := r.prepare(ctx, e)
	if err != nil {
		return fmt.Errorf("record %s: %w", e.Type, err)
	}
	return r.put(ctx, it)
}

// Flush returns once everything emitted before it is committed.
func (r *Recorder) Flush(ctx context.Context) error {
	return r.put(ctx, item{done: make(chan error, 1)})
}

// Close commits what is left, ends the recorder, and returns what went wrong
// in its life. It may be called twice; Emit afterwards is ErrClosed.
func (r *Recorder) Close() error {
	r.emitting.Lock()
	first := !r.closed
	r.closed = true
	r.emitting.Unlock()
	if first {
		close(r.closing)
	}
	<-r.done
	return r.failed()
}

// prepare does what can be done outside of the writing goroutine.
func (r *Recorder) prepare(ctx context.Context, e event.Event) (item, error) {
	it := item{event: e}
	if err := r.write.refuse(e); err != nil {
		return item{}, err
	}
	switch e.Type {
	case event.TrialDone:
		it.end = new(endOfTrial)
		if err := json.Unmarshal(e.Payload, it.end); err != nil {
			return item{}, fmt.Errorf("read its payload: %w", err)
		}
		switch it.end.Outcome {
		case scoring.OutcomePassed, scoring.OutcomeFailed, scoring.OutcomeInvalid:
		default:
			return item{}, fmt.Errorf("%q is no outcome", it.end.Outcome)
		}
		it.done = make(chan error, 1)
	case event.RunFinished:
		it.done = make(chan error, 1)
	}
	if len(e.Payload) <= inlineBytes {
		return it, nil
	}
	b, err := r.db.compress(e.Payload)
	if err != nil {
		return item{}, err
	}
	it.blob, it.event.Payload = b, nil
	it.held = min(int64(len(b.data)), maxBlobs)
	return it, r.blobs.Acquire(ctx, it.held)
}

// put queues an item, and waits for its commit when it is to be waited for.
func (r *Recorder) put(ctx context.Context, it item) error {
	if err := r.queueUp(ctx, it); err != nil {
		r.blobs.Release(it.held)
		return err
	}
	if it.done == nil {
		return nil
	}
	return <-it.done // the writing goroutine answers every item
}

func (r *Recorder) queueUp(ctx context.Context, it item) error {
	r.emitting.RLock()
	defer r.emitting.RUnlock()
	if r.closed {
		return fmt.Errorf("record run: recorder %w", ErrClosed)
	}
	select {
	case r.queue <- it:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run writes batch after batch until the recorder is closed and nothing is
// queued.
func (r *Recorder) run(ctx context.Context) {
	defer close(r.done)
	defer r.write.close()
	batch := make([]item, 0, maxBatch)
	for {
		select {
		case it := <-r.queue:
			batch = r.gather(append(batch, it))
		case <-r.closing:
			// Nothing is queued anew once closing is closed.
			if batch = r.take(batch); len(batch) == 0 {
				return
			}
		}
		r.commit(ctx, batch)
		clear(batch) // lets go of payloads
		batch = batch[:0]
	}
}

// gather completes a batch. Nobody is kept waiting: an item somebody waits for
// is written at once, with whatever is queued by then; others linger a moment
// for company.
func (r *Recorder) gather(batch []item) []item {
	enough := time.NewTimer(linger)
	defer enough.Stop()
	for batch[len(batch)-1].done == nil && len(batch) < maxBatch {
		select {
		case it := <-r.queue:
			batch = append(batch, it)
			continue
		case <-enough.C:
		case <-r.closing:
		}
		break
	}
	return r.take(batch)
}

// take adds what is queued already, and lets those who are about to emit do so
// first: one commit for many costs less than one each.
func (r *Recorder) take(batch []item) []item {
	yielded := false
	for len(batch) < maxBatch {
		select {
		case it := <-r.queue:
			batch, yielded = append(batch, it), false
		default:
			if yielded {
				return batch
			}
			runtime.Gosched()
			yielded = true
		}
	}
	return batch
}

// commit writes a batch and answers those who wait.
func (r *Recorder) commit(ctx context.Context, batch []item) {
	err := r.failed()
	if err == nil {
		err = r.write.batch(ctx, batch)
		r.fail(err)
	}
	for _, it := range batch {
		r.blobs.Release(it.held)
		if it.done != nil {
			it.done <- err
		}
	}
}

func (r *Recorder) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *Recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}
