package view

import (
	"io"
	"strconv"
)

// Why a trial was run, or an earlier one stands for it.
const (
	Unchanged      = "unchanged"        // reused
	SourceGone     = "source_gone"      // reused of a run that has been removed since
	NoEarlierTrial = "no_earlier_trial" // run
	Changed        = "changed"          // run
	Undecided      = "undecided"        // run: the earlier trial neither passed nor failed
	Hindered       = "hindered"         // run: the earlier trial can stand for none, see Obstacle
	NotAsked       = "not_asked"        // run: without --affected every trial is
	NotLookedAt    = "not_looked_at"    // run: --since named other runs
)

// ExplainDocument says why the trials of a case were run.
type ExplainDocument struct {
	RunID   string          `json:"run_id"`
	RunName string          `json:"run_name"`
	CaseKey string          `json:"case_key"`
	Trials  List[Explained] `json:"trials"`
}

// Explained is one trial, and how it differs from an earlier one.
type Explained struct {
	Agent      string `json:"agent"`
	Repetition int    `json:"repetition"`
	TrialID    string `json:"trial_id"`
	Status     string `json:"status"`
	Reused     bool   `json:"reused"`
	Reason     string `json:"reason"`
	Obstacle   string `json:"obstacle,omitempty"` // why the trial that was compared with stands for no other
	// Than is the trial that was compared with, null for none.
	Than        *EarlierTrial    `json:"compared_with"`
	Differences List[Difference] `json:"differences"`
}

// EarlierTrial is a trial of an earlier run.
type EarlierTrial struct {
	RunID   string `json:"run_id"`
	RunName string `json:"run_name"`
	TrialID string `json:"trial_id"`
	Status  string `json:"status"`
}

// Difference is a place where the inputs of two trials differ. Was and Is are
// excerpts of JSON, "" for nothing.
type Difference struct {
	Part    string `json:"part"`
	Scoring bool   `json:"scoring_only"`
	Path    string `json:"path"`
	Was     string `json:"was"`
	Is      string `json:"is"`
}

// Explain writes why the trials of a case were run.
func Explain(w io.Writer, d ExplainDocument, o Options) error {
	p := newPrinter(w, o)
	var b Details
	b.Add("Run", runName(d.RunName, d.RunID, o))
	b.Add("Case", d.CaseKey)
	p.details(b)
	for _, t := range d.Trials {
		p.blank()
		p.text(0, t.Agent+", repetition "+strconv.Itoa(t.Repetition)+" ("+t.Status+"): "+t.why(p.o))
		for _, c := range t.Differences {
			p.text(2, c.text())
		}
	}
	return p.flush()
}

func (t Explained) why(o Options) string {
	than := ""
	if t.Than != nil {
		than = runName(t.Than.RunName, t.Than.RunID, o)
	}
	switch t.Reason {
	case Unchanged:
		s := "not run: the trial of " + than + " stands for it, since nothing that changes the agent's behaviour is different"
		if len(t.Differences) > 0 {
			s += "; it was scored again by what is different"
		}
		return s
	case SourceGone:
		return "not run: a trial of a run that has been removed since stood for it"
	case Changed:
		return "run: different from the trial of " + than
	case Undecided:
		return "run: the same trial of " + than + " was " + t.Than.Status + ", which decides nothing"
	case Hindered:
		return "run: the trial of " + than + " cannot stand for it: " + t.Obstacle
	case NotAsked:
		return "run: --affected was not asked for; the trial of " + than + " would have stood for it"
	case NotLookedAt:
		return "run: the same trial of " + than + " was not among those that --since named"
	}
	return "run: no earlier run of the pack has a trial of this case and repetition"
}

func (d Difference) text() string {
	s := d.Part
	if d.Path != "" {
		s += ": " + d.Path
	}
	if d.Scoring {
		s += " (scoring only)"
	}
	switch {
	case d.Was == "" && d.Is == "":
		return s
	case d.Was == "":
		return s + ": is " + d.Is + ", was not there"
	case d.Is == "":
		return s + ": was " + d.Was + ", is gone"
	}
	return s + ": was " + d.Was + ", is " + d.Is
}
