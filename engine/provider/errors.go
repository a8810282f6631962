package provider

import (
	"errors"
	"fmt"
	"time"
)

// Code names a kind of failed call.
type Code string

// The taxonomy. RateLimit, Timeout and Unavailable are worth another try;
// ContextLength and ContentFilter are the agent's; the rest end the run agent.
const (
	Auth              Code = "auth"
	RateLimit         Code = "rate_limit"
	Timeout           Code = "timeout"
	Unavailable       Code = "unavailable"
	InvalidRequest    Code = "invalid_request"
	UnknownModel      Code = "unknown_model"
	ContextLength     Code = "context_length"
	ContentFilter     Code = "content_filter"
	MalformedResponse Code = "malformed_response"
	Cancelled         Code = "cancelled"
)

// Codes lists every code, in a fixed order.
func Codes() []Code {
	return []Code{Auth, RateLimit, Timeout, Unavailable, InvalidRequest, UnknownModel,
		ContextLength, ContentFilter, MalformedResponse, Cancelled}
}

// Error is a failed call. Message never holds a key.
type Error struct {
	Provider   string
	Code       Code
	Status     int // HTTP status, 0 when there was none
	Message    string
	RetryAfter time.Duration // 0: not said
	// FromRecording says that the failure was read from a script or a
	// recording. Recorded is then how long the call took there, and RetryAfter
	// is the whole wait before the next try.
	FromRecording bool
	Recorded      time.Duration
	// Final says that the call was begun and paid for, and failed after that:
	// it is not made again, whatever its code.
	Final bool
	// Silent is, of a call that its context ended, how long nothing had come from
	// the provider by then. It is 0 where that cannot be told.
	Silent time.Duration
	// Unsent says that the call was not made at all, so that it cost nothing.
	Unsent bool
	// Page says that an HTML page came, which is a proxy's word and not the API's.
	Page bool
	Err  error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s", e.Provider, e.Code)
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Retryable says whether the same call may succeed later.
func (e *Error) Retryable() bool {
	return !e.Final && (e.Code == RateLimit || e.Code == Timeout || e.Code == Unavailable)
}

// CodeOf returns the code of the *Error in err's chain, or "".
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
