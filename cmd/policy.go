package cmd

import (
	"fmt"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring/compare"
)

const policyUsage = "policy file of the gate (default: the default policy)"

// policy reads a gate's policy from a YAML or JSON file; "" is the default policy.
// A file names itself with policy_key and policy_version; what else it leaves out
// is as in the default policy.
func (a *app) policy(file string) (compare.Policy, error) {
	p := compare.DefaultPolicy()
	if file == "" {
		return p, nil
	}
	src, err := a.readBounded(file, pack.MaxBytes)
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
		return p, refusal("policy_invalid", "the policy is not valid", problems)
	}
	return p, nil
}
