package engine

import (
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/scoring"
)

// Sum says how a run ended whose attempts are all in planned.Before: what [Run]
// would have said after the last of them. The plan must have its pack.
func Sum(planned *plan.Plan) Result {
	r := &run{plan: planned}
	for i := range planned.Agents {
		l := &lane{total: scoring.NewAggregator(planned.Spec, planned.Options.MinPassRate)}
		prior := planned.Prior(i)
		for j, t := range prior {
			l.add(t, j+1 == len(prior) || prior[j+1].TrialID != t.TrialID)
		}
		r.lanes = append(r.lanes, l)
	}
	return r.result(nil)
}
