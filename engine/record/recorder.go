package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/redact"
)

// Options are what a recording is made with.
type Options struct {
	Subject Subject
	RunID   string
	Secrets []string // that must not be written
	// Given are the texts that the run's agents and judges may be told. Secrets
	// that stand there are told apart by digests: see [Removed].
	Given []string
	Now   func() time.Time
}

// Recorder writes a recording. It is safe for concurrent use, one goroutine a
// trial.
type Recorder struct {
	dir    *os.Root // of the claim, which outlives the recorder
	header Header
	redact *redact.Redactor
	now    func() time.Time

	mu     sync.Mutex
	places map[Place]*writing
	sizes  map[string]int64 // by path
	total  int64
	broken error // the first thing that could not be written
}

// writing is a place that is being recorded.
type writing struct {
	kept     bytes.Buffer // of attempts that ended; the first line included
	current  bytes.Buffer // of the attempt that goes on
	attempts int          // in kept, of a run that goes on
	attempt  int
	stated   int              // how often its decisions about the network were
	before   map[string]*line // the last call of each caller
}

// Check says why no recording can be made in dir, nil when one can. A recording
// that stands there is replaced only where overwrite says so.
func Check(dir string, overwrite bool) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("record into %s: %w", dir, err)
	case !info.IsDir():
		return fmt.Errorf("record into %s: it is no directory", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("record into %s: %w", dir, err)
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { // of one that was killed at once
		return e.Name() == headerFile+partSuffix || e.Name() == lockFile
	})
	if len(entries) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("record into %s: %w", dir, err)
	}
	defer func() { _ = root.Close() }()
	if _, err := readHeader(root); err != nil {
		return fmt.Errorf("record into %s: it is not empty, and no recording that could be replaced (%w): name a new directory", dir, err)
	}
	if !overwrite {
		return fmt.Errorf("record into %s: there is a recording already: add --overwrite to replace it, or name a new directory", dir)
	}
	return nil
}

// Create begins a recording in a directory that was taken for it.
func Create(c *Claim, o Options) (*Recorder, error) {
	r := newRecorder(c, o)
	r.header.Removed = removed(nil, o.Secrets, o.Given)
	err := r.writeHeader() // first, so that what is left of an earlier one is never taken for whole
	for _, old := range []string{trialsDir, rankingsDir} {
		err = cmp.Or(err, r.dir.RemoveAll(old))
	}
	if err != nil {
		return nil, fmt.Errorf("record into %s: %w", c.dir, err)
	}
	return r, nil
}

func newRecorder(c *Claim, o Options) *Recorder {
	return &Recorder{
		dir: c.root, redact: redact.New(o.Secrets), now: o.Now, header: Header{Format: format, Version: version, Subject: o.Subject, RunID: o.RunID},
		places: map[Place]*writing{}, sizes: map[string]int64{},
	}
}

func newWriting(p Place) *writing {
	w := &writing{before: map[string]*line{}}
	w.kept.Write(firstLine(p))
	return w
}

// firstLine says whose a file is.
func firstLine(p Place) []byte {
	first, err := compact(p)
	if err != nil {
		panic(err) // two strings and a number
	}
	return append(first, '\n')
}

// Replays is false.
func (r *Recorder) Replays() bool { return false }

// of is where the exchanges of ref's attempt are written.
func (r *Recorder) of(ref provider.Ref) (*writing, error) {
	p := placeOf(ref)
	r.mu.Lock()
	w := r.places[p]
	r.mu.Unlock()
	if w == nil {
		w = newWriting(p)
		raw, err := readFile(r.dir, p.file(), maxFile) // of a run that goes on
		switch {
		case err == nil:
			w.kept.Reset()
			w.kept.Write(raw)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		r.mu.Lock()
		r.places[p] = w
		r.mu.Unlock()
	}
	if w.attempt != ref.Attempt || w.current.Len() == 0 {
		w.current.Reset()
		w.attempt, w.stated = ref.Attempt, 0
		clear(w.before)
		return w, r.put(w, line{Kind: kindAttempt, Attempt: ref.Attempt})
	}
	return w, nil
}

// add writes a line of ref's attempt.
func (r *Recorder) add(ref provider.Ref, l line) error {
	w, err := r.of(ref)
	if err == nil {
		err = r.put(w, l)
	}
	return r.fail(placeOf(ref), err)
}

// fail keeps the first error, which ends every attempt: a recording with a hole
// in it is none.
func (r *Recorder) fail(p Place, err error) error {
	if err == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = fmt.Errorf("record %s: %w", p, err)
	}
	return r.broken
}

