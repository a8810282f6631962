package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentclash/agentclash/cmd/view"
)

// The exit statuses, the same for every command and format.
const (
	StatusOK           = 0
	StatusError        = 1
	StatusRunFailed    = 31
	StatusUsage        = 64
	StatusNotFound     = 66
	StatusUnavailable  = 69
	StatusTryAgain     = 75
	StatusNoPermission = 77
	StatusInterrupted  = 130
)

// Failure is an error with what the edge of the program needs to know of it.
type Failure struct {
	Status  int
	Code    string // for machines
	Err     error
	Next    string // what to type next, "" for nothing
	Details any
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Usage is a failure of what was typed.
func Usage(format string, args ...any) *Failure {
	return &Failure{Status: StatusUsage, Code: "invalid_argument", Err: fmt.Errorf(format, args...)}
}

// Faults is a failure of one or several things that were typed: several stand each on a
// line of its own.
func Faults(doing string, faults error) *Failure {
	if text := faults.Error(); strings.Contains(text, "\n") {
		return Usage("%s:\n  %s", doing, strings.ReplaceAll(text, "\n", "\n  "))
	}
	return Usage("%s: %w", doing, faults)
}

// Hint adds what to type next.
func (f *Failure) Hint(format string, args ...any) *Failure {
	f.Next = fmt.Sprintf(format, args...)
	return f
}

// Exit is a status without an error message: everything has been said.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Verdict turns a status into an error, nil for 0.
func Verdict(status int) error {
	if status == StatusOK {
		return nil
	}
	return Exit(status)
}

// Report says what went wrong, in the form asked for, and returns the status.
func Report(w io.Writer, err error, asJSON bool) int {
	var quiet Exit
	if errors.As(err, &quiet) {
		return int(quiet)
	}
	f := Classify(err)
	if !asJSON {
		fmt.Fprintf(w, "agentclash: %s\n", view.Sanitize(f.Err.Error()))
		if f.Next != "" {
			fmt.Fprintf(w, "hint: %s\n", view.SanitizeLine(f.Next))
		}
		return f.Status
	}
	type body struct {
		Code      string `json:"code"`
		Message   string `json:"message"`
		Details   any    `json:"details,omitempty"`
		NextStep  string `json:"next_step,omitempty"`
		Retryable bool   `json:"retryable"`
	}
	line, merr := json.Marshal(map[string]body{"error": {f.Code, f.Err.Error(), f.Details, f.Next, f.Status == StatusTryAgain}})
	if merr != nil {
		line = []byte(`{"error":{"code":"command_failed","message":"the error could not be written","retryable":false}}`)
	}
	fmt.Fprintf(w, "%s\n", line)
	return f.Status
}
