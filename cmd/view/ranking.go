package view

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// RankingDocument is what `run ranking --json` prints. Ranking is null until
// State is "ready".
type RankingDocument struct {
	State   string   `json:"state"` // ready, pending or errored
	Message string   `json:"message"`
	Ranking *Ranking `json:"ranking"`
}

// Ranking is the order of the agents of a run and who won it.
type Ranking struct {
	RunID  string            `json:"run_id"`
	Sort   RankingSort       `json:"sort"`
	Winner scoring.Win       `json:"winner"`
	Items  List[RankingItem] `json:"items"`
}

// RankingSort says by what the agents are ordered.
type RankingSort struct {
	Field     string `json:"field"`
	Direction string `json:"direction"` // always desc: every score is better higher
}

// RankingItem is one agent and its place. Agents that are equal share a rank;
// rank 0 is an agent without the value that is ranked by.
type RankingItem struct {
	Rank           int      `json:"rank"`
	LaneIndex      int      `json:"lane_index"`
	HasScorecard   bool     `json:"has_scorecard"`
	SortValue      *float64 `json:"sort_value"`
	DeltaFromTop   *float64 `json:"delta_from_top"`
	CompositeScore *float64 `json:"composite_score"`
	Agent
}

// NewRanking makes the document of a ranking from standings that are already
// in order. The agents are found by their ids; one that is not among them is
// shown by its id alone.
func NewRanking(runID, sortedBy string, standings []scoring.Standing, win scoring.Win, agents []Agent) Ranking {
	r := Ranking{RunID: runID, Sort: RankingSort{Field: cmp.Or(sortedBy, "correctness"), Direction: "desc"}, Winner: win}
	for _, s := range standings {
		item := RankingItem{Rank: s.Rank, LaneIndex: s.Lane, HasScorecard: s.Scorecard != nil, SortValue: s.Value,
			DeltaFromTop: s.DeltaFromTop, Agent: Agent{RunAgentID: s.RunAgentID, Label: ShortID(s.RunAgentID)}}
		if s.Scorecard != nil {
			item.CompositeScore = s.Scorecard.Composite()
		}
		if i := slices.IndexFunc(agents, func(a Agent) bool { return a.RunAgentID == s.RunAgentID }); i >= 0 {
			item.Agent = agents[i]
		}
		r.Items = append(r.Items, item)
	}
	return r
}

// RankingTable writes the order of the agents, with a column for each
// dimension in the order the pack declares them.
func RankingTable(w io.Writer, r Ranking, o Options) error {
	p := newPrinter(w, o)
	t := Table{Columns: []Column{
		right("RANK"), left("AGENT"), whole("RESULT"), right("SCORE"), spare(right("COMPOSITE")), spare(right("BEHIND")),
		right("PASS RATE"), right("INVALID"),
	}}
	dimensions := dimensionKeys(r.Items)
	for _, key := range dimensions {
		t.Columns = append(t.Columns, Column{Title: strings.ToUpper(SanitizeLine(key)), Right: true, Spare: true})
	}
	invalid := make([]labelled, len(r.Items))
	winner := ""
	for i, item := range r.Items {
		t.Rows = append(t.Rows, rankingRow(item, dimensions))
		invalid[i] = labelled{item.Label, item.InvalidCauses}
		if item.RunAgentID == r.Winner.RunAgentID {
			winner = item.Label
		}
	}
	p.table(&t)
	p.blank()
	var b Details
	b.Add("Ranked by", r.Sort.Field)
	if winner == "" {
		b.Add("Winner", "nobody: "+r.Winner.ReasonCode)
	} else {
		b.Add("Winner", winner+" ("+r.Winner.ReasonCode+")")
	}
	p.details(b)
	p.invalidTable(invalid)
	return p.flush()
}

// dimensionKeys are those of the agent that has most: one that never ran has
// none.
func dimensionKeys(items []RankingItem) []string {
	var keys []string
	for _, item := range items {
		if len(item.Dimensions) <= len(keys) {
			continue
		}
		keys = keys[:0]
		for _, d := range item.Dimensions {
			keys = append(keys, d.Key)
		}
	}
	return keys
}

func rankingRow(item RankingItem, dimensions []string) []Cell {
	rank := absent
	if item.Rank > 0 {
		rank = strconv.Itoa(item.Rank)
	}
	row := []Cell{
		Text(rank), Text(item.Label), Status(item.result()), Text(Score(item.OverallScore)), Text(Score(item.CompositeScore)),
		Text(Score(item.DeltaFromTop)), Text(Percent(item.PassRate)), invalidCell(item.InvalidTrials),
	}
	for _, key := range dimensions {
		d, _ := item.Dimensions.Get(key)
		row = append(row, Text(Score(d.Score)))
	}
	return row
}
