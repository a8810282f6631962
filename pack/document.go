package pack

import (
	"bytes"
	"fmt"
	"reflect"
)

// Document is a YAML file of another format than a pack's, whose values have
// places in it.
type Document struct{ rep *report }

// Decode fills a struct from a YAML file. Every key must be one of the struct's
// JSON keys, and every value of the type it has there; bounds are those of a
// pack file. Whatever is wrong becomes a problem of the document, all at once.
// Format is the word for such files in messages.
func Decode(name, format string, src []byte, into any) *Document {
	return decodeDocument(name, format, src, into, false)
}

// DecodeSettings is [Decode] for a file whose fields have defaults, which into
// holds. A key without a value is refused, as it looks like the default and would
// be none, and so is a second document.
func DecodeSettings(name, format string, src []byte, into any) *Document {
	return decodeDocument(name, format, src, into, true)
}

func decodeDocument(name, format string, src []byte, into any, settings bool) *Document {
	rep := newReport(name)
	rep.format = format
	d := &Document{rep}
	marks := bytes.Count(src, []byte("\n")) + bytes.Count(src, []byte(",")) + bytes.Count(src, []byte(":"))
	switch {
	case len(src) > MaxBytes:
		rep.undecodable(position{1, 1}, bundleField, fmt.Sprintf("is longer than %d MiB", MaxBytes>>20))
		return d
	case marks > MaxMarks:
		rep.undecodable(position{1, 1}, bundleField, fmt.Sprintf("is too large: it has more than %d lines, commas and colons", MaxMarks))
		return d
	case blank(src):
		rep.undecodable(position{1, 1}, bundleField, "is empty")
		return d
	}
	rep.lines = countLines(src)
	if at := secondDocument(src); settings && at > 0 {
		rep.undecodable(position{at, 1}, bundleField, "is where a second document begins: a file holds one "+format)
		return d
	}
	root, ok := parseTree(src, rep)
	if !ok {
		return d
	}
	rep.root = root
	decoder := decoder{rep: rep, shapes: map[reflect.Type]*shape{}, strict: true, settings: settings}
	decoder.decode(root, reflect.ValueOf(into).Elem(), nil)
	return d
}

// Fail adds an error at a field, unless its value could not be read in the first
// place.
func (d *Document) Fail(field, format string, args ...any) {
	d.rep.check(Problem{Field: field, Message: fmt.Sprintf(format, args...)})
}

// Unread says whether nothing in the file could be read.
func (d *Document) Unread() bool { return d.rep.broken[bundleField] }

// Problems are all problems so far, in the file's order. One about the file as a
// whole names the format as its field.
func (d *Document) Problems() Problems {
	problems := d.rep.sorted()
	for i := range problems {
		if problems[i].Field == bundleField {
			problems[i].Field = d.rep.format
		}
	}
	return problems
}

// DidYouMean ends a message with the word that was probably meant, if any was.
func DidYouMean(got string, words []string) string { return didYouMean(got, words) }
