package pack

import (
	"fmt"
	"strings"
)

// caseKeys are the keys of one kind that the cases of a pack have, and in how
// many of them each stands.
type caseKeys struct {
	kind  string
	names []string
	in    map[string]int
}

func (k *caseKeys) add(key string) {
	if k.in[key]++; k.in[key] == 1 {
		k.names = append(k.names, key)
	}
}

// checkReferences warns of references to an input or expectation that cases do
// not have: nothing is wrong with the format, and nothing can be compared.
func checkReferences(c *checker) {
	cases := 0
	prefixes := map[string]*caseKeys{
		"case.inputs.":       {kind: "input", in: map[string]int{}},
		"case.expectations.": {kind: "expectation", in: map[string]int{}},
	}
	c.eachCase(func(_ string, kase Case) {
		cases++
		for _, in := range kase.Inputs {
			prefixes["case.inputs."].add(in.Key)
		}
		for _, e := range kase.Expectations {
			prefixes["case.expectations."].add(e.Key)
		}
	})
	if cases == 0 || c.rep.incomplete("input_sets") {
		return
	}
	check := func(field, ref string) {
		for prefix, keys := range prefixes {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(ref), prefix); ok {
				key, _, _ := strings.Cut(rest, ".")
				c.caseKey(field, key, keys, cases)
			}
		}
	}
	for i, v := range c.Version.EvaluationSpec.Validators {
		at := indexed(specField+".validators", i)
		check(at+".target", v.Target)
		check(at+".expected_from", v.ExpectedFrom)
	}
	for i, j := range c.Version.EvaluationSpec.LLMJudges {
		at := indexed(specField+".llm_judges", i)
		check(at+".reference_from", j.ReferenceFrom)
		for k, ref := range j.ContextFrom {
			check(fmt.Sprintf("%s.context_from[%d]", at, k), ref)
		}
	}
}

func (c *checker) caseKey(field, key string, keys *caseKeys, cases int) {
	switch n := keys.in[key]; {
	case key == "" || n >= cases:
	case n == 0:
		c.warn(field, "no case has an %s called %s%s", keys.kind, quote(key), c.hint(key, keys.names))
	default:
		c.warn(field, "%d of %d cases have no %s called %s", cases-n, cases, keys.kind, quote(key))
	}
}
