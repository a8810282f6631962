package record

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/engine/redact"
	"github.com/agentclash/agentclash/scoring/encodings"
)

// minTold is the length of the shortest secret of which a recording keeps a
// digest. Shorter ones could be found by trying all there are.
const minTold = 16

// Removed lets a replay that has no key take the same values out of what it asks.
// It is of the secrets that stand in the run's own pack or deployments, in the
// writing in which they do: what is nowhere in these cannot come up in a replay,
// which asks nobody else. A digest is salted, and quick to work out, for every
// place of a text is held against it: who guesses a value can check the guess.
type Removed struct {
	Salt   string          `json:"salt"` // hex
	Values []RemovedDigest `json:"values"`
}

// RemovedDigest is one value.
type RemovedDigest struct {
	Bytes  int    `json:"bytes"`
	Digest string `json:"digest"` // sha256 of salt and value, in hex
}

// removed adds to what a recording has of the secrets in its run's texts; nil for
// none.
func removed(before *Removed, secrets, given []string) *Removed {
	r := Removed{}
	if before != nil {
		r = Removed{before.Salt, slices.Clone(before.Values)}
	}
	if r.Salt == "" {
		salt := make([]byte, 16)
		_, _ = rand.Read(salt) // it never fails
		r.Salt = hex.EncodeToString(salt)
	}
	for _, s := range secrets {
		if len(s) < minTold {
			continue
		}
		for _, form := range encodings.Of(s) {
			if !slices.ContainsFunc(given, func(text string) bool { return strings.Contains(text, form.Text) }) {
				continue
			}
			v := RemovedDigest{len(form.Text), r.digest(form.Text)}
			if !slices.Contains(r.Values, v) {
				r.Values = append(r.Values, v)
			}
		}
	}
	if len(r.Values) == 0 {
		return nil
	}
	slices.SortFunc(r.Values, func(a, b RemovedDigest) int {
		return cmp.Or(cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Digest, b.Digest))
	})
	return &r
}

func (r Removed) digest(value string) string { return digestOf([]byte(r.Salt + value)) }

// Recognize finds the values that were taken out when the recording was made in
// the texts of a run that replays it.
func (h Header) Recognize(given []string) []string {
	if h.Removed == nil {
		return nil
	}
	byLength := map[int]map[string]bool{}
	for _, v := range h.Removed.Values {
		if v.Bytes < redact.MinBytes {
			continue // of no secret
		}
		if byLength[v.Bytes] == nil {
			byLength[v.Bytes] = map[string]bool{}
		}
		byLength[v.Bytes][v.Digest] = true
	}
	var found []string
	for length, digests := range byLength {
		buffer := append([]byte(h.Removed.Salt), make([]byte, length)...)
		window := buffer[len(h.Removed.Salt):]
		wanted := map[[sha256.Size]byte]bool{}
		for d := range digests {
			var sum [sha256.Size]byte
			if n, err := hex.Decode(sum[:], []byte(d[:min(len(d), 2*len(sum))])); err == nil && n == len(sum) {
				wanted[sum] = true
			}
		}
		for _, text := range given {
			for at := 0; at+length <= len(text); at++ {
				copy(window, text[at:])
				if wanted[sha256.Sum256(buffer)] {
					found = append(found, string(window))
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
