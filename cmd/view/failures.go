package view

import (
	"io"
	"strconv"

	"github.com/agentclash/agentclash/scoring/review"
)

// FailuresDocument is what `run failures --json` prints: one page of the items,
// and as many of the largest clusters of all of them.
type FailuresDocument struct {
	RunID        string               `json:"run_id"`
	RunName      string               `json:"run_name"`
	RunStatus    string               `json:"run_status"`
	Total        int                  `json:"total"`
	Items        List[review.Item]    `json:"items"`
	ClusterTotal int                  `json:"cluster_total"`
	Clusters     List[review.Cluster] `json:"clusters"`
	NextCursor   string               `json:"next_cursor,omitempty"`
}

// Failures writes one row a failure, what each cluster of them hangs on, and how
// it compares with earlier runs.
func Failures(w io.Writer, d FailuresDocument, o Options) error {
	p := newPrinter(w, o)
	t := Table{Columns: []Column{
		whole("TRIAL"), left("AGENT"), left("CHALLENGE"), left("CASE"), whole("STATE"), whole("SEVERITY"), left("CLASS"),
		spare(left("TAXONOMY")), whole("PROMOTABLE"),
	}}
	for _, i := range d.Items {
		t.Add(Text(o.ID(i.TrialID)), Text(i.Agent), Text(i.ChallengeKey), Text(i.CaseKey), Status(i.State), Status(i.Severity),
			Text(i.Class), Text(i.Taxonomy.Code), Text(yesNo(i.Promotable)))
	}
	p.table(&t)
	p.clusters(d)
	if d.NextCursor != "" {
		p.blank()
		p.line("Next cursor: " + d.NextCursor)
	}
	return p.flush()
}

// clusterDigits is how much of a cluster's key a table shows: enough to select it
// by.
const clusterDigits = len("frc_") + 8

func (p *printer) clusters(d FailuresDocument) {
	if len(d.Clusters) == 0 {
		return
	}
	t := Table{Columns: []Column{
		whole("CLUSTER"), right("COUNT"), right("PROMOTABLE"), whole("TREND"), right("PRIOR RUNS"), whole("SEVERITY"), left("CLASS"),
		spare(left("TAXONOMY")), spare(left("CHALLENGES")),
	}}
	for _, c := range d.Clusters {
		trend, prior := "", ""
		if h := c.History; h != nil {
			trend, prior = h.Trend, strconv.Itoa(h.PriorRuns)
		}
		challenges := ""
		for i, key := range c.ChallengeKeys {
			if i > 0 {
				challenges += ", "
			}
			challenges += key
		}
		t.Add(Text(c.Key[:min(len(c.Key), clusterDigits)]), Text(strconv.Itoa(c.Count)), Text(strconv.Itoa(c.Promotable)), Text(trend), Text(prior),
			Status(c.Severity), Text(c.Class), Text(c.Taxonomy.Code), Text(challenges))
	}
	p.blank()
	p.table(&t)
	p.blank()
	for _, c := range d.Clusters {
		p.line(SanitizeLine(c.Key[:min(len(c.Key), clusterDigits)]) + "  " + SanitizeLine(c.Headline))
		p.text(4, "do: "+c.Action)
	}
	if rest := d.ClusterTotal - len(d.Clusters); rest > 0 {
		p.line("and " + count(rest, "cluster") + " more")
	}
}
