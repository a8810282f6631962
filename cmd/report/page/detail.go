package page

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// Detail is the evidence of a trial as the page shows it.
type Detail struct {
	Trial    view.Trial          `json:"trial"`
	Status   string              `json:"status"` // of the replay
	Counts   event.ReplayCounts  `json:"counts"`
	Terminal event.TerminalState `json:"terminal"`
	Steps    []event.ReplayStep  `json:"steps"`
	Files    []File              `json:"files"`
	Expected []Expected          `json:"expected"` // checks that did not pass
	Baseline *Against            `json:"baseline"`
	// LeftOutSteps and CutTexts say what there was no room for.
	LeftOutSteps int `json:"left_out_steps"`
	CutTexts     int `json:"cut_texts"`
}

// Against is how the trial of the baseline did.
type Against struct {
	RunID      string   `json:"run_id"`
	RunName    string   `json:"run_name"`
	Agent      string   `json:"agent"`
	TrialID    string   `json:"trial_id"`
	Outcome    string   `json:"outcome"`
	Score      *float64 `json:"score"`
	LatencyMS  *int64   `json:"latency_ms"`
	CostUSD    *float64 `json:"cost_usd"`
	OutputDiff *string  `json:"output_diff"` // as [File.Diff]
}

// File is a file or a directory that was captured from the sandbox.
type File struct {
	Key       string                   `json:"key"`
	Path      string                   `json:"path"`
	Sequence  int64                    `json:"sequence"` // of its event
	Exists    bool                     `json:"exists"`
	Unread    string                   `json:"unread"`
	Size      int64                    `json:"size"`
	Truncated bool                     `json:"truncated"`
	Directory bool                     `json:"directory"`
	Content   string                   `json:"content"`
	Entries   []scoring.DirectoryEntry `json:"entries,omitempty"`
	// Diff is what the trial has changed of the baseline's file, as a unified diff:
	// "" for nothing, null where the baseline has none, or one is too large.
	Diff *string `json:"diff"`
}

// NewDetail tells the evidence of a trial.
func NewDetail(e Evidence) Detail {
	replay := event.NewReplay(e.Events)
	d := Detail{Trial: e.Trial, Status: replay.Status, Counts: replay.Counts, Steps: replay.Steps, Files: Files(e.Events)}
	if replay.TerminalState != nil {
		d.Terminal = *replay.TerminalState
	}
	for i := range d.Steps {
		s := &d.Steps[i]
		switch s.Type {
		case "capture":
			s.Detail = nil // what was captured is in Files
		case "run":
			s.FinalOutput = "" // it has a step of its own
		}
	}
	d.Expected = expected(e, d.Files)
	if e.Baseline != nil {
		d.against(*e.Baseline)
	}
	return d
}

// against adds what the trial of the baseline did differently.
func (d *Detail) against(o Other) {
	t := o.Trial
	d.Baseline = &Against{RunID: o.RunID, RunName: o.RunName, Agent: o.Agent, TrialID: t.TrialID, Outcome: string(t.Outcome),
		Score: t.OverallScore, LatencyMS: t.LatencyMS, CostUSD: t.CostUSD}
	if t.FinalOutput != nil && d.Trial.FinalOutput != nil {
		d.Baseline.OutputDiff = unified("output", *t.FinalOutput, *d.Trial.FinalOutput)
	}
	was := map[string]File{}
	for _, f := range Files(o.Events) {
		was[f.Key] = f
	}
	for i := range d.Files {
		f := &d.Files[i]
		if old, ok := was[f.Key]; ok && f.text() && old.text() {
			f.Diff = unified(f.Path, old.Content, f.Content)
		}
	}
}

// text says whether the file was read.
func (f File) text() bool { return f.Exists && f.Unread == "" && !f.Directory }

// maxDiff is the largest text, in bytes, that is held against another.
const maxDiff = 256 << 10

