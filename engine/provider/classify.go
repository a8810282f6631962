package provider

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxMessage bounds the part of a provider's own words that an Error repeats,
// in bytes.
const maxMessage = 500

// maxRetryAfter bounds what a Retry-After may ask for.
const maxRetryAfter = 24 * time.Hour

// Failure is what a provider said instead of a reply.
type Failure struct {
	Provider string
	// Status is the HTTP status; 0 for an error told inside a stream or in the
	// body of a 200.
	Status int
	Header http.Header // may be nil
	Body   []byte      // whatever came, bounded by whoever read it
	Now    time.Time
}

// Classify names a failure. The status decides first, whatever the body is, so
// a proxy's HTML page is judged like the API's own error; the body then tells
// apart what one status stands for (context length, content filter, unknown
// model, spent quota), and decides alone where there is no status.
func Classify(f Failure) *Error {
	body := parseErrorBody(f.Body)
	status := f.Status
	if status == 0 {
		status = body.status()
	}
	e := &Error{Provider: f.Provider, Code: codeOf(status, body), Status: f.Status, Message: f.message(body), Page: body.page}
	if e.Retryable() {
		e.RetryAfter = RetryAfter(f.Header, f.Now)
		if wait, err := time.ParseDuration(body.retryDelay); err == nil && e.RetryAfter == 0 {
			e.RetryAfter = min(max(wait, 0), maxRetryAfter)
		}
	}
	return e
}

func codeOf(status int, body errorBody) Code {
	switch {
	case status == 0:
		return codeOfBody(body)
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired:
		return Auth
	case status == http.StatusForbidden:
		if body.filtered() {
			return ContentFilter
		}
		return Auth
	case status == http.StatusNotFound:
		return codeOfNotFound(body)
	case status == http.StatusRequestTimeout:
		return Timeout
	case status == http.StatusConflict, status == http.StatusTooEarly:
		return Unavailable
	case status == http.StatusRequestEntityTooLarge:
		if body.page {
			return MalformedResponse // what a proxy takes says nothing of the model
		}
		return ContextLength
	case status == http.StatusTooManyRequests, status == statusOverloaded:
		if body.quotaSpent() {
			return Auth // waiting brings no money
		}
		return RateLimit
	case status >= 500:
		return Unavailable
	case status >= 200 && status < 300:
		return MalformedResponse
	default:
		return codeOfRequest(body)
	}
}

// statusOverloaded is what Anthropic, and proxies in front of it, send when
// they are overloaded.
const statusOverloaded = 529

// codeOfRequest tells apart what a refused request was refused for.
func codeOfRequest(body errorBody) Code {
	switch {
	case body.badKey():
		return Auth
	case body.filtered():
		return ContentFilter
	case body.tooLong():
		return ContextLength
	case body.unknownModel():
		return UnknownModel
	default:
		return InvalidRequest
	}
}

// codeOfNotFound takes an error in the API's own shape to mean the model: the
// address was right then. Anything else is an address that is not the API's.
func codeOfNotFound(body errorBody) Code {
	if body.shaped && !strings.Contains(body.lower(), "invalid url") {
		return UnknownModel
	}
	return InvalidRequest
}

// codeOfBody names an error that came without any status. One that says
// nothing known is taken for a fault of the provider's, since the request had
// been accepted.
func codeOfBody(body errorBody) Code {
	if code := codeOfRequest(body); code != InvalidRequest {
		return code
	}
	kind := strings.ToLower(body.kind + " " + body.code)
	for _, row := range [...]struct {
		code  Code
		words []string
	}{
		{Auth, []string{"quota", "auth", "permission", "api_key", "billing"}},
		{RateLimit, []string{"rate_limit", "too_many", "resource_exhausted", "overloaded"}},
		{UnknownModel, []string{"not_found"}},
		{Timeout, []string{"timeout", "deadline"}},
		{InvalidRequest, []string{"invalid", "bad_request"}},
	} {
		if containsAny(kind, row.words...) {
			return row.code
		}
	}
	return Unavailable
}

func (f Failure) message(body errorBody) string {
	if body.message != "" {
		return Excerpt(body.message, maxMessage)
	}
	text := strings.TrimSpace(string(f.Body))
	switch {
	case text == "":
		return http.StatusText(f.Status)
	case body.page:
		return strings.TrimSpace(http.StatusText(f.Status) + ": an HTML page came back, not a reply of the API")
	default:
		return Excerpt(text, maxMessage)
	}
}

// RetryAfter reads how long a reply asks to wait: Retry-After-Ms, or else
// Retry-After in seconds, possibly fractional, or as an HTTP date. A date is
// compared with the reply's own Date, so that a clock of ours that is wrong
// does no harm, or with now when there is none. 0 means nothing usable was
// said; more than a day is taken as a day.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := parseWait(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	text := h.Get("Retry-After")
	if d, ok := parseWait(text, time.Second); ok {
		return d
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

func parseWait(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n >= 0) { // NaN is not
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(maxRetryAfter))), true
}

// Excerpt makes foreign text fit for an error: one line of printable
// characters, at most limit bytes and then an ellipsis.
func Excerpt(text string, limit int) string {
	const margin = 4 // bytes of the longest character
	if len(text) > 2*limit+margin {
		text = text[:2*limit+margin] // collapsing white space seldom halves it
	}
	line := strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError
	}), " ")
	if len(line) <= limit {
		return line
	}
	for limit > 0 && !utf8.RuneStart(line[limit]) {
		limit--
	}
	return line[:limit] + "…"
}

func containsAny(text string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
