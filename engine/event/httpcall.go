package event

import (
	"encoding/json"
	"slices"
	"strings"
)

// HTTPCall is what a call of http_request asked and what came of it.
type HTTPCall struct {
	Method string `json:"method,omitempty"` // "" where a composed tool made the request
	URL    string `json:"url,omitempty"`    // as it was asked for, else that of the answer
	Status int    `json:"status_code,omitempty"`
	// Phase is how far a request came that failed, one of [HTTPPhases]; Error is why.
	Phase string `json:"phase,omitempty"`
	Error string `json:"error,omitempty"`
}

// httpTool is the tool whose calls these are, also under the names of the tools
// that a pack composes of it.
const httpTool = "http_request"

// HTTPPhases are the phases in which a request can fail, in the order in which a
// request goes through them.
func HTTPPhases() []string {
	return []string{"request", "policy", "dns", "connect", "tls", "timeout", "redirect", "response", "body"}
}

// NewHTTPCall tells a call of http_request; nil for one of another tool, and for one
// that never came to be a request, as its arguments did not fit.
func NewHTTPCall(t Tool) *HTTPCall {
	name, category := t.ToolName, t.ToolCategory
	if t.ResolvedToolName != "" {
		name, category = t.ResolvedToolName, t.ResolvedToolCategory
	}
	if name != httpTool || category != "primitive" || t.Result == nil {
		return nil
	}
	var c HTTPCall
	if t.ToolName == httpTool {
		_ = json.Unmarshal(t.Arguments, &c) // arguments that do not fit were refused
		c.Method, c.Status, c.Phase, c.Error = strings.ToUpper(strings.TrimSpace(c.Method)), 0, "", ""
	}
	if t.Result.IsError {
		return c.failed(t)
	}
	return c.answered(t.Result.Content)
}

// failed reads the phase from what the tool said: "http_request: PHASE: why", after
// "NAME failed: " for each tool that is composed of it.
func (c HTTPCall) failed(t Tool) *HTTPCall {
	said := errorText(t.Result.Content)
	for _, name := range t.ResolutionChain {
		said = strings.TrimPrefix(said, name+" failed: ")
	}
	if why, ok := strings.CutPrefix(said, httpTool+": "); ok {
		phase, why, ok := strings.Cut(why, ": ")
		if ok && slices.Contains(HTTPPhases(), phase) {
			c.Phase, c.Error = phase, why
			return &c
		}
	}
	if t.FailureOrigin == "policy" { // the pack permits no network at all
		c.Phase, c.Error = "policy", said
		return &c
	}
	return nil
}

// answered reads an answer, which may be in an envelope that says whether it was cut.
func (c HTTPCall) answered(content string) *HTTPCall {
	type answer struct {
		Status int    `json:"status_code"`
		URL    string `json:"url"`
	}
	var whole struct {
		answer
		Content answer `json:"content"`
	}
	_ = json.Unmarshal([]byte(content), &whole) // an answer that was cut is none
	for _, a := range []answer{whole.answer, whole.Content} {
		if a.Status != 0 {
			c.Status = a.Status
			if c.URL == "" {
				c.URL = a.URL
			}
		}
	}
	return &c
}
