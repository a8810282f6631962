package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/agentclash/agentclash/engine/provider"
)

// maxDepth is how deep a request's values may be nested.
const maxDepth = 200

// level is an object or a list that is being read.
type level struct {
	keys   map[string]bool // nil: a list
	wanted bool            // a key comes next
}

// unique refuses a document with a key that stands twice in one object: which of
// the two counts is different from reader to reader.
func unique(body []byte) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var open []level
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.New("it is not JSON")
		}
		var top *level
		if len(open) > 0 {
			top = &open[len(open)-1]
		}
		if top != nil && top.wanted {
			if key, ok := tok.(string); ok {
				if top.keys[key] {
					return fmt.Errorf("the key %q stands in it twice", provider.Excerpt(key, 80))
				}
				top.keys[key], top.wanted = true, false
				continue
			}
		}
		if top != nil && top.keys != nil {
			top.wanted = true // after the value that begins, or is, here
		}
		switch tok {
		case json.Delim('{'):
			open = append(open, level{keys: map[string]bool{}, wanted: true})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > maxDepth {
			return fmt.Errorf("it is nested more than %d deep", maxDepth)
		}
	}
}
