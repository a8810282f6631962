package main_test

// waits awaits somebody's turn in a conversation that has been begun beside it.
const waits = `agentclash eval start --pack talk.yaml --deployment talker --human-wait --quiet &
until agentclash run turn status --awaiting --json --query '.items[].trial_id' 2>/dev/null | grep -q .; do sleep 0.05; done`

const notPassed = "the candidate fails a case, and the default policy wants all of it to pass"

const triageBaseline = "agentclash baseline set triage"

// slow is a run that is going on.
const slow = `agentclash eval start --pack my-pack.yaml --model scripted/slow.yaml --quiet &
until agentclash run list --json --query '.items[].status' 2>/dev/null | grep -q running; do sleep 0.05; done`

// broke is a run that has used up its budget.
const broke = `agentclash eval start --pack my-pack.yaml --model scripted/next.yaml --budget-usd 0.0001 --concurrency 1 || true`

const emptyHome = `rm -r "$AGENTCLASH_HOME"`

// onTerminal runs a command on a terminal, at which q is pressed.
func onTerminal(line string) string {
	return `printf q | env -u CI -u AGENTCLASH_NONINTERACTIVE TERM=xterm script -qec "stty rows 24 cols 80; ` + line + `" /dev/null`
}

// examples are what is known of lines of help, and of commands.
var examples = map[string]example{
	// what is there already has to go first
	"agentclash build create":                     {before: emptyHome},
	"agentclash challenge-pack init":              {before: "rm my-pack*.yaml"},
	"agentclash challenge-pack init my-pack.yaml": {before: "rm my-pack*.yaml"},
	"agentclash ci init":                          {before: "rm .agentclash/ci.yaml .agentclash/nightly.yaml"},
	"agentclash infra model-alias create":         {before: emptyHome},
	"agentclash infra runtime-profile create":     {before: emptyHome},
	"agentclash infra spend-policy create":        {before: emptyHome},
	"agentclash infra provider-account create":    {before: "agentclash infra provider-account delete lab"},
	"agentclash init":                             {before: "rm -r .agentclash.yaml .agentclash"},
	"agentclash regression-suite create":          {before: "rm .agentclash/regressions/checkout.yaml"},
	"agentclash deployment create --name prod --model openai/gpt-4.1-mini --system-file prompt.md":                        {before: "agentclash deployment delete prod"},
	"agentclash challenge-pack import promptfooconfig.yaml --out my-pack.yaml":                                            {before: "rm my-pack.yaml"},
	"agentclash challenge-pack import promptfooconfig.yaml --out my-pack.yaml --judge-model openai/gpt-4.1-mini --strict": {before: "rm my-pack.yaml"},

	"agentclash run export latest run.acb":                                            {before: "rm run.acb"},
	"agentclash eval start --pack my-pack.yaml --deployment prod --record tapes/prod": {before: "rm -r tapes/prod"},

	// what does not end well
	"agentclash eval start --pack my-pack.yaml --deployment prod --replay tapes/prod --exit-code": {status: 1, why: "it did not pass when it was recorded"},
	"agentclash compare latest --gate":                              {status: 1, why: notPassed},
	"agentclash compare gate --baseline nightly --candidate latest": {status: 1, why: notPassed},

	// what has to be there first
	"agentclash cache explain":                                       {before: "agentclash eval start --pack my-pack.yaml --model openai/gpt-4.1-mini --cache --concurrency 1"},
	"agentclash baseline clear":                                      {before: triageBaseline},
	"agentclash baseline show":                                       {before: triageBaseline},
	"agentclash baseline history --pack support-triage":              {before: triageBaseline},
	"agentclash baseline export - --name main --pack support-triage": {before: triageBaseline + " --name main"},
	"agentclash infra provider-account delete":                       {before: "agentclash infra provider-account create --name team --provider openai"},
	"agentclash regression-suite activate":                           {before: "agentclash regression-suite archive checkout"},
	"agentclash regression-suite case activate":                      {before: "agentclash regression-suite case mute checkout refund-twice"},
	"agentclash regression-suite case reject": {before: `rm .agentclash/regressions/checkout.yaml; printf 'suite: checkout\nstatus: proposed\n' >proposed.yaml
agentclash run promote-failure latest refund-twice --from-file proposed.yaml`},
	"agentclash compare runs --baseline latest --baseline-agent a --candidate latest --candidate-agent b --json": {
		before: "cp prod.yaml a.yaml; cp next.yaml b.yaml; agentclash eval start --pack my-pack.yaml --model scripted/a.yaml --model scripted/b.yaml"},
	"agentclash run retry":                               {before: "agentclash eval start --pack my-pack.yaml --model scripted/flaky.yaml --retry-invalid 0 --concurrency 1 || true"},
	"agentclash run cancel":                              {before: slow},
	"agentclash run resume latest --follow":              {before: broke, status: 31, why: "the budget that ended it is still its own"},
	"agentclash run resume":                              {before: broke},
	"agentclash run turn calibration":                    {before: "agentclash eval start --pack talk.yaml --deployment talker"},
	"agentclash run turn status":                         {before: "agentclash eval start --pack talk.yaml --deployment talker"},
	"agentclash run turn submit 5f3a9c21 --phase expert": {before: waits, after: "agentclash run turn submit --message 'The blue one.'"},
	"agentclash run turn submit":                         {before: waits},
	"agentclash secret set OPENAI_API_KEY":               {stdin: "sk-from-a-terminal-0123456789\n"},

	"agentclash workspace delete":      {before: "agentclash workspace create checkout"},
	"agentclash sandbox gc":            {docker: true},
	"agentclash doctor":                {docker: true},
	"agentclash ui":                    {instead: onTerminal("agentclash ui"), why: "it needs a terminal"},
	"agentclash ui latest":             {instead: onTerminal("agentclash ui latest"), why: "it needs a terminal"},
	"agentclash serve":                 {ready: "Runs are shown at ", instead: "agentclash serve --port 0", why: "the usual port may be taken"},
	"agentclash serve --port 0 --json": {ready: "^}"},
}
