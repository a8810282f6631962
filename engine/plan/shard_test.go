package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/pack"
)

func TestParseShard(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"1/1": "1/1", "3/8": "3/8", "1000/1000": "1000/1000", "0/8": "", "9/8": "", "1/0": "",
		"-1/8": "", "1": "", "": "", "/": "", "a/b": "", "1/8/9": "", "1/1001": "", " 1/8": "", "1/99999999999999999999": ""} {
		s, err := ParseShard(text)
		if (err == nil) != (want != "") || err == nil && s.String() != want {
			t.Errorf("%q: got %s and %v", text, &s, err)
		}
	}
}

func someCases(n int) []CaseRef {
	refs := make([]CaseRef, n)
	for i := range refs {
		sum := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		refs[i] = CaseRef{Key: fmt.Sprint("case", i), Digest: hex.EncodeToString(sum[:])}
	}
	return refs
}

// Every case is in one part, which neither order nor other cases change, and the
// parts are put together to what was cut.
func TestPartsAreTheWhole(t *testing.T) {
	t.Parallel()
	refs := someCases(500)
	for _, n := range []int{1, 2, 3, 8, 64, 1000} {
		of := map[string]int{}
		parts := make([]Plan, n)
		for i := range n {
			s := &Shard{Index: i + 1, Of: n}
			own, _ := s.of(refs, make([]pack.Case, len(refs)))
			for _, ref := range own {
				if of[ref.Key] != 0 {
					t.Fatalf("%s is in parts %d and %d of %d", ref.Key, of[ref.Key], i+1, n)
				}
				of[ref.Key] = i + 1
			}
			if n == 8 && (len(own) < 40 || len(own) > 90) {
				t.Errorf("part %s has %d of %d cases", s, len(own), len(refs))
			}
			parts[i] = Plan{RunID: fmt.Sprint(i), Cases: own, Options: Options{Shard: s}}
		}
		if len(of) != len(refs) {
			t.Fatalf("%d of %d cases are in a part of %d", len(of), len(refs), n)
		}
		whole, err := allCases(parts)
		if err != nil || fmt.Sprint(whole) != fmt.Sprint(refs) {
			t.Errorf("%d parts: %v, or another order", n, err)
		}
		few := append([]CaseRef{}, refs[:100]...)
		rand.New(rand.NewPCG(1, 1)).Shuffle(len(few), func(i, j int) { few[i], few[j] = few[j], few[i] })
		for i := range n {
			own, _ := (&Shard{Index: i + 1, Of: n}).of(few, make([]pack.Case, len(few)))
			for _, ref := range own {
				if of[ref.Key] != i+1 {
					t.Fatalf("%s has moved from part %d to %d of %d", ref.Key, of[ref.Key], i+1, n)
				}
			}
		}
	}
}

// What a file says of a shard may be anything.
func TestMergeRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	refs := someCases(4)
	part := func(change func(*Shard)) []Plan {
		var parts []Plan
		for i := range 2 {
			s := &Shard{Index: i + 1, Of: 2}
			own, _ := s.of(refs, make([]pack.Case, len(refs)))
			if i == 1 {
				change(s)
			}
			parts = append(parts, Plan{RunID: fmt.Sprint(i), Name: fmt.Sprint("run", i), Cases: own, Options: Options{Shard: s}})
		}
		return parts
	}
	for want, change := range map[string]func(*Shard){
		"different numbers":          func(s *Shard) { s.Of = 1 << 40 },
		"different numbers of parts": func(s *Shard) { s.Index = 0 },
		"is there twice":             func(s *Shard) { s.Index = 1 },
		"different lists of cases":   func(s *Shard) { s.Cases = 1 << 40 },
		"places for them":            func(s *Shard) { s.Places = nil },
		"in another shard as well":   func(s *Shard) { s.Places[0] = -1 },
		"or has no place":            func(s *Shard) { s.Places[0] = 99 },
	} {
		_, err := Merge(part(change), nil, Request{NewID: func() string { return "" }, Now: time.Now})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	for _, s := range []Shard{{Index: 1, Of: 1 << 40}, {Index: 1, Of: -1}, {Index: 1, Of: 1, Cases: -1}, {Index: 1, Of: 1, Cases: 1 << 40}} {
		_, err := Merge([]Plan{{RunID: "r", Options: Options{Shard: &s}}}, nil, Request{})
		if err == nil || !strings.Contains(err.Error(), "cannot be") {
			t.Errorf("%+v: got %v", s, err)
		}
	}
}
