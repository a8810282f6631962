package scoring

import "strings"

// tokenEvidence is the evidence of a token_f1.
type tokenEvidence struct {
	Kind      string  `json:"kind"`
	Score     float64 `json:"score"`
	Threshold float64 `json:"threshold"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	Overlap   int     `json:"overlap_token_count"`
}

func tokenF1(s settings) matcher {
	prepare, limit := tokenPipeline(s), threshold(s)
	return func(expected string) (comparison, error) {
		want := strings.Fields(prepare(expected))
		return func(actual string) finding {
			got := strings.Fields(prepare(actual))
			e := tokenEvidence{Kind: TokenF1, Threshold: limit, Overlap: overlap(got, want)}
			if len(got) == 0 && len(want) == 0 {
				e.Precision, e.Recall = 1, 1
			} else {
				e.Precision, e.Recall = ratio(e.Overlap, len(got)), ratio(e.Overlap, len(want))
			}
			e.Score = fScore(e.Precision, e.Recall, 1)
			return rated(e.Score, limit).with(e)
		}, nil
	}
}

// tokenPipeline: whatever is taken out of a text leaves no white space behind.
func tokenPipeline(s settings) func(string) string {
	var names []string
	if s.flag("normalize") {
		names = append(names, usualSteps()...)
	}
	if s.flag("remove_punctuation") {
		names = append(names, stepPunctuation)
	}
	if s.flag("remove_articles") {
		names = append(names, stepArticles)
	}
	if len(names) > 0 {
		names = append(names, stepCollapse, stepTrim)
	}
	return pipeline(names)
}

// overlap is how many words two texts share, each as often as both have it.
func overlap(a, b []string) int {
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

// fScore weighs precision and recall; beta is how much more recall counts. The
// products are rounded one by one, so that every machine has the same bits.
func fScore(precision, recall, beta float64) float64 {
	square := beta * beta
	switch {
	case precision == 0 || recall == 0:
		return 0
	case !finite(square):
		return recall
	}
	weighted := float64(square * precision)
	return min(float64((1+square)*precision*recall)/(weighted+recall), 1)
}
