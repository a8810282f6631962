package pack

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/scoring"
)

// decoder fills the structs of this room and of scoring.Spec from a tree. It
// goes on after a mistake, so that one pass finds them all.
//
// Outside evaluation_spec YAML's ways hold: any scalar is text, numbers are cut
// to whole ones, null items fall out of lists, unknown keys are warnings.
// Inside, JSON's do: types must match and unknown keys are errors.
type decoder struct {
	rep    *report
	shapes map[reflect.Type]*shape
	strict bool // JSON's rules hold everywhere
	// settings says that an empty value is none: fields have defaults.
	settings bool
}

// shape is what a struct may hold.
type shape struct {
	name  string // of the type
	keys  []string
	field map[string]int
}

func (d *decoder) shapeOf(t reflect.Type) *shape {
	if s, ok := d.shapes[t]; ok {
		return s
	}
	s := &shape{name: t.Name(), field: map[string]int{}}
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if key == "" || key == "-" {
			continue
		}
		s.keys = append(s.keys, key)
		s.field[key] = i
	}
	d.shapes[t] = s
	return s
}

// mismatch reports a value of the wrong type.
func (d *decoder) mismatch(n *node, sp *spot, want string) {
	d.wrong(n, sp, "must be %s, not %s", want, n.what())
}

func (d *decoder) wrong(n *node, sp *spot, format string, args ...any) {
	d.rep.undecodable(sp.place(n), sp.path(), fmt.Sprintf(format, args...))
}

// shorthand is met by structs that may be written as a bare string.
type shorthand interface{ SetShorthand(string) }

func (d *decoder) decode(n *node, v reflect.Value, sp *spot) {
	if n.isNull() {
		if d.settings && n != nil && !n.refused {
			d.wrong(n, sp, "has no value: give it one, or leave the key out")
		}
		v.SetZero()
		return
	}
	switch v.Type() {
	case reflect.TypeFor[json.RawMessage]():
		d.raw(n, v, sp)
		return
	case reflect.TypeFor[scoring.Spec]():
		sp.strict = true
	}
	if s, ok := v.Addr().Interface().(shorthand); ok && n.kind == yaml.ScalarNode {
		if !n.isText() {
			d.mismatch(n, sp, "a name or a mapping")
			return
		}
		s.SetShorthand(n.text)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.decode(n, v.Elem(), sp)
	case reflect.Struct:
		d.object(n, v, sp)
	case reflect.Slice:
		d.list(n, v, sp)
	case reflect.Map:
		d.dictionary(n, v, sp)
	case reflect.Interface:
		if free := d.free(n, sp); free != nil {
			v.Set(reflect.ValueOf(free))
		}
	default:
		d.scalar(n, v, sp)
	}
}

func (d *decoder) object(n *node, v reflect.Value, sp *spot) {
	if n.kind != yaml.MappingNode {
		d.mismatch(n, sp, "a mapping")
		return
	}
	sh := d.shapeOf(v.Type())
	for _, p := range n.pairs {
		i, ok := sh.field[p.key.text]
		if !ok && sp != nil && sp.strict {
			i, ok = d.otherCase(p, sp, sh)
		}
		if !ok {
			d.unknownKey(p, sp, sh)
			continue
		}
		at := sp.child(p.key)
		at.strict = at.strict || d.strict
		d.decode(p.value, v.Field(i), at)
	}
}

// otherCase finds the field of a key that is written with other capitals, as
// JSON readers do. From then on the key is the field's own.
func (d *decoder) otherCase(p pair, sp *spot, sh *shape) (field int, ok bool) {
	for _, key := range sh.keys {
		if strings.EqualFold(key, p.key.text) {
			d.rep.add(p.key.at, Problem{Field: sp.child(p.key).path(), Message: "is written " + key + " in the pack format", Warning: true})
			p.key.text = key
			return sh.field[key], true
		}
	}
	return 0, false
}

func (d *decoder) list(n *node, v reflect.Value, sp *spot) {
	if n.kind != yaml.SequenceNode {
		d.mismatch(n, sp, "a list")
		return
	}
	strict := sp != nil && sp.strict
	if !strict {
		n.dense = true
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, len(n.items)))
	for _, item := range n.items {
		if !strict && item.isNull() && !item.refused {
			continue
		}
		element := reflect.New(v.Type().Elem()).Elem()
		d.decode(item, element, sp.item(v.Len()))
		v.Set(reflect.Append(v, element))
	}
	if v.Len() == 0 {
		v.SetZero()
	}
}

