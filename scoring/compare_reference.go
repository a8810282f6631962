package scoring

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/agentclash/agentclash/scoring/jsondoc"
	"github.com/agentclash/agentclash/scoring/similarity"
)

// bleuEvidence is the evidence of a bleu_score.
type bleuEvidence struct {
	Kind       string    `json:"kind"`
	Score      float64   `json:"score"`
	Threshold  float64   `json:"threshold"`
	Precisions []float64 `json:"precisions"` // of the first orders
	Brevity    float64   `json:"brevity_penalty"`
	Candidate  int       `json:"candidate_length"`
	Reference  int       `json:"reference_length,omitempty"`
	Orders     int       `json:"computed_orders,omitempty"`
}

// smoothSome gives an order without a match a little, but for the first.
const smoothSome = "method1"

func bleuScore(s settings) matcher {
	orders, _ := s.integer("max_ngram")
	measure := similarity.BLEU{Orders: int(min(orders, math.MaxInt32)), Smooth: s.text("smoothing") == smoothSome}
	limit := threshold(s)
	return againstReferences(wordsOf(s), measure.Fits, func(candidate []string, refs [][]string) (finding, error) {
		r, err := measure.Score(candidate, refs)
		e := bleuEvidence{BLEUScore, r.Score, limit, r.Precisions, r.Brevity, len(candidate), r.Reference, r.Orders}
		return rated(r.Score, limit).with(e), err
	})
}

// The variants of rouge_score.
const (
	rougeWords    = string(similarity.Words)
	rougePairs    = string(similarity.Pairs)
	rougeSequence = string(similarity.Sequence)
)

// rougeEvidence is the evidence of a rouge_score: its best reference's.
type rougeEvidence struct {
	Kind      string  `json:"kind"`
	Score     float64 `json:"score"`
	Threshold float64 `json:"threshold"`
	Variant   string  `json:"variant"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
}

func rougeScore(s settings) matcher {
	beta, _ := s.number("beta")
	measure := similarity.ROUGE{Variant: similarity.Variant(s.text("variant")), Beta: beta}
	limit := threshold(s)
	return againstReferences(wordsOf(s), measure.Fits, func(candidate []string, refs [][]string) (finding, error) {
		r, err := measure.Score(candidate, refs)
		e := rougeEvidence{ROUGEScore, r.F, limit, string(measure.Variant), r.Precision, r.Recall}
		return rated(r.F, limit).with(e), err
	})
}

// chrfEvidence is the evidence of a chrf_score: its best reference's.
type chrfEvidence struct {
	Kind      string  `json:"kind"`
	Score     float64 `json:"score"`
	Threshold float64 `json:"threshold"`
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	Orders    int     `json:"computed_orders"`
}

func chrfScore(s settings) matcher {
	orders, _ := s.integer("char_order")
	beta, _ := s.number("beta")
	measure := similarity.ChrF{Orders: int(min(orders, math.MaxInt32)), Beta: beta}
	limit := threshold(s)
	return againstReferences(charactersOf(s), measure.Fits, func(candidate []rune, refs [][]rune) (finding, error) {
		r, err := measure.Score(candidate, refs)
		e := chrfEvidence{ChrFScore, r.Score, limit, r.Precision, r.Recall, r.Orders}
		return rated(r.Score, limit).with(e), err
	})
}

// againstReferences compares with one or more reference texts: cut makes the
// elements of a text, fits refuses reference texts that are too large, and rate
// refuses a candidate that is.
func againstReferences[T any](cut func(string) []T, fits func([][]T) error, rate func([]T, [][]T) (finding, error)) matcher {
	return func(expected string) (comparison, error) {
		refs, err := references(expected, cut)
		if err == nil {
			err = fits(refs)
		}
		if err != nil {
			return nil, err
		}
		return func(actual string) finding {
			f, err := rate(cut(actual), refs)
			if err != nil {
				return senseless(err.Error())
			}
			return f
		}, nil
	}
}

// wordsOf cuts a text, prepared as the config says, into words.
func wordsOf(s settings) func(string) []string {
	prepare := preparation(s)
	return func(text string) []string { return strings.Fields(prepare(text)) }
}

// charactersOf cuts a text, prepared as the config says, into characters and
// leaves white space out.
func charactersOf(s settings) func(string) []rune {
	prepare := preparation(s)
	return func(text string) []rune {
		var out []rune
		for _, c := range prepare(text) {
			if !unicode.IsSpace(c) {
				out = append(out, c)
			}
		}
		return out
	}
}

// parseReferences reads the texts that an expected text stands for: those of a
// JSON list, else itself.
func parseReferences(expected string) ([]string, error) {
	text := strings.TrimSpace(expected)
	switch {
	case text == "":
		return []string{""}, nil
	case text[0] != '[':
		return []string{expected}, nil
	}
	doc, err := jsondoc.Decode(strings.NewReader(text))
	list, ok := doc.([]any)
	switch {
	case err != nil || !ok:
		return []string{expected}, nil
	case len(list) == 0:
		return nil, errors.New("the list of reference texts is empty")
	}
	texts := make([]string, len(list))
	for i, item := range list {
		if texts[i], ok = item.(string); !ok {
			return nil, fmt.Errorf("item %d of the list of reference texts is no text", i+1)
		}
	}
	return texts, nil
}

// references are the texts of an expected text, each cut into its elements.
func references[T any](expected string, cut func(string) []T) ([][]T, error) {
	texts, err := parseReferences(expected)
	if err != nil {
		return nil, err
	}
	out := make([][]T, len(texts))
	for i, text := range texts {
		out[i] = cut(text)
	}
	return out, nil
}
