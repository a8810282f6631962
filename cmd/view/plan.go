package view

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/agentclash/agentclash/scoring/sequential"
)

// PlanDocument is what `eval start --dry-run` prints: everything the run would
// do, and the most it could cost.
type PlanDocument struct {
	Name         string          `json:"name"`
	Pack         Pack            `json:"pack"`
	Digest       string          `json:"digest"`
	InputSet     string          `json:"input_set"`
	Shard        string          `json:"shard,omitempty"` // the part of the cases that would be run
	Mode         string          `json:"execution_mode"`
	Sandbox      string          `json:"sandbox"` // docker, scratch or empty
	Image        string          `json:"image"`
	Agents       List[PlanAgent] `json:"agents"`
	Cases        List[string]    `json:"cases"`
	Repetitions  int             `json:"repetitions"`
	Trials       int             `json:"trials"`
	Reused       int             `json:"reused_trials"` // of these, for which earlier ones stand
	Concurrency  int             `json:"concurrency"`
	Seed         int64           `json:"seed"`
	RetryInvalid int             `json:"retry_invalid"`
	MinPassRate  float64         `json:"min_pass_rate"`
	MaxInvalid   int             `json:"max_invalid"`
	// Judges are the models that judge, as provider/model, and where, if not at
	// the provider's own address. MaxJudgeCostUSD is the
	// ceiling of all that they are asked, null when there is none; JudgeCostReason
	// says why.
	Judges            List[string] `json:"judges"`
	MaxJudgeQuestions int          `json:"max_judge_questions"` // each may take several tries
	MaxJudgeCostUSD   *float64     `json:"max_judge_cost_usd"`
	JudgeCostReason   string       `json:"judge_cost_reason,omitempty"`
	// Simulators are the models that play users, likewise; left out where none do.
	Simulators           List[string] `json:"simulators,omitempty"`
	MaxSimulatorMessages int          `json:"max_simulator_messages,omitempty"`
	MaxSimulatorCostUSD  *float64     `json:"max_simulator_cost_usd,omitempty"`
	SimulatorCostReason  string       `json:"simulator_cost_reason,omitempty"`
	// Until is the test that would end the run; null: every trial is run.
	Until *sequential.Test `json:"until_decided,omitempty"`
	// BudgetUSD and Deadline end the run; null: they do not.
	BudgetUSD *float64   `json:"budget_usd"`
	Deadline  *time.Time `json:"deadline"`
	// MaxCostUSD is the price ceiling of the whole run, all these included, null
	// when some part has none and there is no budget.
	MaxCostUSD *float64 `json:"max_cost_usd"`
}

// PlanAgent is one lane of the plan, with the limits of one trial.
type PlanAgent struct {
	Label          string `json:"label"`
	Model          string `json:"model"` // provider/model
	MaxIterations  int    `json:"max_iterations"`
	MaxToolCalls   int    `json:"max_tool_calls"`
	RunTimeoutSecs int    `json:"run_timeout_seconds"`
	// MaxCostUSD is the price ceiling of all trials of this agent, null when
	// it has none; CostReason says why.
	MaxCostUSD *float64 `json:"max_cost_usd"`
	CostReason string   `json:"cost_reason"`
}

// Plan writes what a run would do.
func Plan(w io.Writer, d PlanDocument, o Options) error {
	p := newPrinter(w, o)
	var b Details
	b.Add("Name", d.Name)
	b.Add("Pack", d.Pack.String()+" ("+shortDigest(d.Digest, o)+")")
	b.Add("Input set", d.InputSet)
	if d.Shard != "" {
		b.Add("Shard", d.Shard)
	}
	b.Add("Execution mode", d.Mode)
	b.Add("Sandbox", strings.TrimSpace(d.Sandbox+" "+d.Image))
	if d.Until == nil {
		b.Add("Trials", strings.Join([]string{
			count(len(d.Agents), "agent"), count(len(d.Cases), "case"), count(d.Repetitions, "repetition"),
		}, " x ")+" = "+strconv.Itoa(d.Trials)+", at most "+strconv.Itoa(d.Concurrency)+" at once")
	} else {
		b.Add("Trials", "up to "+strconv.Itoa(d.Trials)+" of "+count(len(d.Cases), "case")+", at most "+strconv.Itoa(d.Concurrency)+" at once")
		untilDetails(&b, d.Until)
	}
	if d.Reused > 0 {
		b.Add("Reused", strconv.Itoa(d.Reused))
	}
	b.Add("Seed", strconv.FormatInt(d.Seed, 10))
	b.Add("Retry invalid", strconv.Itoa(d.RetryInvalid))
	b.Add("Passed when", "pass rate >= "+Percent(&d.MinPassRate)+", invalid <= "+strconv.Itoa(d.MaxInvalid))
	if len(d.Judges) > 0 {
		b.Add("Judges", strings.Join(d.Judges, ", ")+", at most "+count(d.MaxJudgeQuestions, "question"))
		b.Add("Judge ceiling", strings.TrimSpace(USD(d.MaxJudgeCostUSD)+" "+d.JudgeCostReason))
	}
	if len(d.Simulators) > 0 {
		b.Add("Simulated users", strings.Join(d.Simulators, ", ")+", at most "+count(d.MaxSimulatorMessages, "message"))
		b.Add("Users' ceiling", strings.TrimSpace(USD(d.MaxSimulatorCostUSD)+" "+d.SimulatorCostReason))
	}
	if d.BudgetUSD != nil {
		b.Add("Budget", USD(d.BudgetUSD))
	}
	if d.Deadline != nil {
		b.Add("Deadline", d.Deadline.Format(time.RFC3339))
	}
	b.Add("Price ceiling", USD(d.MaxCostUSD))
	b.Add("Cases", strings.Join(d.Cases, ", "))
	p.details(b)
	t := Table{Columns: []Column{
		left("AGENT"), left("MODEL"), right("STEPS"), right("TOOL CALLS"), right("TIMEOUT"), right("CEILING"), left("NOTE"),
	}}
	for _, a := range d.Agents {
		t.Add(Text(a.Label), Text(a.Model), Text(strconv.Itoa(a.MaxIterations)), Text(strconv.Itoa(a.MaxToolCalls)),
			Text(strconv.Itoa(a.RunTimeoutSecs)+"s"), Text(USD(a.MaxCostUSD)), Text(a.CostReason))
	}
	p.blank()
	p.table(&t)
	return p.flush()
}