// dictionary decodes the two maps the format has: free ones and text to text.
func (d *decoder) dictionary(n *node, v reflect.Value, sp *spot) {
	if n.kind != yaml.MappingNode {
		d.mismatch(n, sp, "a mapping")
		return
	}
	if v.Type().Elem().Kind() == reflect.Interface {
		v.Set(reflect.ValueOf(d.free(n, sp)))
		return
	}
	m := reflect.MakeMapWithSize(v.Type(), len(n.pairs))
	for _, p := range n.pairs {
		element := reflect.New(v.Type().Elem()).Elem()
		d.decode(p.value, element, sp.child(p.key))
		m.SetMapIndex(reflect.ValueOf(p.key.text), element)
	}
	v.Set(m)
}

// raw keeps a value as compact JSON with sorted keys.
func (d *decoder) raw(n *node, v reflect.Value, sp *spot) {
	b, err := json.Marshal(d.free(n, sp))
	if err != nil {
		d.wrong(n, sp, "cannot be written as JSON")
		return
	}
	v.SetBytes(b)
}

// free decodes a value that may be anything JSON can hold.
func (d *decoder) free(n *node, sp *spot) any {
	switch n.kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.pairs))
		for _, p := range n.pairs {
			if p.key.tag != "!!str" && d.refusesKey(p.key, sp) {
				continue
			}
			m[p.key.text] = d.free(p.value, sp.child(p.key))
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			list[i] = d.free(item, sp.item(i))
		}
		return list
	}
	v, err := n.scalar()
	if err != nil {
		d.wrong(n, sp, "%v", err)
		return nil
	}
	return v
}

// refusesKey refuses a key that is no text where JSON's rules hold: in
// evaluation_spec, and in tools below its own keys, which fail as a whole.
// Elsewhere such a key is read as the text it is written as.
func (d *decoder) refusesKey(key *node, sp *spot) bool {
	const message = "is a key that is not text; put quotes around it"
	switch {
	case sp.strict:
		d.wrong(key, sp.child(key), message)
	case sp.up != nil && sp.top().key.text == toolsField:
		d.rep.undecodable(key.at, toolsField, clip(sp.child(key).path())+" "+message)
	default:
		return false
	}
	return true
}

func (d *decoder) scalar(n *node, v reflect.Value, sp *spot) {
	strict := sp != nil && sp.strict
	switch v.Kind() {
	case reflect.String:
		d.text(n, v, sp, strict)
	case reflect.Bool:
		b, ok := boolean(n, strict)
		if !ok {
			d.mismatch(n, sp, "true or false")
			return
		}
		v.SetBool(b)
	case reflect.Float64:
		f, _, ok := number(n)
		if !ok {
			d.mismatch(n, sp, "a number")
			return
		}
		v.SetFloat(f)
	default:
		d.integer(n, v, sp)
	}
}

func (d *decoder) text(n *node, v reflect.Value, sp *spot, strict bool) {
	if n.kind != yaml.ScalarNode {
		d.mismatch(n, sp, "text")
		return
	}
	// Outside the spec the text is kept as it was written; a JSON reader
	// would see numbers and booleans as what they are, and dates as text.
	if !strict && n.tag != "!!binary" {
		v.SetString(n.text)
		return
	}
	value, err := n.scalar()
	text, ok := value.(string)
	if err != nil || !ok {
		d.mismatch(n, sp, "text (put quotes around it)")
		return
	}
	v.SetString(text)
}

// boolean reads true and false, and outside the spec the words of YAML 1.1.
func boolean(n *node, strict bool) (value, ok bool) {
	if n.kind != yaml.ScalarNode {
		return false, false
	}
	if n.tag == "!!bool" {
		v, err := n.scalar()
		b, isBool := v.(bool)
		return b, err == nil && isBool
	}
	if strict || !n.isText() {
		return false, false
	}
	switch n.text {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}

// number reads a number; whole is its value when it has no fraction and fits.
func number(n *node) (f float64, whole *int64, ok bool) {
	if n.kind != yaml.ScalarNode {
		return 0, nil, false
	}
	v, err := n.scalar()
	if err != nil {
		return 0, nil, false
	}
	switch v := v.(type) {
	case int64:
		return float64(v), &v, true
	case uint64:
		return float64(v), nil, true
	case float64:
		return v, nil, true
	}
	return 0, nil, false
}

func (d *decoder) integer(n *node, v reflect.Value, sp *spot) {
	f, whole, ok := number(n)
	strict := sp != nil && sp.strict
	switch {
	case !ok, strict && f != math.Trunc(f):
		d.mismatch(n, sp, "a whole number")
		return
	case whole == nil && f != math.Trunc(f):
		whole = new(int64(f))
		d.rep.add(sp.place(n), Problem{Field: sp.path(), Warning: true,
			Message: fmt.Sprintf("is cut to the whole number %d", *whole)})
	}
	if whole == nil || v.OverflowInt(*whole) {
		d.wrong(n, sp, "is too large a number")
		return
	}
	v.SetInt(*whole)
}
