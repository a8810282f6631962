package scoring

import "encoding/json"

// Headline decodes a trial without what explains its scores: its final output,
// and of its scorecard the results of validators, metrics, signals and judges, the
// side metrics, the warnings and the events to look at. Comparisons and sessions of many trials, which
// read none of that, are spared most of the work.
func Headline(raw []byte) (Trial, error) {
	var h struct {
		Trial
		FinalOutput unread `json:"final_output"`
		Scorecard   *struct {
			Scorecard
			Warnings    unread `json:"warnings"`
			Validators  unread `json:"validators"`
			Metrics     unread `json:"metrics"`
			Signals     unread `json:"signals"`
			Judges      unread `json:"judges"`
			SideMetrics unread `json:"side_metrics"`
			Dimensions  []struct {
				DimensionResult
				Event unread `json:"event"`
			} `json:"dimensions"`
		} `json:"scorecard"`
	}
	err := json.Unmarshal(raw, &h)
	if card := h.Scorecard; card != nil {
		h.Trial.Scorecard = &card.Scorecard
		for _, d := range card.Dimensions {
			card.Scorecard.Dimensions = append(card.Scorecard.Dimensions, d.DimensionResult)
		}
	}
	return h.Trial, err
}

// unread is JSON that is passed over.
type unread struct{}

// UnmarshalJSON keeps nothing.
func (unread) UnmarshalJSON([]byte) error { return nil }
