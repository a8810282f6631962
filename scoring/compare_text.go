package scoring

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

func exactMatch(settings) matcher {
	return func(expected string) (comparison, error) {
		return func(actual string) finding {
			return judged(actual == expected, "the text is not the expected one")
		}, nil
	}
}

func contains(settings) matcher {
	return func(expected string) (comparison, error) {
		return func(actual string) finding {
			return judged(strings.Contains(actual, expected), "the text does not contain the expected one")
		}, nil
	}
}

// booleanEvidence is the evidence of a boolean_assert: what the texts say.
type booleanEvidence struct {
	Kind     string `json:"kind"`
	Actual   bool   `json:"actual_boolean"`
	Expected bool   `json:"expected_boolean"`
}

func booleanAssert(settings) matcher {
	return func(expected string) (comparison, error) {
		want, err := parseBoolean(expected)
		if err != nil {
			return nil, err
		}
		return func(actual string) finding {
			got, err := parseBoolean(actual)
			if err != nil {
				return senseless(err.Error())
			}
			return judged(got == want, fmt.Sprintf("%v is not %v", got, want)).with(booleanEvidence{BooleanAssert, got, want})
		}, nil
	}
}

func parseBoolean(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "1", "yes":
		return true, nil
	case "false", "0", "no":
		return false, nil
	}
	return false, fmt.Errorf("%s is neither true, 1 or yes nor false, 0 or no", quoted(text))
}

// regexEvidence is the evidence of a regex_match.
type regexEvidence struct {
	Kind    string `json:"kind"`
	Pattern string `json:"pattern"`
	Matched bool   `json:"matched"`
}

func regexMatch(settings) matcher {
	return patternMatch(newMemo(compilePattern))
}

func patternMatch(patterns *memo[*pattern]) matcher {
	return func(expected string) (comparison, error) {
		re, err := patterns.get(expected)
		if err != nil {
			return nil, err
		}
		return func(actual string) finding {
			if re.steps(actual) > maxMatch {
				return senseless(fmt.Sprintf("%d bytes are too many for a pattern of this size", len(actual)))
			}
			ok := re.MatchString(actual)
			return judged(ok, "the pattern does not match").with(regexEvidence{"regex_match", clip(expected), ok})
		}, nil
	}
}

// Bounds on matching. RE2 takes at most one step for each instruction of the
// pattern at each byte of the text.
const (
	maxInstructions = 20_000
	maxMatch        = 1 << 29 // steps
)

// pattern is a compiled pattern that knows how large it is.
type pattern struct {
	*regexp.Regexp
	instructions int
}

func (p *pattern) steps(text string) int { return p.instructions * len(text) }

func compilePattern(text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes; at most %d are compiled", len(text), maxPattern)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("the pattern is no RE2 expression: %w", err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("the pattern cannot be compiled: %w", err)
	}
	if n := len(prog.Inst); n > maxInstructions {
		return nil, fmt.Errorf("the pattern has %d instructions when its repetitions are written out; at most %d are run", n, maxInstructions)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("the pattern is no RE2 expression: %w", err)
	}
	return &pattern{re, len(prog.Inst)}, nil
}

// What a memo keeps: a pack's expected texts come from its cases, of which
// there are few, but nothing says so.
const (
	memoEntries = 64
	memoBytes   = 32 << 10 // longer texts are compiled each time
)

// memo remembers what expected texts compiled to. It is safe for concurrent
// use.
type memo[T any] struct {
	compile func(string) (T, error)
	mu      sync.Mutex
	known   map[string]compiled[T]
}

type compiled[T any] struct {
	value T
	err   error
}

func newMemo[T any](compile func(string) (T, error)) *memo[T] {
	return &memo[T]{compile: compile, known: map[string]compiled[T]{}}
}

func (m *memo[T]) get(text string) (T, error) {
	if len(text) > memoBytes {
		return m.compile(text)
	}
	m.mu.Lock()
	c, ok := m.known[text]
	m.mu.Unlock()
	if ok {
		return c.value, c.err
	}
	c.value, c.err = m.compile(text)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= memoEntries {
		clear(m.known)
	}
	m.known[text] = c
	return c.value, c.err
}
