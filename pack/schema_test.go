package pack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/pack"
)

// compiledSchema is the schema as a validator of 2020-12 reads it.
func compiledSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaBytes(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(pack.SchemaURL, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(pack.SchemaURL)
	if err != nil {
		t.Fatal(err)
	}
	if schema.DraftVersion != 2020 {
		t.Errorf("compiled as draft %d, want 2020", schema.DraftVersion)
	}
	return schema
}

func schemaBytes(t testing.TB) []byte {
	t.Helper()
	text, err := pack.Schema()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// editorReads decodes the first document of a file to plain values, as an
// editor does before it looks at a schema.
func editorReads(src []byte) (any, error) {
	var v any
	if err := yaml.NewDecoder(bytes.NewReader(src)).Decode(&v); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return plainValue(v), nil
}

// plainValue is a value that JSON can hold.
func plainValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = plainValue(item)
		}
		return v
	case map[any]any:
		m := map[string]any{}
		for k, item := range v {
			m[fmt.Sprint(k)] = plainValue(item)
		}
		return m
	case []any:
		for i := range v {
			v[i] = plainValue(v[i])
		}
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
	}
	return v
}

func TestSchemaIsCommitted(t *testing.T) {
	t.Parallel()
	golden(t, "../docs/challenge-pack.schema.json", string(schemaBytes(t)))
}

// Each entry spoils a row in a way that a change of the types would.
func TestSchemaRowsCannotDrift(t *testing.T) {
	t.Parallel()
	for _, entry := range []struct{ name, old, with, want string }{
		{"a field without a row", "    case_key: {", "    case_kee: {", "no row describes Case.case_key"},
		{"a row without its field", "    case_key: {", "    case_kee: {", "a row describes Case.case_kee, which is not there"},
		{"a key of a free mapping without a text", "    lookup_key: {description: ", "    lookup_key: {title: ", "no row describes Implementation.lookup_key"},
		{"a type without a row", "\nTurn:\n", "\nTrun:\n", "there is no row for Turn"},
		{"a row without its type", "\nTurn:\n", "\nTrun:\n", "a row describes Trun, which is not there"},
		{"a type without a text", "\nTurn:\n  description:", "\nTurn:\n  title:", "no row describes Turn"},
		{"a required key without its field", "required: [challenge_key]", "required: [challenge]", "a row requires Case.challenge, which is not there"},
		{"no mapping", "# The rows of the blocks", "just text\n---\n#", "read blocks.yaml: it is not a mapping"},
	} {
		files := fstest.MapFS{}
		for _, name := range []string{"schema/pack.yaml", "schema/blocks.yaml", "schema/evaluation_spec.yaml"} {
			files[name] = &fstest.MapFile{Data: []byte(strings.Replace(read(t, name), entry.old, entry.with, 1))}
		}
		_, err := pack.SchemaFrom(files)
		if err == nil || !strings.Contains(err.Error(), entry.want) {
			t.Errorf("%s: got %v, want %q", entry.name, err, entry.want)
		}
	}
}

// goodPacks are all packs that come with the program, by name.
func goodPacks(t *testing.T) map[string][]byte {
	t.Helper()
	packs := map[string][]byte{}
	for _, pattern := range []string{"testdata/corpus/valid-*.yaml", "demo/*.yaml", "catalog/*.yaml", "../examples/*/pack.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, ".reference.yaml") {
				continue
			}
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			packs[file] = src
		}
	}
	for _, kind := range pack.StarterTemplates() {
		src, err := pack.Starter(kind, "", "")
		if err != nil {
			t.Fatal(err)
		}
		packs["starter/"+kind] = []byte(src)
	}
	if len(packs) < 12 {
		t.Fatalf("found %d packs, which cannot be all", len(packs))
	}
	return packs
}

func TestSchemaAcceptsValidPacks(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	for name, src := range goodPacks(t) {
		v, err := editorReads(src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// beyondSchema are the broken files of the corpus that no schema can refuse,
// with the reason. All others are refused by the schema, or are not YAML that
// an editor could read in the first place.
var beyondSchema = map[string]string{
	"deep.yaml":         "a payload may hold anything; how deep it may be, a schema cannot say",
	"test-command.yaml": "whether a case fills a placeholder is a question about two places at once",
}

func TestSchemaRefusesBrokenPacks(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	unread, refused := 0, 0
	for _, file := range corpus(t) {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "valid-") {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		reason, beyond := beyondSchema[name]
		v, err := editorReads(src)
		if err != nil {
			unread++
		} else if err = schema.Validate(v); err != nil {
			refused++
		}
		switch {
		case beyond && err != nil:
			t.Errorf("%s is refused although %s: take it off the list: %v", name, reason, err)
		case !beyond && err == nil:
			t.Errorf("%s is accepted: let the schema refuse it, or list it with the reason", name)
		}
	}
	if unread < 5 || refused < 7 {
		t.Errorf("%d files could not be read and %d were refused, which cannot be all", unread, refused)
	}
}

// Every field and every type has a text for editors.
func TestSchemaDescribesEverything(t *testing.T) {
	t.Parallel()
	var doc map[string]any
	if err := json.Unmarshal(schemaBytes(t), &doc); err != nil {
		t.Fatal(err)
	}
	defs := doc["$defs"].(map[string]any)
	defs["Pack"] = doc
	fields := 0
	for name, def := range defs {
		if def.(map[string]any)["description"] == "" {
			t.Errorf("%s has no description", name)
		}
		properties, _ := def.(map[string]any)["properties"].(map[string]any)
		for key, p := range properties {
			fields++
			if text, _ := p.(map[string]any)["description"].(string); !strings.HasSuffix(text, ".") {
				t.Errorf("%s.%s: got description %q, want a sentence", name, key, text)
			}
		}
	}
	if fields < 200 {
		t.Errorf("found %d fields, which cannot be all", fields)
	}
}

// The mappings that have no Go type are those that the checks know.
func TestSchemaKnowsFreeMappings(t *testing.T) {
	t.Parallel()
	var doc struct {
		Defs map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal(schemaBytes(t), &doc); err != nil {
		t.Fatal(err)
	}
	for def, entry := range map[string]struct{ old, with string }{
		"ToolPolicy": {"  number: 1\n", "  number: 1\n  tool_policy: {%s: }\n"},
		"Filesystem": {"  number: 1\n", "  number: 1\n  filesystem: {%s: }\n"},
		"Tools":      {"pack:\n", "tools: {%s: }\npack:\n"},
	} {
		keys := append(slices.Sorted(maps.Keys(doc.Defs[def].Properties)), "zz")
		for _, key := range keys {
			_, problems := pack.Parse("pack.yaml", []byte(strings.Replace(edgeBase, entry.old, fmt.Sprintf(entry.with, key), 1)), nil)
			said := problems.Error()
			if known := !strings.Contains(said, "is not known") && !strings.Contains(said, "is not a key"); known != (key != "zz") {
				t.Errorf("%s.%s: known to the format is %v: %s", def, key, known, said)
			}
		}
		if len(keys) < 4 {
			t.Errorf("%s has the keys %q, which cannot be all", def, keys)
		}
	}
}
