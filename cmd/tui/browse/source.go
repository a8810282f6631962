package browse

import (
	"context"
	"io"

	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
)

// Source is where what is shown is read. Its methods may take their time, are called
// from several goroutines at once and end when their context does. None changes what
// is stored.
type Source interface {
	// Here says when what was opened is not there any more, or something else is.
	Here() error
	// Runs lists runs, newest first, that have all the words; the fields are RunFields.
	Runs(ctx context.Context, words []widget.Word, limit, offset int) (Listed[Run], error)
	// Details is what there is to say of a run before its results.
	Details(ctx context.Context, runID string) (Document, error)
	// Scorecards is what scoring says of a run's agents.
	Scorecards(ctx context.Context, runID string) (Document, error)
	// Trials lists trials of a run in the order of execution; the fields are those of widget.
	Trials(ctx context.Context, runID string, words []widget.Word, limit, offset int) (Listed[Trial], error)
	// Verdict is what scoring says of a trial, Files what the trial left behind.
	Verdict(ctx context.Context, trialID string) (Document, error)
	Files(ctx context.Context, trialID string) (Document, error)
	// Facts are some of what happened in a trial, from a cursor on.
	Facts(ctx context.Context, trialID string, after int64) (Facts, error)
	// Compare holds the agents of a run against those of another, or with "" against
	// the baseline of its pack.
	Compare(ctx context.Context, baselineRunID, runID string) (Document, error)
	// Artifacts lists those of a run, or with "" all, newest first.
	Artifacts(ctx context.Context, runID string, limit, offset int) (Listed[Artifact], error)
	// Artifact is one with the beginning of its text.
	Artifact(ctx context.Context, artifactID string) (Document, error)
	// Save writes the bytes of an artifact to a file that is not there yet, and Report
	// the report of a run; both say where.
	Save(ctx context.Context, artifactID, file string) (string, error)
	Report(ctx context.Context, runID string) (string, error)
}

// RunFields are what a word of a filter of runs may be looked for in.
func RunFields() []string { return []string{"name", "pack", "status", "agent", "id"} }

// Listed is a part of a list.
type Listed[T any] struct {
	Items []T
	Total int
	Live  bool // it may be different in a moment
}

// Run is a run as it is listed.
type Run struct {
	view.Run
	Passed, Failed, Invalid int
	SpentUSD                *float64 // nil: not known
}

// Trial is a trial as it is listed.
type Trial struct {
	ID         string
	CaseKey    string
	Repetition int
	Agent      string
	Attempt    int
	Status     string
	Code       string
	Phase      string
	Score      *float64
}

// Artifact is an artifact as it is listed, and how it is called when it is saved.
type Artifact struct {
	view.Artifact
	File string
}

// Document is something to read: a function that writes it for a terminal.
type Document struct {
	Write func(io.Writer, view.Options) error
	Live  bool // it may be different in a moment
}

// Facts are some of what happened in a trial.
type Facts struct {
	Events []event.Event
	Cursor int64 // of the last one
	More   bool  // there are more already
	Live   bool  // there may be more in a moment
}
