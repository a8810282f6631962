package scoring

// Regression says that a case of a run is a case of a regression suite.
type Regression struct {
	Suite    string `json:"suite_id"` // the suite's name
	CaseID   string `json:"regression_case_id"`
	Severity string `json:"severity"` // info, warning or blocking
}
