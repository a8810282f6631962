package similarity

import (
	"fmt"
	"slices"
)

// Variant is what ROUGE compares.
type Variant string

// The variants of ROUGE, by the names of the pack format.
const (
	Words    Variant = "rouge-1" // words
	Pairs    Variant = "rouge-2" // pairs of words
	Sequence Variant = "rouge-l" // the longest common subsequence
)

// ROUGE is the F of what a candidate and a reference have in common.
type ROUGE struct {
	Variant Variant
	Beta    float64 // how much more recall counts
}

// maxCells is how many steps longest common subsequences may take.
const maxCells = 256_000_000

// Fits refuses reference texts that no candidate can be compared with.
func (m ROUGE) Fits(refs [][]string) error { return countable(2, refs...) }

// Score rates a candidate against the references; the best of them counts.
// Two texts without words have nothing in common.
func (m ROUGE) Score(candidate []string, refs [][]string) (Shared, error) {
	if err := m.bounded(candidate, refs); err != nil {
		return Shared{}, err
	}
	return m.score(candidate, refs), nil
}

// bounded refuses texts that would take too long to compare.
func (m ROUGE) bounded(candidate []string, refs [][]string) error {
	if err := countable(2, candidate); err != nil || m.Variant != Sequence {
		return err
	}
	cells := 0
	for _, ref := range refs {
		rows, columns := min(len(ref), len(candidate)), max(len(ref), len(candidate))
		if cells += (rows/wordBits + 1) * columns; cells > maxCells {
			return fmt.Errorf("%d words are too many for a longest common subsequence with the reference texts", len(candidate))
		}
	}
	return nil
}

func (m ROUGE) score(candidate []string, refs [][]string) Shared {
	g := newGrams(candidate, refs)
	if m.Variant == Pairs {
		g.next()
	}
	common := m.common(g)
	var best Shared
	for i := range refs {
		n := common(i + 1)
		p, q := ratio(n, g.size(0)), ratio(n, g.size(i+1))
		if f := fScore(p, q, m.Beta); f > best.F || i == 0 {
			best = Shared{Precision: p, Recall: q, F: f}
		}
	}
	return best
}

// common counts what the candidate and one reference have in common.
func (m ROUGE) common(g *grams) func(text int) int {
	if m.Variant != Sequence {
		counts := g.tally()
		return func(text int) int { return g.shared(text, counts) }
	}
	equal := make([]uint64, g.distinct)
	return func(text int) int {
		known := slices.DeleteFunc(slices.Clone(g.texts[text]), func(word int32) bool { return word == unknown })
		return commonLength(g.texts[0], known, equal)
	}
}
