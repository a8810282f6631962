package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/itchyny/gojq"
)

// runJQ runs a jq program on each document. The program sees no environment
// and loads no module.
func runJQ(q Question, o *output) error {
	parsed, err := gojq.Parse(q.Query)
	if err != nil {
		return refuse("jq: %v", err)
	}
	code, err := gojq.Compile(parsed)
	if err != nil {
		return refuse("jq: %v", err)
	}
	docs := json.NewDecoder(bytes.NewReader(q.Data))
	docs.UseNumber()
	for {
		var doc any
		err := docs.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return refuse("the input is not JSON: %v", err)
		}
		halted, err := results(code.Run(doc), o)
		if err != nil || halted {
			return err
		}
	}
}

// results writes what a program makes of one document, a line each. halted says
// that it wants no more.
func results(iter gojq.Iter, o *output) (halted bool, err error) {
	for {
		v, ok := iter.Next()
		if !ok {
			return false, nil
		}
		if err, isErr := v.(error); isErr {
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil {
				return true, nil
			}
			return false, refuse("jq: %v", err)
		}
		line, err := gojq.Marshal(v)
		if err != nil {
			return false, refuse("jq: %v", err)
		}
		if !o.room(len(line) + 1) {
			return true, nil
		}
		o.buf.Write(line)
		o.buf.WriteByte('\n')
		o.Count++
	}
}
