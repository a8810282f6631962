package convert

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The formats that are read. The first four are those of other tools and differ
// in the names of their columns.
const (
	OpenAI     = "openai"
	Braintrust = "braintrust"
	LangSmith  = "langsmith"
	Phoenix    = "phoenix"
	JSONL      = "jsonl"
	JSON       = "json"
	CSV        = "csv"
	OTLP       = "otlp"
	Transcript = "transcript"
)

// Formats are the names of the formats.
func Formats() []string {
	return []string{CSV, JSONL, JSON, OpenAI, Braintrust, LangSmith, Phoenix, OTLP, Transcript}
}

// Read reads a file. An empty format is told by what the file holds; it is
// returned. The error is of type [Problems].
func Read(src []byte, format string) (rows []Row, found string, err error) {
	if format != "" && !slices.Contains(Formats(), format) {
		return nil, "", whole("there is no format %q: there are %s", clip(format), strings.Join(Formats(), ", "))
	}
	if src, err = text(src); err != nil {
		return nil, format, err
	}
	first := bytes.TrimSpace(src)[0]
	if format == CSV || format == "" && first != '{' && first != '[' {
		rows, err = readTable(src)
		return rows, CSV, err
	}
	documents, err := readJSON(src)
	if err != nil {
		return nil, format, err
	}
	if format == "" {
		format = detect(documents, first)
	}
	switch format {
	case OTLP:
		rows, err = readTraces(documents)
	case Transcript, OpenAI:
		rows, err = readTranscripts(documents)
	default:
		rows, err = objects(documents)
	}
	if err == nil && len(rows) == 0 {
		err = whole("it holds no example")
	}
	return rows, format, err
}

// document is a JSON value of a file and the line where it begins.
type document struct {
	value any
	line  int
}

// readJSON reads the values of a file: those of its one array, or of the list
// "examples" in its one object, else one after the other, as JSON Lines has them.
func readJSON(src []byte) ([]document, error) {
	list, err := values(src, 1)
	if err != nil {
		return nil, err
	}
	if len(list) == 1 {
		switch v := list[0].value.(type) {
		case []any:
			return inside(src, v), nil
		case map[string]any:
			if examples, ok := v["examples"].([]any); ok {
				return inside(src, examples), nil
			}
		}
	}
	return list, nil
}

// inside are the items of a list. Where each begins is known for a file that is
// nothing but the list.
func inside(src []byte, items []any) []document {
	list := make([]document, len(items))
	dec := json.NewDecoder(bytes.NewReader(src))
	placed := false
	if t, err := dec.Token(); err == nil {
		placed = t == json.Delim('[')
	}
	line, seen := 1, int64(0)
	for i, item := range items {
		list[i] = document{value: item}
		if !placed {
			continue
		}
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			placed = false
			continue
		}
		start := dec.InputOffset() - int64(len(raw))
		line += bytes.Count(src[seen:start], []byte("\n"))
		seen, list[i].line = start, line
	}
	return list
}

// values reads JSON values until the end. Of a file with a value in each line
// every line that is none is said.
func values(src []byte, line int) ([]document, error) {
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	var list []document
	var problems Problems
	base, seen := int64(0), int64(0) // of the decoder, and of what has been read
	for n := 1; ; n++ {
		var v any
		err := dec.Decode(&v)
		at := base + dec.InputOffset()
		switch {
		case errors.Is(err, io.EOF):
			return list, problems.err()
		case err != nil:
			problem, next := noJSON(src, seen, base, err)
			problem.Row, problem.Line = n, problem.Line+line
			problems = append(problems, problem)
			if next < 0 || len(problems) > maxProblems {
				return nil, problems.err()
			}
			line += bytes.Count(src[seen:next], []byte("\n"))
			base, seen = next, next
			dec = json.NewDecoder(bytes.NewReader(src[base:]))
			dec.UseNumber()
			continue
		case len(list) == MaxRows:
			return nil, whole("it has more than %d rows", MaxRows)
		}
		begin := seen + int64(len(src[seen:at])-len(bytes.TrimLeft(src[seen:at], " \t\r\n")))
		line += bytes.Count(src[seen:begin], []byte("\n"))
		if key, twice := repeated(src[begin:at]); twice {
			problems = append(problems, Problem{Row: n, Line: line, Column: key, Message: "is there twice in one object"})
		}
		list = append(list, document{v, line})
		line += bytes.Count(src[begin:at], []byte("\n"))
		seen = at
	}
}

// noJSON says what is wrong with the value after seen, with its line counted from
// there, and where the next one begins: -1 when that cannot be told.
func noJSON(src []byte, seen, base int64, err error) (p Problem, next int64) {
	at := int64(len(src))
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = min(base+max(syntax.Offset, 1), at)
	}
	p = Problem{Line: bytes.Count(src[seen:at], []byte("\n")), Message: "is no JSON: " + strings.TrimPrefix(err.Error(), "json: ")}
	begin := seen + int64(len(src[seen:])-len(bytes.TrimLeft(src[seen:], " \t\r\n")))
	end := bytes.IndexByte(src[begin:], '\n')
	if end < 0 || begin+int64(end) < at-1 { // it is the last line, or goes on after it
		return p, -1
	}
	next = begin + int64(end) + 1
	if rest := bytes.TrimLeft(src[next:], " \t\r\n"); len(rest) > 0 && rest[0] != '{' {
		return p, -1
	}
	return p, next
}

