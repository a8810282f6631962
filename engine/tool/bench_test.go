package tool_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
)

// BenchmarkCall is what a call of each kind costs on a workspace of 200 files.
func BenchmarkCall(b *testing.B) {
	for _, boxes := range []struct {
		name     string
		provider func(testing.TB) sandbox.Provider
	}{
		{"memory", func(testing.TB) sandbox.Provider { return sandboxtest.Memory() }},
		{"scratch", scratchBoxes},
		{"docker", dockerBoxes},
	} {
		b.Run(boxes.name, func(b *testing.B) {
			box := opened(b, boxes.provider(b))
			for i := range 200 {
				if err := box.WriteFile(b.Context(), fmt.Sprintf("src/%d/a.go", i), []byte(strings.Repeat("a line of code\n", 100))); err != nil {
					b.Fatal(err)
				}
			}
			for name, data := range map[string][]byte{"x.db": database(b, "CREATE TABLE t(x)", "INSERT INTO t VALUES (1)"), "x.json": []byte(`{"a":[1,2,3]}`)} {
				if err := box.WriteFile(b.Context(), name, data); err != nil {
					b.Fatal(err)
				}
			}
			s, err := tool.NewSet(tool.Policy{}, queries(b))
			if err != nil {
				b.Fatal(err)
			}
			for _, call := range [][2]string{
				{"read_file", `{"path":"x.json"}`},
				{"search_files", `{"pattern":"*.go"}`},
				{"search_text", `{"pattern":"no such line"}`},
				{"query_json", `{"query":".a","file_path":"x.json"}`},
				{"query_sql", `{"engine":"sqlite","query":"SELECT * FROM t","database_path":"x.db"}`},
			} {
				b.Run(call[0], func(b *testing.B) {
					for b.Loop() {
						r, err := s.Call(b.Context(), box, provider.ToolCall{Name: call[0], Arguments: json.RawMessage(call[1])})
						if err != nil || r.IsError {
							b.Fatalf("%+v, %v", r, err)
						}
					}
				})
			}
		})
	}
}
