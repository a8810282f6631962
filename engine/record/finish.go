package record

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
)

// Finish completes the recording. missing are the trials that are not in it,
// for which it stays incomplete: for good when the run is over.
func (r *Recorder) Finish(over bool) (digest string, missing []Place, err error) {
	if on, err := readHeader(r.dir); err != nil || on.RunID != r.header.RunID {
		return "", nil, cmp.Or(err, errors.New("another run has begun to record in the same directory"))
	}
	h := r.header
	h.Files = map[string]string{}
	for _, p := range h.places() {
		raw, err := readFile(r.dir, p.file(), maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			if p.Agent != "" {
				missing = append(missing, p)
			}
			continue
		}
		if err != nil {
			return "", nil, err
		}
		if list, err := parse(raw, p); err != nil || len(list) == 0 {
			return "", nil, fmt.Errorf("%s: %w", p.file(), cmp.Or(err, errors.New("it holds no attempt")))
		}
		h.Files[p.file()] = digestOf(raw)
	}
	if len(missing) > 0 {
		if over {
			r.header.RunID = ""
			err = r.writeHeader()
		}
		return "", missing, err
	}
	h.RunID, h.Complete = "", true
	r.header = h
	if err := r.writeHeader(); err != nil {
		return "", nil, err
	}
	h, err = readHeader(r.dir)
	return h.Sum, nil, err
}