func (r *Recorder) put(w *writing, l line) error {
	whole := l
	if l.asks() {
		// what a file says is what is compared, so secrets go first
		l.clean(r.redact)
		whole = l
		var err error
		if l, err = l.shorten(w.before[l.Who]); err != nil {
			return err
		}
	}
	raw, err := compact(l)
	if err != nil {
		return err
	}
	raw = r.redact.JSON(raw)
	if w.kept.Len()+w.current.Len()+len(raw) > maxFile {
		return fmt.Errorf("it has passed %d MiB, which is the most that is recorded of one trial", maxFile>>20)
	}
	w.current.Write(append(raw, '\n'))
	if l.asks() {
		w.before[l.Who] = &whole
	}
	return nil
}

// clean takes secrets out of a request.
func (l *line) clean(r *redact.Redactor) {
	request := make(fields, len(l.Request))
	for key, raw := range l.Request {
		request[key] = r.JSON(raw)
	}
	messages := make([]json.RawMessage, len(l.messages))
	for i, raw := range l.messages {
		messages[i] = r.JSON(raw)
	}
	l.Request, l.messages = request, messages
}

// Tool writes down what a call came to, and returns it.
func (r *Recorder) Tool(ref provider.Ref, name string, now Answer) (Answer, error) {
	return now, r.add(ref, line{Kind: kindTool, Name: name, Answer: now.Result, Lost: now.Lost, TookMS: now.TookMS})
}

// Wait writes a wait down, in whole milliseconds.
func (r *Recorder) Wait(ref provider.Ref, who string, now time.Duration) (time.Duration, error) {
	now = now.Truncate(time.Millisecond)
	return now, r.add(ref, line{Kind: kindWait, Who: who, TookMS: now.Milliseconds()})
}

// HTTP makes a request and writes down what came of it.
func (r *Recorder) HTTP(ref provider.Ref, asked []byte, ask func() ([]byte, error)) ([]byte, error) {
	answer, err := ask()
	if err != nil {
		return nil, err
	}
	return answer, r.add(ref, line{Kind: kindHTTP, Asked: asked, Answer: answer})
}

// Egress writes down what was decided about the network.
func (r *Recorder) Egress(ref provider.Ref, now []event.Egress) ([]event.Egress, error) {
	w, err := r.of(ref)
	if err != nil {
		return nil, err
	}
	w.stated++
	if len(now) == 0 {
		return now, nil
	}
	return now, r.add(ref, line{Kind: kindEgress, At: w.stated, Decisions: now})
}

// End writes an attempt to its file, or drops it.
func (r *Recorder) End(ref provider.Ref, keep bool) error {
	p := placeOf(ref)
	r.mu.Lock()
	err := r.broken
	r.mu.Unlock()
	if err != nil {
		return err
	}
	w, err := r.of(ref)
	if err != nil {
		return r.fail(p, err)
	}
	if keep {
		last, err := compact(line{Kind: kindEnd, Digest: attemptDigest(firstLine(p), w.current.Bytes())})
		if err != nil {
			return r.fail(p, err)
		}
		w.kept.Write(w.current.Bytes())
		w.kept.Write(append(last, '\n'))
		if err := r.write(p.file(), w.kept.Bytes()); err != nil {
			return r.fail(p, err)
		}
		if err := r.count(p.file(), int64(w.kept.Len())); err != nil {
			return err
		}
	}
	w.current.Reset()
	return nil
}

// Forget lets go of a trial that is over. Its file has all.
func (r *Recorder) Forget(ref provider.Ref) {
	r.mu.Lock()
	delete(r.places, placeOf(ref))
	r.mu.Unlock()
}

// count keeps the whole within what can be replayed.
func (r *Recorder) count(path string, size int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total += size - r.sizes[path]
	r.sizes[path] = size
	if r.total > maxTotal {
		return fmt.Errorf("the recording has passed %d MiB, which is the most that is replayed: record fewer cases or repetitions at once", maxTotal>>20)
	}
	return nil
}

// Abandon takes back a recording in which nothing has been recorded.
func (r *Recorder) Abandon() error { return r.dir.Remove(headerFile) }

func (r *Recorder) writeHeader() error {
	raw, err := r.header.encode(r.redact)
	if err != nil {
		return err
	}
	return r.write(headerFile, raw)
}

// write replaces a file as a whole.
func (r *Recorder) write(path string, raw []byte) error {
	if dir, _, nested := cutLast(path, '/'); nested {
		if err := r.dir.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	part := path + partSuffix
	f, err := r.dir.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if path == headerFile {
		err = cmp.Or(err, f.Sync())
	}
	if err := cmp.Or(err, f.Close()); err != nil {
		return err
	}
	return r.dir.Rename(part, path)
}
