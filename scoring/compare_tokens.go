package scoring

import (
	"strings"

	"github.com/agentclash/agentclash/scoring/similarity"
	"github.com/agentclash/agentclash/scoring/textnorm"
)

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
			r, shared := similarity.Tokens(strings.Fields(prepare(actual)), want)
			e := tokenEvidence{TokenF1, r.F, limit, r.Precision, r.Recall, shared}
			return rated(r.F, limit).with(e)
		}, nil
	}
}

// tokenPipeline: whatever is taken out of a text leaves no white space behind.
func tokenPipeline(s settings) func(string) string {
	var names []string
	if s.flag("normalize") {
		names = append(names, textnorm.Usual()...)
	}
	if s.flag("remove_punctuation") {
		names = append(names, textnorm.Punctuation)
	}
	if s.flag("remove_articles") {
		names = append(names, textnorm.Articles)
	}
	if len(names) > 0 {
		names = append(names, textnorm.Collapse, textnorm.Trim)
	}
	return textnorm.Pipeline(names)
}
