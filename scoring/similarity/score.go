package similarity

import (
	"fmt"
	"math"
)

// Shared is how much of a candidate is in a reference (Precision), how much of
// the reference is in the candidate (Recall), and both in one number (F).
type Shared struct {
	Precision, Recall, F float64
}

// Tokens compares words as a bag: overlap is how many both texts have,
// precision overlap/|got|, recall overlap/|want| and F their harmonic mean. Two
// texts without words are the same.
func Tokens(got, want []string) (s Shared, overlap int) {
	if len(got) == 0 && len(want) == 0 {
		return Shared{1, 1, 1}, 0
	}
	overlap = common(got, want)
	s.Precision, s.Recall = ratio(overlap, len(got)), ratio(overlap, len(want))
	s.F = fScore(s.Precision, s.Recall, 1)
	return s, overlap
}

// common is how many words two texts share, each as often as both have it.
func common(a, b []string) int {
	left := make(map[string]int, len(b))
	for _, word := range b {
		left[word]++
	}
	n := 0
	for _, word := range a {
		if left[word] > 0 {
			left[word]--
			n++
		}
	}
	return n
}

// ratio is a part of a whole; of nothing it is 0.
func ratio(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// fScore weighs precision and recall, (1+b²)PR/(b²P+R); beta is how much more
// recall counts. Every product is converted, which keeps machines that can
// multiply and add at once from rounding in another way.
func fScore(precision, recall, beta float64) float64 {
	square := float64(beta * beta)
	switch {
	case precision == 0 || recall == 0:
		return 0
	case math.IsInf(square, 0):
		return recall
	}
	weighted := float64(square * precision)
	return min(float64((1+square)*precision*recall)/(weighted+recall), 1)
}

func longest[T any](texts [][]T) int {
	n := 0
	for _, text := range texts {
		n = max(n, len(text))
	}
	return n
}

// maxGrams is how many sequences of words or characters are counted.
const maxGrams = 16_000_000

// countable refuses texts with too many sequences of up to order elements.
func countable[T any](order int, texts ...[]T) error {
	n := 0
	for _, text := range texts {
		n += len(text) * min(order, len(text)) // two texts of this length fit into memory, so this fits
		if n > maxGrams {
			return fmt.Errorf("the text has more than %d sequences of up to %d; no more are counted", maxGrams, order)
		}
	}
	return nil
}
