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

// Reopen goes on with the recording of a run that was interrupted, in a directory
// that was taken again. finished says which attempts have ended; others are not
// kept.
func Reopen(c *Claim, o Options, finished func(Place, int) bool) (*Recorder, error) {
	r := newRecorder(c, o)
	err := r.reopen(finished)
	if err == nil {
		r.header.Removed = removed(r.header.Removed, o.Secrets, o.Given)
		err = r.writeHeader()
	}
	if err != nil {
		return nil, fmt.Errorf("go on with the recording %s: %w", c.dir, err)
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
		_, err = continues(root, runID)
		_ = root.Close() // what was only read loses nothing
	}
	if err != nil {
		return fmt.Errorf("go on with the recording %s: %w", dir, err)
	}
	return nil
}

// continues reads the header of a recording that the run can go on with. One whose
// process was killed before it began has none.
func continues(dir *os.Root, runID string) (Header, error) {
	h, err := readHeader(dir)
	switch {
	case errors.Is(err, errNone) && empty(dir):
		return Header{}, nil
	case err != nil:
		return Header{}, err
	case h.Complete:
		return Header{}, ErrComplete
	case h.RunID != runID:
		return Header{}, errors.New("it is of another run")
	}
	return h, nil
}

func (r *Recorder) reopen(finished func(Place, int) bool) error {
	h, err := continues(r.dir, r.header.RunID)
	if err != nil {
		return err
	}
	r.header.Removed = h.Removed
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

// empty says that nothing has been recorded.
func empty(dir *os.Root) bool {
	_, err := dir.Lstat(trialsDir)
	return errors.Is(err, fs.ErrNotExist)
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
