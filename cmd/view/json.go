package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes one document with an indent of two spaces. Text is written as it
// is: "<" stays "<".
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// compact is the JSON of v on one line, without HTML escapes.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// List is a slice whose JSON is an array even when it is nil.
type List[T any] []T

// MarshalJSON writes an array.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return compact([]T(l))
}

// Object is a JSON object whose keys keep the order in which they were
// declared, for people and for programs alike.
type Object[T any] []Field[T]

// Field is one key of an Object.
type Field[T any] struct {
	Key   string
	Value T
}

// Get returns the value of a key.
func (o Object[T]) Get(key string) (T, bool) {
	for _, f := range o {
		if f.Key == key {
			return f.Value, true
		}
	}
	var zero T
	return zero, false
}

// MarshalJSON writes an object, also when o is nil.
func (o Object[T]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := compact(f.Key)
		if err != nil {
			return nil, err
		}
		value, err := compact(f.Value)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", f.Key, err)
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object and keeps the order of its keys.
func (o *Object[T]) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	if err != nil {
		return err
	}
	*o = nil
	if open == nil { // null
		return nil
	}
	if open != json.Delim('{') {
		return fmt.Errorf("read an object: got %v", open)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		f := Field[T]{Key: fmt.Sprint(key)}
		if err := dec.Decode(&f.Value); err != nil {
			return fmt.Errorf("key %q: %w", f.Key, err)
		}
		*o = append(*o, f)
	}
	_, err = dec.Token()
	return err
}
