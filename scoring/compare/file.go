package compare

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/agentclash/agentclash/scoring"
)

// A baseline file is one [Snapshot], to be kept in a repository and compared
// with where the run itself is not.
const (
	fileKind    = "agentclash.baseline"
	fileVersion = 1
	// MaxFileBytes bounds a baseline file.
	MaxFileBytes = 64 << 20
	// maxCaseTrials bounds the trials of a case in one, far above what is run.
	maxCaseTrials = 10_000
)

// File is what a baseline file says.
type File struct {
	Name     string    // of the baseline, as it was called where it was exported
	SetAt    time.Time // when it was made the baseline
	Snapshot Snapshot
}

// fileDocument is a baseline file as it is written. Digest is the SHA-256, in
// hex, of the snapshot's JSON without white space: a file that an editor or a
// merge has changed is no evidence.
type fileDocument struct {
	Kind     string          `json:"kind"`
	Version  int             `json:"version"`
	Name     string          `json:"name"`
	SetAt    time.Time       `json:"set_at,omitzero"`
	Digest   string          `json:"digest"`
	Snapshot json.RawMessage `json:"snapshot"`
}

// WriteFile writes a baseline file. The same file has the same bytes.
func WriteFile(w io.Writer, f File) error {
	snapshot, err := json.Marshal(f.Snapshot)
	if err != nil {
		return fmt.Errorf("write the baseline's snapshot: %w", err)
	}
	doc := fileDocument{Kind: fileKind, Version: fileVersion, Name: f.Name, SetAt: f.SetAt, Snapshot: snapshot}
	if doc.Digest, err = fileDigest(snapshot); err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("write the baseline: %w", err)
	}
	return nil
}

func fileDigest(snapshot []byte) (string, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, snapshot); err != nil {
		return "", fmt.Errorf("the snapshot is not JSON: %w", err)
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:]), nil
}

// ErrNotBaseline is what [ReadFile] says of a file of another kind.
var ErrNotBaseline = errors.New("it is not a baseline")

// ReadFile reads a baseline file, and refuses one that is not whole, that has
// been changed, or whose numbers contradict each other.
func ReadFile(r io.Reader) (File, error) {
	raw, err := io.ReadAll(io.LimitReader(r, MaxFileBytes+1))
	if err != nil {
		return File{}, err
	}
	if len(raw) > MaxFileBytes {
		return File{}, fmt.Errorf("it has more than %d MB", MaxFileBytes>>20)
	}
	var doc fileDocument
	if err := json.Unmarshal(raw, &doc); err != nil {
		return File{}, fmt.Errorf("%w: %w", ErrNotBaseline, err)
	}
	switch {
	case doc.Kind != fileKind:
		return File{}, fmt.Errorf("%w: its kind is %s, not %q", ErrNotBaseline, quote(doc.Kind), fileKind)
	case doc.Version != fileVersion:
		return File{}, fmt.Errorf("it is of version %d, and this program reads version %d", doc.Version, fileVersion)
	}
	digest, err := fileDigest(doc.Snapshot)
	if err != nil {
		return File{}, err
	}
	if digest != doc.Digest {
		return File{}, errors.New("it has been changed since it was written: its digest does not fit what it says")
	}
	f := File{Name: doc.Name, SetAt: doc.SetAt}
	if err := json.Unmarshal(doc.Snapshot, &f.Snapshot); err != nil {
		return File{}, fmt.Errorf("read its snapshot: %w", err)
	}
	if problems := f.Snapshot.problems(); len(problems) > 0 {
		return File{}, fmt.Errorf("its snapshot contradicts itself: %s", strings.Join(problems, "; "))
	}
	return f, nil
}

// problems are the contradictions of a snapshot that was not made by
// [NewSnapshot], the first few of them.
func (s Snapshot) problems() (list []string) {
	add := func(format string, args ...any) {
		if len(list) < maxNamed {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	if s.RunAgentID == "" || s.Pack.Slug == "" {
		add("it names no run agent or no pack")
	}
	if s.Scorecard == nil {
		add("it has no scorecard")
	} else if s.Scorecard.PassedTrials < 0 || s.Scorecard.FailedTrials < 0 || s.Scorecard.InvalidTrials < 0 {
		add("its scorecard counts fewer than no trials")
	}
	seen := make(map[string]bool, len(s.Cases))
	for _, c := range s.Cases {
		switch {
		case seen[c.CaseKey]:
			add("case %s is there twice", quote(c.CaseKey))
		case max(c.Passed, c.Failed, c.Invalid) > maxCaseTrials:
			add("case %s has more than %d trials", quote(c.CaseKey), maxCaseTrials)
		case c.Passed < 0 || c.Failed < 0 || c.Invalid < 0 || c.Valid != c.Passed+c.Failed:
			add("the trials of case %s do not add up", quote(c.CaseKey))
		case !isScore(c.OverallScore.Value):
			add("the score of case %s is not 0 to 1", quote(c.CaseKey))
		case len(c.Dimensions) != len(s.Dimensions):
			add("case %s has %d dimensions, and %d are declared", quote(c.CaseKey), len(c.Dimensions), len(s.Dimensions))
		case !scoresOf(c.Dimensions):
			add("a dimension's score of case %s is not 0 to 1", quote(c.CaseKey))
		}
		seen[c.CaseKey] = true
	}
	return list
}

func isScore(v *float64) bool { return v == nil || *v >= 0 && *v <= 1 && !math.IsNaN(*v) }

func scoresOf(list []scoring.AggregateDimension) bool {
	for _, d := range list {
		if !isScore(d.Score) {
			return false
		}
	}
	return true
}
