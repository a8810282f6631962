package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
)

// What a recording is called and how large it may be.
const (
	format  = "agentclash-recording"
	version = 1

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
	// RunID is the run that is being recorded, "" once it is complete: a
	// recording holds no random id.
	RunID string `json:"run_id,omitempty"`
	// Complete says that every trial is there, with the digest of its file.
	Complete bool              `json:"complete"`
	Files    map[string]string `json:"files,omitempty"` // sha256 hex by path
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

// Digest names a complete recording by its contents.
func (h Header) Digest() string {
	raw, err := json.Marshal(h)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return digestOf(raw)
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
