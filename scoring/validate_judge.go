package scoring

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The modes of a judge.
const (
	judgeRubric    = "rubric"
	judgeAssertion = "assertion"
	judgeNWise     = "n_wise"
	judgeReference = "reference"
)

// The ways in which several judge models agree on one score.
const (
	consensusMedian    = "median"
	consensusMean      = "mean"
	consensusMajority  = "majority_vote"
	consensusUnanimous = "unanimous"
)

// maxJudgeSamples is the most often that a judge may be asked.
const maxJudgeSamples = 10

// judge is a declared judge, with what was read of it.
type judge struct {
	LLMJudge
	mode     *judgeMode  // nil: unknown
	evidence []judgeText // what it is shown, in order
	schema   *boundedSchema
	used     bool    // a dimension reads it
	mark     float64 // a score from here on is a pass, for confirm_on_fail
}

// judgeText is a reference of a judge, its field, and what the judge is told
// that it is.
type judgeText struct {
	at, name string
	ref      reference
}

// judgeMode is a row of the table of judge modes.
type judgeMode struct {
	name, doc string
	needs     []string // fields that this mode cannot do without
	reads     []string // fields that it reads when they are there
	// consensus is how several models may agree.
	consensus []string
	// task tells the judge what to do, and answer the shape of its reply.
	task, answer func(*judge) string
	// read takes the score, 0 to 1, from a reply.
	read func(*judge, verdict) (float64, error)
}

// modes is the one table of judge modes.
func modes() []judgeMode {
	numeric := []string{consensusMedian, consensusMean, consensusUnanimous}
	scored := []string{"score_scale", "confirm_on_fail"}
	return []judgeMode{
		{name: judgeRubric, doc: "scores what it is shown by a rubric", needs: []string{"rubric"}, reads: scored, consensus: numeric,
			task: (*judge).rubricTask, answer: (*judge).scoreShape, read: (*judge).readScore},
		{name: judgeAssertion, doc: "says whether a statement is true of what it is shown",
			needs: []string{"assertion"}, reads: []string{"expect", "confirm_on_fail"}, consensus: []string{consensusMajority, consensusUnanimous},
			task: (*judge).assertionTask, answer: (*judge).passShape, read: (*judge).readPass},
		{name: judgeNWise, doc: "ranks all agents of a run on one case", needs: []string{"prompt"}, reads: []string{"position_debiasing"}, consensus: numeric,
			task: (*judge).rankingTask, answer: (*judge).rankingShape, read: (*judge).readRanking},
		{name: judgeReference, doc: "scores what it is shown against a reference answer",
			needs: []string{"rubric", "reference_from"}, reads: scored, consensus: numeric,
			task: (*judge).referenceTask, answer: (*judge).scoreShape, read: (*judge).readScore},
	}
}

// JudgeMode names a mode of a judge, for documents.
type JudgeMode struct {
	Name      string   `json:"name"`
	Doc       string   `json:"doc"`
	Needs     []string `json:"needs"`
	Reads     []string `json:"reads,omitempty"`
	Consensus []string `json:"consensus"`
}

// JudgeModes lists the modes that a judge may have.
func JudgeModes() []JudgeMode {
	var out []JudgeMode
	for _, m := range modes() {
		out = append(out, JudgeMode{m.name, m.doc, m.needs, m.reads, m.consensus})
	}
	return out
}

// checkJudges checks the judges. One whose key or mode is wrong is not looked
// at further.
func (c *checker) checkJudges() {
	known := modes()
	names := make([]string, len(known))
	for i, m := range known {
		names[i] = m.name
	}
	for i, decl := range c.spec.LLMJudges {
		at := fmt.Sprintf("llm_judges[%d]", i)
		j := judge{LLMJudge: decl}
		if c.own(at+".key", decl.Key, "judge") && c.oneOf(at+".mode", "mode", decl.Mode, names) {
			j.mode = &known[slices.Index(names, decl.Mode)]
			c.judge(at, &j)
		}
		c.judges = append(c.judges, j)
	}
}

