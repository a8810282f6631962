package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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

func (r *Recorder) reopen(finished func(Place, int) bool) error {
	run := r.header.RunID
	h, err := readHeader(r.dir)
	switch {
	case errors.Is(err, errNone) && r.empty():
		return nil // its process was killed before it began
	case err != nil:
		return err
	case h.Complete:
		return errors.New("it is complete: what is run again cannot be added; record the pack anew with eval start --record DIR --overwrite")
	case h.RunID != run:
		return errors.New("it is of another run: record the pack anew in a directory of its own")
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
func (r *Recorder) empty() bool {
	_, err := r.dir.Lstat(trialsDir)
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
