package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/agentclash/agentclash/cmd/view"
)

// The exit statuses, the same for every command and format.
const (
	statusOK           = 0
	statusError        = 1
	statusRunFailed    = 31
	statusUsage        = 64
	statusNotFound     = 66
	statusUnavailable  = 69
	statusTryAgain     = 75
	statusNoPermission = 77
	statusInterrupted  = 130
)

// failure is an error with what the edge of the program needs to know of it.
type failure struct {
	status  int
	code    string // for machines
	err     error
	next    string // what to type next, "" for nothing
	details any
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usage is a failure of what was typed.
func usage(format string, args ...any) *failure {
	return &failure{status: statusUsage, code: "invalid_argument", err: fmt.Errorf(format, args...)}
}

// hint adds what to type next.
func (f *failure) hint(format string, args ...any) *failure {
	f.next = fmt.Sprintf(format, args...)
	return f
}

// exit is a status without an error message: everything has been said.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// verdict turns a status into an error, nil for 0.
func verdict(status int) error {
	if status == statusOK {
		return nil
	}
	return exit(status)
}

// report says what went wrong, in the form asked for, and returns the status.
func report(w io.Writer, err error, asJSON bool) int {
	var quiet exit
	if errors.As(err, &quiet) {
		return int(quiet)
	}
	f := classify(err)
	if !asJSON {
		fmt.Fprintf(w, "agentclash: %s\n", view.Sanitize(f.err.Error()))
		if f.next != "" {
			fmt.Fprintf(w, "hint: %s\n", view.SanitizeLine(f.next))
		}
		return f.status
	}
	type body struct {
		Code      string `json:"code"`
		Message   string `json:"message"`
		Details   any    `json:"details,omitempty"`
		NextStep  string `json:"next_step,omitempty"`
		Retryable bool   `json:"retryable"`
	}
	line, merr := json.Marshal(map[string]body{"error": {f.code, f.err.Error(), f.details, f.next, f.status == statusTryAgain}})
	if merr != nil {
		line = []byte(`{"error":{"code":"command_failed","message":"the error could not be written","retryable":false}}`)
	}
	fmt.Fprintf(w, "%s\n", line)
	return f.status
}
