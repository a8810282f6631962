package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// Reopen goes on with the recording of a run that was interrupted. finished says
// which attempts have ended; others are not kept.
func Reopen(dir string, o Options, finished func(Place, int) bool) (*Recorder, error) {
	r, err := newRecorder(dir, o)
	if err != nil {
		return nil, err
	}
	if err := r.reopen(finished); err != nil {
		return nil, errors.Join(fmt.Errorf("go on with the recording %s: %w", dir, err), r.dir.Close())
	}
	return r, nil
}

// ErrComplete is the error of going on with a recording that has everything.
var ErrComplete = errors.New("it is complete: what is run again cannot be added")

// CheckReopen says why the recording of a run cannot be gone on with, nil when it
// can. It changes nothing.
func CheckReopen(dir, runID string) error {
	root, err := os.OpenRoot(dir)
	if err == nil {
		err = continues(root, runID)
		_ = root.Close() // what was only read loses nothing
	}
	if err != nil {
		return fmt.Errorf("go on with the recording %s: %w", dir, err)
	}
	return nil
}

func continues(dir *os.Root, runID string) error {
	h, err := readHeader(dir)
	switch {
	case err != nil:
		return err
	case h.Complete:
		return ErrComplete
	case h.RunID != runID:
		return errors.New("it is of another run")
	}
	return nil
}

func (r *Recorder) reopen(finished func(Place, int) bool) error {
	if err := continues(r.dir, r.header.RunID); err != nil {
		return err
	}
	for _, p := range r.header.places() {
		raw, err := readFile(r.dir, p.file(), maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		w := newWriting(p)
		if err := w.resume(raw, p, finished); err != nil {
			return fmt.Errorf("%s: %w", p.file(), err)
		}
		switch {
		case w.attempts == 0:
			err = r.dir.Remove(p.file())
		case !bytes.Equal(raw, w.kept.Bytes()):
			err = r.write(p.file(), w.kept.Bytes())
		}
		if err == nil && w.attempts > 0 {
			err = r.count(p.file(), int64(w.kept.Len()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resume takes over the attempts of a file that have ended.
func (w *writing) resume(raw []byte, p Place, finished func(Place, int) bool) error {
	if _, err := parse(raw, p); err != nil {
		return err
	}
	keep := true
	for i, text := range bytes.SplitAfter(raw, []byte("\n")) {
		var l struct {
			Kind    string
			Attempt int
		}
		if i == 0 || len(text) == 0 {
			continue
		}
		if err := json.Unmarshal(text, &l); err != nil {
			return err
		}
		if l.Kind == kindAttempt {
			if keep = finished(p, l.Attempt); keep {
				w.attempts++
			}
		}
		if keep {
			w.kept.Write(text)
		}
	}
	return nil
}

// Holds says whether an attempt has ended and was kept.
func (r *Recorder) Holds(p Place, number int) bool {
	r.mu.Lock()
	w := r.places[p]
	r.mu.Unlock()
	var raw []byte
	if w != nil {
		raw = w.kept.Bytes()
	} else if read, err := readFile(r.dir, p.file(), maxFile); err == nil {
		raw = read
	}
	list, err := parse(raw, p)
	return err == nil && slices.ContainsFunc(list, func(a *attempt) bool { return a.number == number })
}
