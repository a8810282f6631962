package similarity

import "slices"

// grams counts what sequences of n elements a candidate shares with its
// references, for n from 1 up. Sequences that the candidate does not have are
// not told apart.
type grams struct {
	order    int
	texts    [][]int32 // the candidate first
	names    [][]int32 // by place: which sequence of order elements begins there, or unknown
	distinct int       // sequences of the candidate
	used     []int32   // by sequence; all 0 between calls
}

const unknown = -1

func newGrams[T comparable](candidate []T, references [][]T) *grams {
	known := make(map[T]int32, len(candidate))
	g := &grams{order: 1}
	for i, text := range append([][]T{candidate}, references...) {
		ids := make([]int32, len(text))
		for j, element := range text {
			ids[j] = gramName(known, element, i == 0)
		}
		g.texts = append(g.texts, ids)
		g.names = append(g.names, slices.Clone(ids))
	}
	g.distinct, g.used = len(known), make([]int32, len(candidate))
	return g
}

// gramName is the number of what stands in a text. The candidate, which comes
// first, numbers what is new; in a reference that is unknown.
func gramName[T comparable](known map[T]int32, what T, candidate bool) int32 {
	name, ok := known[what]
	switch {
	case ok:
	case candidate:
		name = int32(len(known))
		known[what] = name
	default:
		name = unknown
	}
	return name
}

// next goes on to sequences of one element more: each is one of the present
// ones and the element that follows.
func (g *grams) next() {
	known := make(map[uint64]int32, g.size(0))
	for i, names := range g.names {
		longer := names[:max(0, len(names)-1)]
		for j := range longer {
			follows := g.texts[i][j+g.order]
			if names[j] == unknown || follows == unknown {
				longer[j] = unknown
				continue
			}
			pair := uint64(names[j])<<32 | uint64(follows)
			longer[j] = gramName(known, pair, i == 0)
		}
		g.names[i] = longer
	}
	g.order++
	g.distinct = len(known)
}

// size is how many sequences a text has; the candidate is text 0.
func (g *grams) size(text int) int { return len(g.names[text]) }

// tally counts the sequences of the candidate.
func (g *grams) tally() []int32 {
	counts := make([]int32, g.distinct)
	for _, name := range g.names[0] {
		counts[name]++
	}
	return counts
}

// shared is how many sequences the candidate has in common with one reference,
// each as often as both have it.
func (g *grams) shared(text int, counts []int32) int {
	n := 0
	for _, name := range g.names[text] {
		if name != unknown && g.used[name] < counts[name] {
			g.used[name]++
			n++
		}
	}
	g.forget(text)
	return n
}

// covered is how many sequences of the candidate the references have, each as
// often as the reference that has it most.
func (g *grams) covered() int {
	most := make([]int32, g.distinct)
	for text := 1; text < len(g.names); text++ {
		for _, name := range g.names[text] {
			if name != unknown {
				g.used[name]++
				most[name] = max(most[name], g.used[name])
			}
		}
		g.forget(text)
	}
	n := 0
	for name, count := range g.tally() {
		n += int(min(count, most[name]))
	}
	return n
}

func (g *grams) forget(text int) {
	for _, name := range g.names[text] {
		if name != unknown {
			g.used[name] = 0
		}
	}
}
