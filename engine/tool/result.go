package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/sandbox"
)

// The categories of a tool.
const (
	CategoryPrimitive = "primitive" // built in
	CategoryComposed  = "composed"  // the pack's, and calls another
	CategoryMock      = "mock"      // the pack's, and answers by itself
)

// The origins of a failed call.
const (
	OriginPolicy     = "policy"     // the tool may not be used here
	OriginResolution = "resolution" // a composed tool's arguments could not be made
	OriginPrimitive  = "primitive"  // the tool itself failed
	OriginDelegation = "delegation" // a composed tool's delegate is not there
	OriginCycle      = "cycle"      // it calls itself in a circle
	OriginDepth      = "depth"      // it calls through too many
)

// Result is what a tool answered.
type Result struct {
	Content string // what the model is told, bounded
	IsError bool
	Origin  string // of an error
	// Limit is the limit of the sandbox that the call ran into, "" for none; see
	// [sandbox.Result].
	Limit    string
	Category string // of the tool that was called, "" for one that is not there
	// Answer is the final answer when the call was a successful submit.
	Answer *string

	// Chain names the tools the call went through, that which the agent called
	// first; ResolvedName and ResolvedCategory are the last of them, which
	// answered or failed.
	Chain            []string
	ResolvedName     string
	ResolvedCategory string
}

// FailureDepth is where in the chain a failed call failed, from 0; nil for a
// call that went well or had no chain.
func (r Result) FailureDepth() *int {
	if !r.IsError || len(r.Chain) == 0 {
		return nil
	}
	depth := len(r.Chain) - 1
	return &depth
}

// Refusal answers a call that the loop does not run.
func Refusal(why string) Result { return failure("%s", why) }

func failure(format string, args ...any) Result {
	b, err := json.Marshal(map[string]string{"error": clip(fmt.Sprintf(format, args...), maxMessage)})
	if err != nil {
		panic(err) // a map of strings
	}
	return Result{Content: string(b), IsError: true, Origin: OriginPrimitive, Category: CategoryPrimitive}
}

// refused is what a box answered to a call, for the model. A limit is named.
func refused(name string, err error) Result {
	r := failure("%s: %v", name, err)
	switch {
	case errors.Is(err, sandbox.ErrFileSize):
		r.Limit = sandbox.LimitFile
	case errors.Is(err, sandbox.ErrNoSpace):
		r.Limit = sandbox.LimitWorkspace
	}
	return r.limited()
}

// limited puts the limit of a failure into what the model is told.
func (r Result) limited() Result {
	var said map[string]any
	if r.Limit == "" || json.Unmarshal([]byte(r.Content), &said) != nil {
		return r
	}
	said["limit"] = r.Limit
	if content, err := compact(said); err == nil {
		r.Content = content
	}
	return r
}

func success(v any) (Result, error) {
	content, err := compact(v)
	return Result{Content: content, Category: CategoryPrimitive}, err
}

// compact is a value as JSON on one line, < and & as they are: the reader is a
// model, not a browser.
func compact(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// clip cuts a text to n bytes, on a rune boundary, and says so.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}

// bounded is the last fence before a model: names of files and a pack's own
// mocks can be of any length.
func bounded(content string) string {
	if len(content) <= maxContent {
		return content
	}
	cut, err := compact(struct {
		Truncated  bool   `json:"truncated"`
		Preview    string `json:"preview"`
		TotalBytes int    `json:"total_bytes"`
		Note       string `json:"note"`
	}{true, preview(content), len(content), "the result is too long to be shown: ask for less"})
	if err != nil {
		return "" // strings and numbers always encode
	}
	return cut
}
