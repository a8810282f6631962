package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/agentclash/agentclash/engine/provider"
)

// Refusal is an answer of ours in place of a model's. It is written in the format
// of whoever asked.
type Refusal struct {
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Message string `json:"message"`
	// Model is what the request asked, where it was read so far; Key the one that is
	// not let through, where one is not.
	Model string `json:"model,omitempty"`
	Key   string `json:"key,omitempty"`
}

func refuse(status int, code, format string, args ...any) *Refusal {
	return &Refusal{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// refusalOf is what a script's failure looks like on the wire.
func refusalOf(e *provider.Error) *Refusal {
	r := refuse(http.StatusBadGateway, string(e.Code), "%s", e.Message)
	switch e.Code {
	case provider.Auth:
		r.Status = http.StatusUnauthorized
	case provider.RateLimit:
		r.Status = http.StatusTooManyRequests
	case provider.Timeout:
		r.Status = http.StatusGatewayTimeout
	case provider.Unavailable, provider.Cancelled:
		r.Status = http.StatusServiceUnavailable
	case provider.InvalidRequest, provider.ContentFilter:
		r.Status = http.StatusBadRequest
	case provider.ContextLength:
		r.Status, r.Code = http.StatusBadRequest, "context_length_exceeded"
	case provider.UnknownModel:
		r.Status, r.Code = http.StatusNotFound, "model_not_found"
	}
	return r
}

// write answers in a format.
func (f *Refusal) write(w http.ResponseWriter, wire Wire) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	// the SDKs ask again by status; what was decided here will not change
	h.Set("X-Should-Retry", strconv.FormatBool(f.Status >= 500))
	w.WriteHeader(f.Status)
	_ = json.NewEncoder(w).Encode(f.document(wire)) // the program may have gone
}

func (f *Refusal) document(wire Wire) any {
	message := "agentclash: " + f.Message
	switch wire {
	case Anthropic:
		return map[string]any{"type": "error", "error": map[string]any{"type": anthropicType(f.Status), "message": message}}
	case Gemini:
		return map[string]any{"error": map[string]any{"code": f.Status, "message": message, "status": geminiStatus(f.Status)}}
	}
	kind := "invalid_request_error"
	switch {
	case f.Status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case f.Status >= 500:
		kind = "server_error"
	}
	return map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": f.Code}}
}

func anthropicType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

func geminiStatus(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	}
	if status >= 500 {
		return "UNAVAILABLE"
	}
	return "INVALID_ARGUMENT"
}
