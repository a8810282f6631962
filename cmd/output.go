package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/itchyny/gojq"
	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/cmd/view"
)

// print writes a command's result: v as JSON or YAML when that was asked for,
// else what human writes.
func (a *app) print(v any, human func(w io.Writer, o view.Options) error) error {
	switch {
	case a.reportOut:
		return nil
	case a.query != "":
		return a.printQuery(v)
	case a.output == "json":
		return view.JSON(a.p.Out, v)
	case a.output == "yaml":
		return a.printYAML(v)
	default:
		return human(a.p.Out, a.viewOptions())
	}
}

func (a *app) viewOptions() view.Options {
	o := view.Options{Color: a.color(), Now: a.p.Now()}
	if width, _, ok := a.p.Terminal(); ok {
		o.Width = width
	}
	return o
}

// generic is a document as plain maps and slices, by way of its JSON keys.
func generic(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var g any
	return g, dec.Decode(&g)
}

func (a *app) printYAML(v any) error {
	g, err := generic(v)
	if err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	enc := yaml.NewEncoder(a.p.Out)
	enc.SetIndent(2)
	if err := enc.Encode(plainNumbers(g)); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	return enc.Close()
}

// plainNumbers turns JSON numbers into what YAML writes without quotes.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = plainNumbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plainNumbers(e)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, err := v.Float64()
		if err == nil {
			return f
		}
	}
	return v
}

func parseQuery(text string) (*gojq.Code, error) {
	q, err := gojq.Parse(text)
	if err != nil {
		return nil, usage("--query: %w", err)
	}
	code, err := gojq.Compile(q)
	if err != nil {
		return nil, usage("--query: %w", err)
	}
	return code, nil
}

// printQuery writes each result on a line of its own, strings as they are.
func (a *app) printQuery(v any) error {
	code, err := parseQuery(a.query)
	if err != nil {
		return err
	}
	return writeQuery(a.p.Out, code, v)
}

// stream is where a stream of documents goes, each in one Write: to stdout, by
// way of --query when there is one.
func (a *app) stream() (io.Writer, error) { return a.streamTo(a.p.Out) }

// streamTo is stream for documents that go to stdout by way of w.
func (a *app) streamTo(w io.Writer) (io.Writer, error) {
	if a.query == "" {
		return w, nil
	}
	code, err := parseQuery(a.query)
	return queryWriter{w, code}, err
}

type queryWriter struct {
	w    io.Writer
	code *gojq.Code
}

func (q queryWriter) Write(document []byte) (int, error) {
	return len(document), writeQuery(q.w, q.code, json.RawMessage(document))
}

func writeQuery(w io.Writer, code *gojq.Code, v any) error {
	g, err := generic(v)
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	results := code.Run(g)
	for {
		r, ok := results.Next()
		if !ok {
			return nil
		}
		if err, failed := r.(error); failed {
			return usage("--query: %w", err)
		}
		if s, ok := r.(string); ok {
			fmt.Fprintln(w, s)
			continue
		}
		line, err := gojq.Marshal(r)
		if err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
		fmt.Fprintf(w, "%s\n", line)
	}
}

// progress says what goes on, on the live screen while there is one.
func (a *app) progress(line string) {
	if s := a.live.Load(); s != nil {
		s.Note(line)
		return
	}
	a.say("%s", line)
}

// say writes a line of talk to stderr, unless --quiet.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		a.warn(format, args...)
	}
}

// warn is say for what --quiet does not silence.
func (a *app) warn(format string, args ...any) {
	fmt.Fprintln(a.p.Err, view.Sanitize(fmt.Sprintf(format, args...)))
}

func short(id string) string { return view.ShortID(id) }
