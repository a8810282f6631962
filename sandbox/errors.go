package sandbox

import (
	"errors"
	"fmt"
)

// The questions a caller asks of an error.
var (
	ErrNotFound    = errors.New("no such file or directory")
	ErrNotRegular  = errors.New("not a regular file")
	ErrOutside     = errors.New("path is outside the workspace")
	ErrNoProcess   = errors.New("this sandbox runs no programs")
	ErrNoSpace     = errors.New("no space left in the sandbox")
	ErrClosed      = errors.New("the sandbox is closed")
	ErrUnavailable = errors.New("no sandbox engine answers")
	ErrSpec        = errors.New("no sandbox can be as asked")
	ErrKey         = errors.New("the sandbox service wants an API key")
)

// ErrFileSize is ErrNoSpace for a file larger than Limits.FileBytes.
var ErrFileSize error = fileSizeError{}

type fileSizeError struct{}

func (fileSizeError) Error() string { return "the file is larger than the sandbox permits one to be" }

func (fileSizeError) Is(target error) bool { return target == ErrNoSpace }

// Kind is whose failure a BoxError is.
type Kind string

// The kinds of BoxError. Tampered and Limit are the agent's doing, the others
// infrastructure's.
const (
	Engine   Kind = "engine"   // the engine refused or failed
	Image    Kind = "image"    // the image is missing or unusable
	Lost     Kind = "lost"     // the box is gone and nothing inside explains it
	Tampered Kind = "tampered" // the box's guest was killed or its protocol forged from inside
	Limit    Kind = "limit"    // the box died of a limit it had
)

// BoxError ends a box: nothing more can be done in it.
type BoxError struct {
	Kind Kind
	// Limit names the limit when Kind is Limit: LimitMemory or LimitPIDs.
	Limit string
	// Detail is the evidence: exit state, OOM flag, last bytes.
	Detail string
	Err    error
}

func (e *BoxError) Error() string {
	s := "sandbox " + string(e.Kind)
	if e.Limit != "" {
		s += " (" + e.Limit + ")"
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Err != nil {
		s = fmt.Sprintf("%s: %v", s, e.Err)
	}
	return s
}

func (e *BoxError) Unwrap() error { return e.Err }
