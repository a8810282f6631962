package review

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// MaxHistory is how many earlier runs a trend looks at.
const MaxHistory = 20

// Cluster is all failures of a run that have one cluster key.
type Cluster struct {
	Key            string      `json:"failure_cluster_key"`
	Representative string      `json:"representative_failure_fingerprint"` // the smallest
	Count          int         `json:"count"`
	Promotable     int         `json:"promotable_count"`
	Severity       string      `json:"severity"`      // the highest
	State          string      `json:"failure_state"` // the worst
	Class          string      `json:"failure_class"`
	Taxonomy       Taxonomy    `json:"failure_taxonomy"`
	Tier           string      `json:"evidence_tier"`
	ChallengeKeys  []string    `json:"challenge_keys"`
	CaseKeys       []string    `json:"case_keys"`
	RunAgentIDs    []string    `json:"run_agent_ids"`
	Headline       string      `json:"headline"`
	Action         string      `json:"recommended_action"`
	Remediation    Remediation `json:"remediation"`
	History        *History    `json:"history,omitempty"` // nil: no earlier runs were looked at
}

// History says how often earlier runs had a cluster.
type History struct {
	Trend         string     `json:"trend"`
	Window        int        `json:"window_run_count"`    // earlier runs that were looked at
	PriorRuns     int        `json:"prior_run_count"`     // of them those that had it
	PriorFailures int        `json:"prior_failure_count"` // in all of them
	LastRunID     string     `json:"last_seen_run_id,omitempty"`
	LastAt        *time.Time `json:"last_seen_at,omitempty"`
	LastCount     int        `json:"last_run_failure_count"`
}

// Earlier is what an earlier run of the same pack and the same agents had.
type Earlier struct {
	RunID  string
	At     time.Time
	Counts map[string]int // failures by cluster key
}

// Clusters brings items together and holds them against earlier runs, which are
// given newest first. The most severe and the largest come first.
func Clusters(items []Item, earlier []Earlier) []Cluster {
	at := map[string]int{}
	clusters := []Cluster{}
	for _, item := range items {
		i, ok := at[item.ClusterKey]
		if !ok {
			i = len(clusters)
			at[item.ClusterKey] = i
			clusters = append(clusters, newCluster(item))
		}
		clusters[i].add(item)
	}
	for i := range clusters {
		clusters[i].History = history(clusters[i], earlier)
	}
	slices.SortFunc(clusters, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(rank(Severities(), b.Severity), rank(Severities(), a.Severity)),
			cmp.Compare(b.Count, a.Count), strings.Compare(a.Key, b.Key))
	})
	return clusters
}

func newCluster(i Item) Cluster {
	return Cluster{
		Key: i.ClusterKey, Representative: i.Fingerprint, Severity: i.Severity, State: i.State, Class: i.Class,
		Taxonomy: i.Taxonomy, Tier: i.Tier, Headline: i.Headline, Action: i.Action, Remediation: i.Remediation,
	}
}

func (c *Cluster) add(i Item) {
	c.Count++
	if i.Promotable {
		c.Promotable++
	}
	c.Representative = min(c.Representative, i.Fingerprint)
	c.Severity = higher(Severities(), c.Severity, i.Severity)
	c.State = higher(States(), c.State, i.State)
	c.ChallengeKeys = sorted(append(c.ChallengeKeys, i.ChallengeKey))
	c.CaseKeys = sorted(append(c.CaseKeys, i.CaseKey))
	c.RunAgentIDs = sorted(append(c.RunAgentIDs, i.RunAgentID))
}

// history compares with the newest earlier run that had the cluster.
func history(c Cluster, earlier []Earlier) *History {
	h := &History{Trend: TrendNew, Window: len(earlier)}
	for _, run := range earlier {
		n := run.Counts[c.Key]
		if n == 0 {
			continue
		}
		if h.PriorRuns == 0 {
			h.LastRunID, h.LastAt, h.LastCount = run.RunID, new(run.At), n
		}
		h.PriorRuns++
		h.PriorFailures += n
	}
	switch {
	case h.PriorRuns == 0:
	case c.Count > h.LastCount:
		h.Trend = TrendIncreasing
	case c.Count < h.LastCount:
		h.Trend = TrendDecreasing
	default:
		h.Trend = TrendRecurring
	}
	return h
}

func rank(order []string, word string) int { return slices.Index(order, word) }

func higher(order []string, a, b string) string {
	if rank(order, b) > rank(order, a) {
		return b
	}
	return a
}

// Filter keeps items; an empty field keeps all.
type Filter struct {
	Agent    string // the run agent's label, or an id's tail of 6 letters or more
	Class    string
	Severity string
	State    string
	Tier     string
	Case     string
	Cluster  string // the key, or its beginning
}

// Keeps says whether an item is one of those asked for.
func (f Filter) Keeps(i Item) bool {
	agent := f.Agent == "" || strings.EqualFold(f.Agent, i.Agent) || len(f.Agent) >= 6 && strings.HasSuffix(i.RunAgentID, strings.ToLower(f.Agent))
	return agent && equal(f.Class, i.Class) && equal(f.Severity, i.Severity) && equal(f.State, i.State) && equal(f.Tier, i.Tier) &&
		(f.Case == "" || strings.EqualFold(f.Case, i.CaseKey)) && strings.HasPrefix(i.ClusterKey, f.Cluster)
}

func equal(want, got string) bool { return want == "" || want == got }
