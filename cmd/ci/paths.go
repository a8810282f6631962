package ci

import "fmt"

// NamedPath is a file or a directory that a manifest names, and the field that does.
type NamedPath struct{ Field, Path string }

// Paths are what a manifest names in its repository, from the root. A name that may
// be one of the store is among them only when it looks like a path.
func (m *Manifest) Paths() (list []NamedPath) {
	add := func(field, path string, named bool) {
		if path != "" && named {
			list = append(list, NamedPath{field, path})
		}
	}
	e := m.Evaluation
	add("candidate.build.spec_file", m.Candidate.Build.SpecFile, true)
	add("candidate.deployment.system_file", m.Candidate.Deployment.SystemFile, true)
	add("evaluation.pack", e.PackRef(), LooksLikePath(e.PackRef()))
	add("evaluation.replay", e.Replay, true)
	for i, s := range e.RegressionSuites {
		add(fmt.Sprintf("evaluation.regression_suites[%d]", i), s, LooksLikePath(s))
	}
	for i, s := range e.RegressionCases {
		suite, _ := SuiteCase(s)
		add(fmt.Sprintf("evaluation.regression_cases[%d]", i), suite, LooksLikePath(suite))
	}
	add("baseline.file", m.Baseline.Snapshot(), true)
	add("gate.policy_file", m.Gate.PolicyFile, true)
	return list
}