func (c *checker) judge(at string, j *judge) {
	c.judgeFields(at, j)
	c.judgeModels(at, j)
	if j.Samples < 0 || j.Samples > maxJudgeSamples {
		c.add(at+".samples", "must be between 0 and %d", maxJudgeSamples)
	}
	c.consensus(at+".consensus", j)
	for i, ref := range j.ContextFrom {
		c.shown(fmt.Sprintf("%s.context_from[%d]", at, i), ref, ref, j)
	}
	if e := j.evidence; len(e) > 1 && e[0].name == referenceAnswer {
		j.evidence = append(e[1:], e[0]) // what is judged comes first
	}
	if len(j.ContextFrom) == 0 {
		c.warn(at+".context_from", "is empty: the judge is not shown what it judges")
	}
	if !isNull(j.OutputSchema) {
		var err error
		if j.schema, err = compileSchema(string(j.OutputSchema)); err != nil {
			c.add(at+".output_schema", "%v", err)
		}
	}
	c.noSecrets(at, j)
	if s := j.ScoreScale; s != nil && (s.Min >= s.Max || !finite(s.Min) || !finite(s.Max)) {
		c.add(at+".score_scale", "needs a min that is less than its max")
	}
	if j.TimeoutMS != nil && *j.TimeoutMS <= 0 {
		c.add(at+".timeout_ms", "must be greater than 0")
	}
}

// shown checks a reference to what a judge is shown.
func (c *checker) shown(at, name, ref string, j *judge) {
	j.evidence = append(j.evidence, judgeText{at, name, c.evidence(at, ref)})
}

// judgeFields checks the fields that belong to a mode.
func (c *checker) judgeFields(at string, j *judge) {
	given := []struct {
		name string
		set  bool
	}{
		{"rubric", !blank(j.Rubric)}, {"reference_from", j.ReferenceFrom != ""}, {"assertion", !blank(j.Assertion)}, {"prompt", !blank(j.Prompt)},
		{"expect", j.Expect != nil}, {"position_debiasing", j.PositionDebiasing}, {"score_scale", j.ScoreScale != nil},
		{"confirm_on_fail", j.ConfirmOnFail},
	}
	for _, f := range given {
		needed := slices.Contains(j.mode.needs, f.name)
		switch {
		case needed && !f.set:
			c.add(at+"."+f.name, "is required with the mode %s", j.Mode)
		case needed && f.name == "reference_from":
			c.shown(at+"."+f.name, referenceAnswer, j.ReferenceFrom, j)
		case f.set && !needed && !slices.Contains(j.mode.reads, f.name):
			c.warn(at+"."+f.name, "is not read with the mode %s", j.Mode)
		}
	}
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func (c *checker) judgeModels(at string, j *judge) {
	switch {
	case j.Model == "" && len(j.Models) == 0:
		c.add(at+".model", "is required: name one model, or several in models")
	case j.Model != "" && len(j.Models) > 0:
		c.add(at+".models", "must be left out beside model")
	}
	if j.Model != "" {
		c.model(at+".model", j.Model)
	}
	for i, name := range j.Models {
		c.model(fmt.Sprintf("%s.models[%d]", at, i), name)
	}
}

func (c *checker) model(at, name string) {
	if name == "" {
		c.add(at, "is blank: name a model")
	} else if _, ok := ModelProvider(name); !ok {
		c.add(at, "no provider goes by the name %s: write provider/model, with one of %s", quoted(name), strings.Join(ModelProviders(), ", "))
	}
}

// consensus is needed exactly when there is more than one model.
func (c *checker) consensus(at string, j *judge) {
	several := len(j.Models) > 1
	switch {
	case j.Consensus == nil && several:
		c.add(at, "is required with more than one model: give its aggregation")
	case j.Consensus == nil:
	case !several:
		c.add(at, "must be left out with one model")
	default:
		c.aggregation(at+".aggregation", j)
		if v := j.Consensus.MinAgreementThreshold; v != nil {
			c.share(at+".min_agreement_threshold", *v)
		}
	}
}

func (c *checker) aggregation(at string, j *judge) {
	name := j.Consensus.Aggregation
	known := []string{consensusMedian, consensusMean, consensusMajority, consensusUnanimous}
	if c.oneOf(at, "aggregation", name, known) && !slices.Contains(j.mode.consensus, name) {
		c.add(at, "%s is not for the mode %s: write one of %s", name, j.Mode, strings.Join(j.mode.consensus, ", "))
	}
}

// secretPlaceholder begins a placeholder that a judge must never be sent.
var secretPlaceholder = regexp.MustCompile(`\$\{\s*secrets\s*\.`)

func (c *checker) noSecrets(at string, j *judge) {
	for _, f := range []struct{ name, text string }{{"rubric", j.Rubric}, {"assertion", j.Assertion}, {"prompt", j.Prompt}} {
		if secretPlaceholder.MatchString(f.text) {
			c.add(at+"."+f.name, "must not hold a secret: a judge is sent this text")
		}
	}
}
