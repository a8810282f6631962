package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/pack"
)

// MaxShards bounds how many parts a run may be cut into.
const MaxShards = 1000

// Shard is one of several parts of a run's cases. A case belongs to a part by its
// digest alone, so that all agents and repetitions of it stay together, and
// neither order nor other cases move it.
type Shard struct {
	Index int `json:"index"` // from 1
	Of    int `json:"of"`
	// Cases is how many cases all parts have together, Digest the SHA-256, in hex,
	// of their keys and digests in order, and Places where this part's stand among
	// them, from 0: what it takes to put the parts together again.
	Cases  int    `json:"cases"`
	Digest string `json:"cases_digest"`
	Places []int  `json:"places"`
}

// ParseShard reads i/n.
func ParseShard(text string) (Shard, error) {
	index, of, ok := strings.Cut(text, "/")
	i, err := strconv.Atoi(index)
	n, nerr := strconv.Atoi(of)
	if !ok || err != nil || nerr != nil || n < 1 || n > MaxShards || i < 1 || i > n {
		return Shard{}, fmt.Errorf("%q is no part such as 3/8: the first number is 1 to the second, which is at most %d", text, MaxShards)
	}
	return Shard{Index: i, Of: n}, nil
}

// String is the part as it is written: 3/8.
func (s *Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Share says how much of the run the part has, for people: "" of nil, a whole run.
func (s *Shard) Share() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s (%d of %d cases)", s, len(s.Places), s.Cases)
}

// of keeps the cases of the part, and notes where they stood.
func (s *Shard) of(refs []CaseRef, cases []pack.Case) ([]CaseRef, []pack.Case) {
	s.Cases, s.Digest, s.Places = len(refs), casesDigest(refs), []int{}
	own, mine := []CaseRef{}, []pack.Case{}
	for i, ref := range refs {
		if s.has(ref) {
			s.Places, own, mine = append(s.Places, i), append(own, ref), append(mine, cases[i])
		}
	}
	return own, mine
}

// has takes the first 60 bits of the case's digest, which are as good as drawn.
func (s *Shard) has(ref CaseRef) bool {
	n, err := strconv.ParseUint(ref.Digest[:min(15, len(ref.Digest))], 16, 64)
	return err == nil && s.Of > 0 && n%uint64(s.Of) == uint64(s.Index-1) //nolint:gosec // both are checked to be positive
}

// casesDigest tells lists of cases apart.
func casesDigest(refs []CaseRef) string {
	h := sha256.New()
	for _, ref := range refs {
		fmt.Fprintf(h, "%d:%s%s\n", len(ref.Key), ref.Key, ref.Digest)
	}
	return hex.EncodeToString(h.Sum(nil))
}
