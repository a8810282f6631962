package review

// The classes of failures.
const (
	IncorrectOutput    = "incorrect_final_output"
	ToolSelection      = "tool_selection_error"
	ToolArgument       = "tool_argument_error"
	RetrievalGrounding = "retrieval_grounding_failure"
	PolicyViolation    = "policy_violation"
	TimeoutOrBudget    = "timeout_or_budget_exhaustion"
	SandboxFailure     = "sandbox_failure"
	Dependency         = "dependency_resolution_failure"
	MalformedOutput    = "malformed_output"
	Flaky              = "flaky_non_deterministic"
	Insufficient       = "insufficient_evidence"
	Other              = "other"
)

// The states of failures. No failure has StateWarning: a trial that passed is
// not reviewed. StateFlaky is that of a failed trial whose case the same agent
// passed in another repetition of the run.
const (
	StateFailed     = "failed"
	StateFlaky      = "flaky"
	StateWarning    = "warning"
	StateIncomplete = "incomplete_evidence"
)

// The severities, of failures and of regression cases.
const (
	Info     = "info"
	Warning  = "warning"
	Blocking = "blocking"
)

// The tiers of evidence.
const (
	TierNone             = "none"
	TierNative           = "native_structured"
	TierHostedStructured = "hosted_structured"
	TierHostedBlackBox   = "hosted_black_box"
	TierDerived          = "derived_summary"
)

// The trends of a cluster.
const (
	TrendNew        = "new"
	TrendRecurring  = "recurring"
	TrendIncreasing = "increasing"
	TrendDecreasing = "decreasing"
)

// The ways in which a failure can become a regression case.
const (
	FullExecutable = "full_executable"
	OutputOnly     = "output_only"
)

// Classes lists the classes.
func Classes() []string {
	return []string{IncorrectOutput, ToolSelection, ToolArgument, RetrievalGrounding, PolicyViolation, TimeoutOrBudget,
		SandboxFailure, Dependency, MalformedOutput, Flaky, Insufficient, Other}
}

// States lists the states, the least first.
func States() []string { return []string{StateIncomplete, StateWarning, StateFlaky, StateFailed} }

// Severities lists the severities, the least first.
func Severities() []string { return []string{Info, Warning, Blocking} }

// Tiers lists the tiers of evidence, the least first.
func Tiers() []string {
	return []string{TierNone, TierDerived, TierHostedBlackBox, TierHostedStructured, TierNative}
}

// Taxonomy places a class among others. AgentFault says whether the agent is to
// blame; an invalid trial's never is.
type Taxonomy struct {
	Family     string `json:"family"` // agent, workflow, platform or evidence
	Code       string `json:"code"`
	Label      string `json:"label"`
	AgentFault bool   `json:"agent_fault"`
}

// Remediation says where to look first.
type Remediation struct {
	Area     string   `json:"area"`
	Label    string   `json:"label"`
	Summary  string   `json:"summary"`
	Evidence []string `json:"evidence"` // at most five
}

// kind is all that a class stands for.
type kind struct {
	class    string
	taxonomy Taxonomy
	area     string
	blocking bool
	headline string
	action   string
}

func kindOf(class string) kind {
	for _, k := range kinds() {
		if k.class == class {
			return k
		}
	}
	return kinds()[0]
}

// kinds has a row for every class, the one for anything else first.
func kinds() []kind {
	return []kind{
		{Other, Taxonomy{"agent", "agent.other", "Other failure of the agent", true}, areaPrompt, false,
			"the agent's work was judged not good enough", "read the failed checks beside what the agent gave, then mend the prompt or choose another model"},
		{IncorrectOutput, Taxonomy{"agent", "agent.output_incorrect", "Incorrect final output", true}, areaPrompt, false,
			"a judge found the final output wrong", "read the judge's reason beside the output, then mend the prompt or choose another model"},
		{MalformedOutput, Taxonomy{"agent", "agent.malformed_output", "Malformed output", true}, areaContract, true,
			"the output does not have the form that was asked for", "say the form in the prompt, give the deployment an output_schema, and show an example"},
		{PolicyViolation, Taxonomy{"agent", "agent.policy_violation", "Policy violation", true}, areaTools, true,
			"the agent did what is not permitted", "take from the agent what it must not use, and say the rule in its prompt"},
		{ToolArgument, Taxonomy{"agent", "agent.tool_arguments", "Wrong tool arguments", true}, areaTools, false,
			"a tool was called with the wrong arguments", "tighten the tool's parameters and describe each of them"},
		{ToolSelection, Taxonomy{"agent", "agent.tool_selection", "Wrong tool", true}, areaTools, false,
			"the tools were not used as they had to be", "say in each tool's description when it is the right one"},
		{RetrievalGrounding, Taxonomy{"agent", "agent.retrieval_grounding", "Retrieval or grounding", true}, areaRetrieval, false,
			"the answer does not rest on what was there to be read", "see what the agent had read when it answered, and whether that was enough"},
		{Dependency, Taxonomy{"workflow", "workflow.dependency_resolution", "Unresolved dependency", true}, areaTools, false,
			"the work needs a package that is not there", "pin what may be used, or put it into the sandbox image"},
		{TimeoutOrBudget, Taxonomy{"workflow", "workflow.timeout_budget", "Time or budget used up", true}, areaRuntime, true,
			"the agent ran into a limit before it was done", "look in the replay for work that repeats; raise the limit only when there is none"},
		{SandboxFailure, Taxonomy{"platform", "platform.sandbox_failure", "Sandbox failure", false}, areaRuntime, true,
			"the sandbox or what is around it failed", "see agentclash doctor, then run the trial again: agentclash run retry RUN --invalid"},
		{Flaky, Taxonomy{"evidence", "evidence.flaky_nondeterministic", "Not deterministic", false}, areaFlaky, false,
			"a check says that the result comes and goes", "run more repetitions before you decide anything"},
		{Insufficient, Taxonomy{"evidence", "evidence.insufficient", "Not enough evidence", false}, areaEvidence, false,
			"nothing that was kept says how the agent did", "mend what kept the trial from its end, then run it again: agentclash run retry RUN --invalid"},
	}
}

// The areas of remediation.
const (
	areaPrompt    = "prompt_or_model"
	areaContract  = "output_contract"
	areaTools     = "tool_or_workflow"
	areaRuntime   = "runtime_or_infra"
	areaRetrieval = "retrieval_or_data"
	areaFlaky     = "flakiness"
	areaEvidence  = "evidence_gap"
)

func areaLabel(area string) string {
	switch area {
	case areaContract:
		return "Output contract"
	case areaTools:
		return "Tools or workflow"
	case areaRuntime:
		return "Limits or infrastructure"
	case areaRetrieval:
		return "Retrieval or data"
	case areaFlaky:
		return "Flakiness"
	case areaEvidence:
		return "Missing evidence"
	}
	return "Prompt or model"
}
