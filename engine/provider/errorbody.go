package provider

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// errorBody is what the known shapes of error documents have in common.
type errorBody struct {
	message string
	kind    string // "type", or Google's "status"
	code    string
	// shaped: an error document of an API, and not just some JSON or text.
	shaped bool
	// page: an HTML page, of a proxy or a gateway.
	page bool
	// reason and retryDelay are what Google says in the details.
	reason     string
	retryDelay string
}

// errorFields are the fields of an error, whether they stand in an "error"
// object or at the top. Their types differ from server to server.
type errorFields struct {
	Object     json.RawMessage `json:"object"`
	Message    json.RawMessage `json:"message"`
	Type       json.RawMessage `json:"type"`
	Code       json.RawMessage `json:"code"`
	Status     json.RawMessage `json:"status"`
	InnerError struct {
		Code json.RawMessage `json:"code"`
	} `json:"innererror"`
	Metadata struct {
		Raw json.RawMessage `json:"raw"` // what the server behind OpenRouter said
	} `json:"metadata"`
	Details []struct {
		Reason     json.RawMessage `json:"reason"`
		RetryDelay json.RawMessage `json:"retryDelay"`
	} `json:"details"`
}

// parseErrorBody reads {"error":{…}}, {"error":"…"}, {"object":"error",…}, the
// same in an array of one, and {"detail":…} or {"message":…}. Anything else is
// the zero errorBody.
func parseErrorBody(data []byte) errorBody {
	data = first(data)
	var doc struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(data, &doc) != nil {
		return errorBody{page: bytes.HasPrefix(bytes.TrimSpace(data), []byte("<"))}
	}
	if text := scalar(doc.Error); text != "" {
		return errorBody{message: text, shaped: true}
	}
	nested := len(doc.Error) > 0 && doc.Error[0] == '{'
	if nested {
		data = doc.Error
	}
	var f errorFields
	// A field of an unexpected type spoils only itself.
	_ = json.Unmarshal(data, &f)
	body := errorBody{
		message: scalar(f.Message),
		kind:    cmp.Or(scalar(f.Type), scalar(f.Status)),
		code:    cmp.Or(scalar(f.InnerError.Code), scalar(f.Code)),
		shaped:  nested || scalar(f.Object) == "error",
	}
	if body.message == "" {
		body.message = scalar(doc.Detail)
	}
	for _, d := range f.Details {
		body.reason = cmp.Or(body.reason, scalar(d.Reason))
		body.retryDelay = cmp.Or(body.retryDelay, scalar(d.RetryDelay))
	}
	if raw := scalar(f.Metadata.Raw); raw != "" {
		body.message = strings.TrimPrefix(body.message+": "+raw, ": ")
	}
	return body
}

// first is a document without the array of one that Google may put it in.
func first(document []byte) []byte {
	document = bytes.TrimSpace(document)
	var list []json.RawMessage
	if len(document) == 0 || document[0] != '[' || json.Unmarshal(document, &list) != nil || len(list) == 0 {
		return document
	}
	return list[0]
}

// scalar is the text of a JSON string or number, or "".
func scalar(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// status is the HTTP status an error without one carries as its code, or 0.
func (b errorBody) status() int {
	n, err := strconv.Atoi(b.code)
	if err != nil || n < 400 || n > 599 {
		return 0
	}
	return n
}

func (b errorBody) lower() string { return strings.ToLower(b.message) }

// names says whether the error's code or type is one of the given.
func (b errorBody) names(words ...string) bool {
	code, kind := strings.ToLower(b.code), strings.ToLower(b.kind)
	for _, w := range words {
		if code == w || kind == w {
			return true
		}
	}
	return false
}

func (b errorBody) tooLong() bool {
	return b.names("context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "request_too_large") ||
		containsAny(b.lower(), "maximum context length", "context length", "context size", "context window",
			"context limit", "maximum prompt length", "prompt is too long", "exceeds the maximum number of tokens")
}

func (b errorBody) filtered() bool {
	return b.names("content_filter", "content_policy_violation", "responsibleaipolicyviolation", "invalid_prompt") ||
		containsAny(b.lower(), "content management policy", "content policy", "usage policy", "usage guidelines",
			"input was flagged", "prompt was flagged")
}

func (b errorBody) unknownModel() bool {
	return b.names("model_not_found", "invalid_model", "unknown_model") ||
		containsAny(b.lower(), "not a valid model", "invalid model", "model not found")
}

func (b errorBody) quotaSpent() bool {
	return b.names("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error")
}

// badKey says that a request was refused for its key although the status does
// not say so: Google answers 400, and Anthropic does when there is no money.
func (b errorBody) badKey() bool {
	return b.reason == "API_KEY_INVALID" || b.quotaSpent() ||
		containsAny(b.lower(), "api key not valid", "credit balance is too low")
}

// ErrorIn says whether a JSON document tells of an error: one with an "error"
// that is an object or a text, as they come in a stream or in the body of a
// 200. An "error" of null or false is none.
func ErrorIn(document []byte) bool {
	if !bytes.Contains(document, []byte(`"error"`)) {
		return false // nearly every piece of every stream
	}
	document = first(document)
	var doc struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(document, &doc) != nil || len(doc.Error) == 0 {
		return false
	}
	return doc.Error[0] == '{' || scalar(doc.Error) != ""
}