// repeated finds a key that an object of a JSON value has twice: which of its
// values is meant, nobody can tell.
func repeated(src []byte) (key string, twice bool) {
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	var open []map[string]bool // keys of the objects around, nil for a list
	isKey := false
	for {
		token, err := dec.Token()
		if err != nil {
			return "", false // its end
		}
		inObject := len(open) > 0 && open[len(open)-1] != nil
		switch t := token.(type) {
		case json.Delim:
			switch t {
			case '{':
				open, isKey = append(open, map[string]bool{}), true
				continue
			case '[':
				open = append(open, nil)
				continue
			}
			open = open[:len(open)-1]
		case string:
			if inObject && isKey {
				if open[len(open)-1][t] {
					return t, true
				}
				open[len(open)-1][t], isKey = true, false
				continue
			}
		}
		isKey = len(open) > 0 && open[len(open)-1] != nil
	}
}

// objects are the documents as rows.
func objects(documents []document) ([]Row, error) {
	var rows []Row
	var problems Problems
	if len(documents) > MaxRows {
		return nil, whole("it has more than %d rows", MaxRows)
	}
	for i, d := range documents {
		fields, ok := d.value.(map[string]any)
		switch {
		case !ok:
			problems = append(problems, Problem{Row: i + 1, Line: d.line, Message: "is " + kindOf(d.value) + ", not an object"})
		case len(fields) > maxColumns:
			problems = append(problems, Problem{Row: i + 1, Line: d.line, Message: fmt.Sprintf("has more than %d keys", maxColumns)})
		case len(fields) > 0:
			rows = append(rows, Row{N: i + 1, Line: d.line, Fields: fields})
		}
	}
	return rows, problems.err()
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// detect tells a format by the keys of its first rows.
func detect(documents []document, first byte) string {
	for _, d := range documents {
		fields, ok := d.value.(map[string]any)
		has := func(keys ...string) bool {
			for _, key := range keys {
				if _, ok := fields[key]; !ok {
					return false
				}
			}
			return true
		}
		switch {
		case !ok || len(fields) == 0:
			continue
		case has("resourceSpans"), has("resource_spans"):
			return OTLP
		case has("role"):
			return Transcript
		case has("messages"), has("ideal"), has("item"):
			return OpenAI
		case has("inputs", "outputs"):
			return LangSmith
		case has("input", "expected"):
			return Braintrust
		case has("input", "output"):
			return Phoenix
		}
		break
	}
	if first == '[' {
		return JSON
	}
	return JSONL
}

// readTable reads a CSV table whose first row names the columns.
func readTable(src []byte) ([]Row, error) {
	in := csv.NewReader(bytes.NewReader(src))
	in.Comma, in.FieldsPerRecord = separator(src), -1
	head, err := in.Read()
	if err != nil {
		return nil, tableError(err)
	}
	problems := checkHead(head)
	var rows []Row
	for n := 1; ; n++ {
		record, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			if len(rows) == 0 && len(problems) == 0 {
				return nil, whole("it holds no example")
			}
			return rows, problems.err()
		case err != nil:
			return nil, tableError(err)
		case n > MaxRows:
			return nil, whole("it has more than %d rows", MaxRows)
		case blank(record):
			continue
		}
		line, _ := in.FieldPos(0)
		if len(record) != len(head) {
			problems = append(problems, Problem{Row: n, Line: line, Message: fmt.Sprintf("has %d values for %d columns", len(record), len(head))})
			continue
		}
		r := Row{N: n, Line: line, Fields: make(map[string]any, len(head))}
		for i, value := range record {
			r.Fields[head[i]] = value
		}
		rows = append(rows, r)
	}
}

func checkHead(head []string) (problems Problems) {
	if len(head) > maxColumns {
		return whole("it has more than %d columns", maxColumns)
	}
	seen := map[string]bool{}
	for i := range head {
		head[i] = strings.TrimSpace(head[i])
		switch {
		case head[i] == "":
			problems = append(problems, Problem{Line: 1, Message: fmt.Sprintf("column %d has no name", i+1)})
		case seen[head[i]]:
			problems = append(problems, Problem{Line: 1, Column: head[i], Message: "there are two of that name"})
		}
		seen[head[i]] = true
	}
	return problems
}

func tableError(err error) error {
	var syntax *csv.ParseError
	if errors.As(err, &syntax) {
		return Problems{{Line: syntax.Line, Message: fmt.Sprintf("is no CSV: at character %d: %v", syntax.Column, syntax.Err)}}
	}
	return whole("it is no CSV: %v", err)
}

// separator is what stands between the columns of a table's head: some programs
// write a semicolon or a tab.
func separator(src []byte) rune {
	head, _, _ := bytes.Cut(src, []byte("\n"))
	for _, comma := range []string{",", "\t", ";"} {
		if bytes.Contains(head, []byte(comma)) {
			return rune(comma[0])
		}
	}
	return ','
}

func blank(record []string) bool {
	return !slices.ContainsFunc(record, func(s string) bool { return strings.TrimSpace(s) != "" })
}
