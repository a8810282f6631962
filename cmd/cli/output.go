package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/itchyny/gojq"
	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/cmd/view"
)

// Print writes a command's result: v as JSON or YAML when that was asked for,
// else what human writes.
func (a *App) Print(v any, human func(w io.Writer, o view.Options) error) error {
	switch {
	case a.ReportOut:
		return nil
	case a.Query != "":
		return a.printQuery(v)
	case a.Output == "json":
		return view.JSON(a.Process.Out, v)
	case a.Output == "yaml":
		return a.printYAML(v)
	default:
		return human(a.Process.Out, a.ViewOptions())
	}
}

// ViewOptions are those of human output on stdout.
func (a *App) ViewOptions() view.Options {
	o := view.Options{Color: a.Color(), Now: a.Process.Now()}
	if width, _, ok := a.Process.Terminal(); ok {
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

func (a *App) printYAML(v any) error {
	g, err := generic(v)
	if err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	enc := yaml.NewEncoder(a.Process.Out)
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
		return nil, Usage("--query: %w", err)
	}
	code, err := gojq.Compile(q)
	if err != nil {
		return nil, Usage("--query: %w", err)
	}
	return code, nil
}

// printQuery writes each result on a line of its own, strings as they are.
func (a *App) printQuery(v any) error {
	code, err := parseQuery(a.Query)
	if err != nil {
		return err
	}
	return writeQuery(a.Process.Out, code, v)
}

// Stream is where a stream of documents goes, each in one Write: to stdout, by
// way of --query when there is one.
func (a *App) Stream() (io.Writer, error) { return a.StreamTo(a.Process.Out) }

// StreamTo is stream for documents that go to stdout by way of w.
func (a *App) StreamTo(w io.Writer) (io.Writer, error) {
	if a.Query == "" {
		return w, nil
	}
	code, err := parseQuery(a.Query)
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
			return Usage("--query: %w", err)
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

// Progress says what goes on, on the live screen while there is one.
func (a *App) Progress(line string) {
	if s := a.Live.Load(); s != nil {
		s.Note(line)
		return
	}
	a.Say("%s", line)
}

// Say writes a line of talk to stderr, unless --quiet.
func (a *App) Say(format string, args ...any) {
	if !a.Quiet {
		a.Warn(format, args...)
	}
}

// Warn is say for what --quiet does not silence. With --json it is a document on a line
// of its own, as an error is: who reads errors there reads JSON.
func (a *App) Warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if a.Output != "json" {
		fmt.Fprintln(a.Process.Err, view.Sanitize(text))
		return
	}
	line, err := json.Marshal(map[string]string{"note": strings.TrimPrefix(strings.TrimPrefix(text, "note: "), "! ")})
	if err == nil { // it is text: it can always be written
		fmt.Fprintf(a.Process.Err, "%s\n", line)
	}
}

// Short is an id as people read and type it.
func Short(id string) string { return view.ShortID(id) }
