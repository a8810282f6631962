package record

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/redact"
)

// What a recording is called and how large it may be.
const (
	format  = "agentclash-recording"
	version = 2

	headerFile  = "recording.json"
	trialsDir   = "trials"
	rankingsDir = "rankings"

	maxHeader = 64 << 20
	maxFile   = 128 << 20
	maxTotal  = 512 << 20
)

// Header is what a recording says of itself.
type Header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Subject
	// RunID is the run that is being recorded, "" once it is complete (a recording
	// holds no random id) or never will be.
	RunID string `json:"run_id,omitempty"`
	// Complete says that every trial is there, with the digest of its file.
	Complete bool              `json:"complete"`
	Files    map[string]string `json:"files,omitempty"` // sha256 hex by path
	Removed  *Removed          `json:"removed,omitempty"`
	// Sum is the sha256 of all the rest, in hex: see Digest.
	Sum string `json:"digest"`
}

// Subject is what was recorded.
type Subject struct {
	Pack         string   `json:"pack"` // its slug
	PackDigest   string   `json:"pack_digest"`
	InputSet     string   `json:"input_set"`
	Mode         string   `json:"execution_mode"`
	Seed         int64    `json:"seed"`
	Repetitions  int      `json:"repetitions"`
	RetryInvalid int      `json:"retry_invalid"`
	Agents       []Agent  `json:"agents"`
	Judges       []string `json:"judges,omitempty"`
	Cases        []string `json:"cases"`
}

// places are all trials of a recording, and all its rankings.
func (s Subject) places() []Place {
	var all []Place
	for _, c := range s.Cases {
		for rep := 1; rep <= s.Repetitions; rep++ {
			for _, a := range s.Agents {
				all = append(all, Place{a.Label, c, rep})
			}
			all = append(all, Place{"", c, rep})
		}
	}
	return all
}

// Agent is a run agent that was recorded.
type Agent struct {
	Label string `json:"label"`
	Model string `json:"model"` // provider/model
	// Deployment is all that was set of the agent, as the run's plan writes it,
	// without where its key is.
	Deployment json.RawMessage `json:"deployment,omitempty"`
}

// Place is whose exchanges a file holds: those of a trial, or with no Agent the
// rankings of a case and repetition.
type Place struct {
	Agent      string `json:"agent,omitempty"`
	Case       string `json:"case"`
	Repetition int    `json:"repetition"`
}

func placeOf(ref provider.Ref) Place { return Place{ref.Agent, ref.Case, ref.Repetition} }

func (p Place) String() string {
	if p.Agent == "" {
		return fmt.Sprintf("the rankings of case %q, repetition %d", p.Case, p.Repetition)
	}
	return fmt.Sprintf("agent %q, case %q, repetition %d", p.Agent, p.Case, p.Repetition)
}

// file is the path of a place's file, with slashes.
func (p Place) file() string {
	name := fmt.Sprintf("%s.r%d.jsonl", fileName(p.Case), p.Repetition)
	if p.Agent == "" {
		return rankingsDir + "/" + name
	}
	return trialsDir + "/" + fileName(p.Agent) + "/" + name
}

// plainName is a name that is the same file on every system.
var plainName = regexp.MustCompile(`^[a-z0-9_][a-z0-9._-]{0,79}$`)

// fileName is a label as the name of a file. One that could be another's, on
// some system, is told apart by a digest.
func fileName(label string) string {
	if plainName.MatchString(label) {
		return label
	}
	sum := sha256.Sum256([]byte(label))
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(label[:min(len(label), 60)]))
	return "_" + strings.TrimLeft(plain, ".") + "-" + hex.EncodeToString(sum[:4])
}

// Digest names a recording by its contents: the sha256, in hex, of all that its
// header says, without white space. The header says it, too, so that a change is
// seen.
func (h Header) Digest() string {
	h.Sum = ""
	raw, err := json.Marshal(h)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return digestOf(raw)
}

// encode is a header as it is written, with its digest and without secrets.
func (h Header) encode(r *redact.Redactor) ([]byte, error) {
	raw, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	var clean Header // what is read back is what the digest is of
	if err := json.Unmarshal(r.JSON(raw), &clean); err != nil {
		return nil, err
	}
	clean.Sum = clean.Digest()
	raw, err = json.MarshalIndent(clean, "", "  ")
	return append(raw, '\n'), err
}

// parseHeader reads what encode has written. White space apart, any other text is
// refused.
func parseHeader(raw []byte) (Header, error) {
	var h Header
	err := json.Unmarshal(raw, &h)
	switch {
	case h.Format == format && h.Version != version && h.Version != 0:
		return Header{}, fmt.Errorf("it has the format version %d, and this program reads %d: record again with this version", h.Version, version)
	case err != nil:
		return Header{}, fmt.Errorf("%s cannot be read: %w", headerFile, err)
	case h.Format != format || h.Version != version:
		return Header{}, fmt.Errorf("%s is not of a recording: its format is %q", headerFile, h.Format)
	}
	// keys that are written otherwise, and others, are read past
	var is bytes.Buffer
	want, err := json.Marshal(h)
	if err = cmp.Or(err, json.Compact(&is, raw)); err != nil {
		return Header{}, err
	}
	if !bytes.Equal(is.Bytes(), want) || h.Sum != h.Digest() {
		return Header{}, fmt.Errorf("%s was changed after it was recorded", headerFile)
	}
	return h, nil
}

// attemptDigest is the digest of an attempt's lines, of whom its file says that
// they are.
func attemptDigest(first, lines []byte) string { return digestOf(slices.Concat(first, lines)) }

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