// unified is what became of a text, nil when one of both is too large.
func unified(name, was, is string) *string {
	if len(was) > maxDiff || len(is) > maxDiff {
		return nil
	}
	return new(unifiedOf("baseline/"+name, was, "candidate/"+name, is))
}

// unifiedOf is the difference of two texts as a unified diff, "" for none.
func unifiedOf(wasName, was, isName, is string) string {
	raw := diff.Diff(wasName, []byte(was), isName, []byte(is))
	_, raw, _ = bytes.Cut(raw, []byte("\n")) // the line that says diff
	return string(raw)
}

// Files are what was captured, in the order in which it was: of a key that was
// captured twice, the last.
func Files(events []event.Event) []File {
	list := []File{}
	for _, e := range events {
		if e.Type != event.FileCaptured && e.Type != event.DirListed {
			continue
		}
		f, ok := file(e)
		if !ok {
			continue
		}
		at := len(list)
		for i := range list {
			if list[i].Key == f.Key {
				at = i
			}
		}
		list = append(list[:at:at], append([]File{f}, list[min(at+1, len(list)):]...)...)
	}
	return list
}

func file(e event.Event) (File, bool) {
	f := File{Sequence: e.Sequence, Directory: e.Type == event.DirListed}
	if f.Directory {
		v, err := event.Decode[scoring.CapturedDirectory](e)
		f.Key, f.Path, f.Exists, f.Unread, f.Entries, f.Truncated = v.Key, v.Path, v.Exists, v.Unread, v.Entries, v.Truncated
		return f, err == nil
	}
	v, err := event.Decode[scoring.CapturedFile](e)
	f.Key, f.Path, f.Exists, f.Unread, f.Size, f.Truncated, f.Content = v.Key, v.Path, v.Exists, v.Unread, v.Size, v.Truncated, v.Content
	return f, err == nil
}

// The texts of a detail that is too large are cut to the first of these lengths
// that makes it fit.
var textLimits = []int{64 << 10, 16 << 10, 4 << 10, 1 << 10, 256}

// fit is a detail as JSON of at most room bytes: texts are cut first, then the last
// steps are left out, then files and judges' words.
func (d Detail) fit(room int) ([]byte, error) {
	raw, err := inScript(d)
	if err != nil || len(raw) <= room {
		return raw, err
	}
	for _, limit := range textLimits {
		short, cut := clip(raw, limit)
		if len(short) <= room-len(`"cut_texts":1000000`) {
			return withCut(short, cut), nil
		}
	}
	switch {
	case len(d.Steps) > 0:
		left := len(d.Steps) / 2
		d.LeftOutSteps, d.Steps = d.LeftOutSteps+len(d.Steps)-left, d.Steps[:left]
	case len(d.Files)+len(d.Expected) > 0:
		d.Files, d.Expected = []File{}, []Expected{}
	default:
		t := d.Trial
		d.Trial = view.Trial{TrialID: t.TrialID, CaseKey: t.CaseKey, Repetition: t.Repetition, Attempt: t.Attempt, Outcome: t.Outcome,
			Code: t.Code, Phase: t.Phase, OverallScore: t.OverallScore, Passed: t.Passed, Validity: t.Validity, CostUSD: t.CostUSD, LatencyMS: t.LatencyMS}
		raw, err := inScript(d)
		short, cut := clip(raw, textLimits[len(textLimits)-1])
		return withCut(short, cut), err
	}
	return d.fit(room)
}

// withCut says at the end of a detail how many of its texts are cut.
func withCut(doc []byte, cut int) []byte {
	head, ok := bytes.CutSuffix(doc, []byte(`"cut_texts":0}`))
	if !ok {
		return doc
	}
	raw, _ := json.Marshal(cut) // a number
	return append(append(bytes.Clone(head), `"cut_texts":`...), append(raw, '}')...)
}

// Facts are events as lines of JSON.
func Facts(events []event.Event) ([]byte, error) {
	var b strings.Builder
	for _, e := range events {
		raw, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		b.Write(raw)
		b.WriteByte('\n')
	}
	return []byte(b.String()), nil
}
