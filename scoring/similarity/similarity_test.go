package similarity_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/agnivade/levenshtein"

	"github.com/agentclash/agentclash/scoring/similarity"
)

// The distance that is worked out 64 cells at a time is the one that is worked
// out cell by cell: short and long texts, alike and not.
func TestEdits(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 800 {
		a, b := letters(r, r.IntN(700), 1+i%5), letters(r, r.IntN(700), 1+i%5)
		switch i % 4 {
		case 0:
			b = edited(r, a, r.IntN(90))
		case 1: // the beginning moves to the end, so that the way is far from the diagonal
			k := r.IntN(len(a) + 1)
			b = slices.Concat(a[k:], b[:min(len(b), r.IntN(150))], a[:k])
		case 2:
			k := r.IntN(len(a) + 1)
			b = slices.Concat(a[min(k, 40):], letters(r, r.IntN(300), 3))
		}
		want := levenshtein.ComputeDistance(string(a), string(b))
		if got := similarity.Edits(a, b); got != want {
			t.Fatalf("%q and %q: got %d, want %d", string(a), string(b), got, want)
		}
	}
}

// So is the length of the longest common subsequence.
func TestCommonSubsequence(t *testing.T) {
	t.Parallel()
	m, r := similarity.ROUGE{Variant: similarity.Sequence, Beta: 1}, rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		a, b := letters(r, 1+r.IntN(300), 2+i%9), letters(r, 1+r.IntN(300), 2+i%9)
		want := float64(commonByCells(a, b)) / float64(len(a))
		got, err := m.Score(words(a), [][]string{words(b)})
		if err != nil || got.Precision != want {
			t.Fatalf("%q and %q: got %v, %v, want %v", string(a), string(b), got, err, want)
		}
	}
}

func commonByCells(a, b []rune) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			row[j+1] = max(above, row[j])
			if x == y {
				row[j+1] = diagonal + 1
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

func letters(r *rand.Rand, n, kinds int) []rune {
	out := make([]rune, n)
	for i := range out {
		out[i] = 'a' + rune(r.IntN(kinds))
	}
	return out
}

// edited is a text after some random edits.
func edited(r *rand.Rand, text []rune, edits int) []rune {
	out := append([]rune{}, text...)
	for range edits {
		i := r.IntN(len(out) + 1)
		switch r.IntN(3) {
		case 0:
			out = append(out[:i], append([]rune{'ü'}, out[i:]...)...)
		case 1:
			out = append(out[:min(i, len(out))], out[min(i+1, len(out)):]...)
		default:
			if i < len(out) {
				out[i] = 'z'
			}
		}
	}
	return out
}

// words takes every letter for a word.
func words(text []rune) []string { return strings.Split(string(text), "") }

// What is refused is refused at once, whatever else it would take.
func TestBounds(t *testing.T) {
	t.Parallel()
	many := strings.Fields(strings.Repeat("a b ", 150_000))
	if err := (similarity.BLEU{Orders: 1000}).Fits([][]string{many}); err == nil {
		t.Error("BLEU takes 300 million sequences")
	}
	if _, err := (similarity.BLEU{Orders: 1000}).Score(many, [][]string{many}); err == nil {
		t.Error("BLEU takes a candidate with 300 million sequences")
	}
	if _, err := (similarity.ROUGE{Variant: similarity.Sequence, Beta: 1}).Score(many, [][]string{many}); err == nil {
		t.Error("ROUGE takes a subsequence of more than a thousand million cells")
	}
	if _, err := (similarity.ChrF{Orders: 100, Beta: 2}).Score([]rune(strings.Repeat("x", 200_000)), [][]rune{[]rune(strings.Repeat("y", 200_000))}); err == nil {
		t.Error("chrF takes 20 million sequences")
	}
}

// FuzzScores: every score is within 0 and 1, and a text is like itself.
func FuzzScores(f *testing.F) {
	f.Add("the cat sat", "the cat", 4, 1.0)
	f.Add("", "a", 1, 1e200)
	f.Add("a\xffb", "ß ß", 3, 1e-200)
	f.Fuzz(func(t *testing.T, a, b string, orders int, beta float64) {
		if orders < 1 || !(beta > 0) {
			return
		}
		got, want := strings.Fields(a), strings.Fields(b)
		tokens, _ := similarity.Tokens(got, want)
		bleu, err1 := similarity.BLEU{Orders: orders, Smooth: true}.Score(got, [][]string{want, got})
		rouge, err2 := similarity.ROUGE{Variant: similarity.Sequence, Beta: beta}.Score(got, [][]string{want})
		pairs, err3 := similarity.ROUGE{Variant: similarity.Pairs, Beta: beta}.Score(got, [][]string{want})
		chrf, err4 := similarity.ChrF{Orders: orders, Beta: beta}.Score([]rune(a), [][]rune{[]rune(b)})
		for i, err := range []error{err1, err2, err3, err4} {
			if err != nil {
				t.Errorf("comparison %d of two short texts: %v", i, err)
			}
		}
		for i, v := range []float64{tokens.F, bleu.Score, rouge.F, pairs.F, chrf.Score} {
			if math.IsNaN(v) || v < 0 || v > 1 {
				t.Errorf("score %d of %q and %q is %v", i, a, b, v)
			}
		}
		if n := similarity.Edits([]rune(a), []rune(b)); n != levenshtein.ComputeDistance(string([]rune(a)), string([]rune(b))) {
			t.Errorf("%q and %q are %d edits apart", a, b, n)
		}
	})
}
