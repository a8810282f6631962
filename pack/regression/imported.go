package regression

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentclash/agentclash/pack"
)

// Import is where a case was taken over from: something that an agent once did,
// as another tool wrote it down.
type Import struct {
	File       string `json:"file"` // as it was named
	Format     string `json:"format"`
	Row        int    `json:"row"`
	Line       int    `json:"line,omitempty"`
	Notes      string `json:"notes,omitempty"` // what has no place in a case
	PackDigest string `json:"pack_digest"`
	// ContentDigest is that of the case as it came. By it the case is known again
	// when somebody has mended what was expected of it.
	ContentDigest string `json:"content_digest"`
	ImportedAt    string `json:"imported_at"` // RFC 3339
}

// Found is a case that was read from another tool's file.
type Found struct {
	Case      pack.Case
	Notes     string
	Row, Line int
}

// Importing is a file whose cases are to be taken over.
type Importing struct {
	Pack         *pack.Pack
	InputSet     string // that they are to run beside
	File, Format string
	Now          time.Time
}

// Proposed makes regression cases of what was found, with ids that no case of the
// suite has. What the suite has already with the same content, and what was found
// before, is none: known names it by its id. The suite is not changed. What keeps
// the cases from running with the pack, or is there with other content, is said at
// once, as pack.Problems.
func (s *Suite) Proposed(from Importing, list []Found) (cases []Case, known []string, err error) {
	digest, err := from.Pack.Own().Digest()
	if err != nil {
		return nil, nil, err
	}
	have, keys := s.contents()
	grown := *s
	grown.Cases = append([]Case{}, s.Cases...)
	var problems pack.Problems
	for _, found := range list {
		found.Case = found.Case.Normalized()
		content := contentOf(found.Case)
		if id, ok := have[content]; ok {
			known = append(known, id)
			continue
		}
		key := [2]string{found.Case.ChallengeKey, found.Case.Key()}
		if id, taken := keys[key]; taken {
			problems = append(problems, pack.Problem{File: from.File, Line: found.Line, Column: 1, Field: fmt.Sprintf("row %d", found.Row),
				Message: fmt.Sprintf("its key %q is that of case %s of suite %s, which has other content: give it another id", found.Case.Key(), id, s.Name)})
			continue
		}
		c := Case{ID: grown.FreeID(caseID(found.Case.Key())), Status: Proposed, Mode: Manual, Title: titleOf(found.Case), Document: found.Case,
			Challenge: challengeOf(from.Pack, found.Case.ChallengeKey),
			Import: &Import{File: from.File, Format: from.Format, Row: found.Row, Line: found.Line, Notes: found.Notes, PackDigest: digest,
				ContentDigest: content, ImportedAt: from.Now.UTC().Format(time.RFC3339)}}
		have[content], keys[key] = c.ID, c.ID
		cases, grown.Cases = append(cases, c), append(grown.Cases, c)
	}
	problems = append(problems, s.unfit(from, cases)...)
	if len(problems) > 0 {
		return nil, nil, problems
	}
	return cases, known, nil
}

// unfit says why cases cannot run with the pack. Those that the suite has are not
// looked at.
func (s *Suite) unfit(from Importing, cases []Case) pack.Problems {
	alone := *s
	alone.Cases = cases
	_, err := Fit(from.Pack, Selection{InputSet: from.InputSet, Suites: []Placed{{Suite: &alone, File: from.File}}, IncludeProposed: true})
	var problems pack.Problems
	if err == nil || errors.As(err, &problems) {
		return problems
	}
	return pack.Problems{{File: from.File, Field: "suite", Message: err.Error()}}
}

// contents are the ids of the suite's cases by their content, as it is and as it
// came, and by challenge and key.
func (s *Suite) contents() (byContent map[string]string, byKey map[[2]string]string) {
	byContent, byKey = map[string]string{}, map[[2]string]string{}
	for _, c := range s.Cases {
		byContent[contentOf(c.Document)] = c.ID
		byKey[[2]string{c.Document.ChallengeKey, c.Document.Key()}] = c.ID
		if c.Import != nil && c.Import.ContentDigest != "" {
			byContent[c.Import.ContentDigest] = c.ID
		}
	}
	return byContent, byKey
}

// contentOf is the digest of all that makes a case in its one form but its key, in
// hex.
func contentOf(c pack.Case) string {
	c.CaseKey, c.ItemKey = "", ""
	digest := sha256.Sum256(append([]byte(c.ChallengeKey+"\n"), pack.StoredCase(c)...))
	return hex.EncodeToString(digest[:])
}

// titleOf is the key of a case, and how the first text in it begins.
func titleOf(c pack.Case) string {
	const most = 80
	text := ""
	for _, name := range slices.Sorted(maps.Keys(c.Payload)) {
		if s, ok := c.Payload[name].(string); ok && text == "" {
			text = strings.Join(strings.Fields(s), " ")
		}
	}
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most-1]) + "…"
	}
	return cmp.Or(strings.Trim(c.Key()+": "+text, ": "), "case")
}
