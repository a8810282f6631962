package verdict

import (
	"fmt"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring/compare"
)

// PolicyUsage is the help of --policy-file.
const PolicyUsage = "policy file of the gate (default: the default policy)"

// Policy reads a gate's policy from a YAML or JSON file; "" is the default policy.
// A file names itself with policy_key and policy_version; what else it leaves out
// is as in the default policy.
func Policy(a *cli.App, file string) (compare.Policy, error) {
	p := compare.DefaultPolicy()
	if file == "" {
		return p, nil
	}
	src, err := a.ReadBounded(file, pack.MaxBytes)
	if err != nil {
		return p, fmt.Errorf("policy: %w", err)
	}
	p.Key, p.Version = "", 0
	d := pack.DecodeSettings(file, "policy", src, &p)
	if !d.Unread() {
		for _, what := range p.Problems() {
			d.Fail(what.Field, "%s", what.Message)
		}
	}
	if problems := d.Problems().Errors(); len(problems) > 0 {
		return p, selector.Refusal("policy_invalid", "the policy is not valid", problems)
	}
	return p, nil
}
