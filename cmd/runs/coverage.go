package runs

import (
	"context"
	"slices"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/store"
)

// regressionCoverage says how the run did on the cases of regression suites. A case
// passed when every agent passed often enough, and failed when one did not; it is
// neither while an agent has no valid trial.
func regressionCoverage(ctx context.Context, db *store.DB, r store.Run, planned plan.Plan) (*view.RegressionCoverage, error) {
	out := &view.RegressionCoverage{}
	for _, c := range planned.Cases {
		if len(c.Regressions) == 0 {
			out.UnmatchedCases++
		}
	}
	if out.UnmatchedCases == len(planned.Cases) {
		return out, nil
	}
	passed, failed, err := caseVerdicts(ctx, db, r, planned.Options.MinPassRate)
	if err != nil {
		return nil, err
	}
	for _, c := range planned.Cases {
		for _, ref := range c.Regressions {
			i := slices.IndexFunc(out.Suites, func(s view.SuiteCoverage) bool { return s.ID == ref.Suite })
			if i < 0 {
				i = len(out.Suites)
				out.Suites = append(out.Suites, view.SuiteCoverage{ID: ref.Suite, Name: ref.Suite})
			}
			s := &out.Suites[i]
			s.CaseCount++
			switch {
			case failed[c.Key] > 0:
				s.FailCount++
			case passed[c.Key] == len(planned.Agents):
				s.PassCount++
			}
		}
	}
	return out, nil
}

// caseVerdicts counts the agents that passed and that failed each case.
func caseVerdicts(ctx context.Context, db *store.DB, r store.Run, least float64) (passed, failed map[string]int, err error) {
	passed, failed = map[string]int{}, map[string]int{}
	agents, err := db.RunAgents(ctx, r.ID)
	if err != nil {
		return nil, nil, err
	}
	for _, agent := range agents {
		err := db.CaseCounts(ctx, agent.ID, func(c store.CaseCount) {
			switch valid := c.Passed + c.Failed; {
			case valid == 0:
			case float64(c.Passed)/float64(valid) >= least:
				passed[c.CaseKey]++
			default:
				failed[c.CaseKey]++
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return passed, failed, nil
}
