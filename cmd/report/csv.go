package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/cmd/view"
)

// writeCSV writes a row for each trial. Text cells are harmless in spreadsheets;
// numbers are written as they are.
func writeCSV(w io.Writer, r Run) error {
	out := csv.NewWriter(w)
	header := []string{"run_id", "agent", "case_key", "repetition", "attempt", "outcome", "code", "phase", "score", "cost_usd", "latency_ms", "reason", "unmet", "trial_id", "final_output"}
	if err := out.Write(header); err != nil {
		return err
	}
	for _, a := range r.Agents {
		err := a.each(func(t view.Trial) error {
			output := ""
			if t.FinalOutput != nil {
				output = *t.FinalOutput
			}
			return out.Write([]string{
				inCSV(r.ID), inCSV(a.Label), inCSV(t.CaseKey), strconv.Itoa(t.Repetition), strconv.Itoa(t.Attempt),
				inCSV(string(t.Outcome)), inCSV(t.Code), inCSV(t.Phase), figure(t.OverallScore), figure(t.CostUSD), whole(t.LatencyMS),
				inCSV(t.Why()), inCSV(strings.Join(unmet(t), "; ")), inCSV(t.TrialID), inCSV(output),
			})
		})
		if err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// whole is a whole number, "" for none.
func whole(v *int64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(*v, 10)
}

// figure is a number in full, "" for none.
func figure(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
