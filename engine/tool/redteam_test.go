package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/sandbox"
)

// planted is what no tool may ever show.
const planted = "PLANTED-OUTSIDE-THE-BOX"

// tries are the calls an agent makes to get out of its workspace, with what
// its box was prepared with: links to files outside, a link to itself, a pipe.
var tries = []struct{ tool, args string }{
	{"read_file", `{"path":"link"}`},
	{"read_file", `{"path":"dirlink/secret.json"}`},
	{"read_file", `{"path":"dirlink/../link"}`},
	{"read_file", `{"path":"loop"}`},
	{"read_file", `{"path":"pipe"}`},
	{"read_file", `{"path":"/proc/self/environ"}`},
	{"read_file", `{"path":"/workspace/../proc/1/root/etc/passwd"}`},
	{"read_file", `{"path":"file:///etc/passwd"}`},
	{"write_file", `{"path":"dirlink/new","content":"x"}`},
	{"write_file", `{"path":"pipe/x","content":"x"}`},
	{"list_files", `{"prefix":"dirlink"}`},
	{"list_files", `{"prefix":"loop"}`},
	{"list_files", `{}`},
	{"search_files", `{"pattern":"*","path":"dirlink"}`},
	{"search_files", `{"pattern":"secret*"}`},
	{"search_files", `{"pattern":"*","path":"loop"}`},
	{"search_text", `{"pattern":"PLANTED"}`},
	{"search_text", `{"pattern":"PLANTED","path":"link"}`},
	{"search_text", `{"pattern":"PLANTED","path":"dirlink"}`},
	{"search_text", `{"pattern":".","path":"pipe"}`},
	{"search_text", `{"pattern":"(.*)*PLANTED","path":"loop"}`},
	{"query_json", `{"query":".","file_path":"dirlink/secret.json"}`},
	{"query_json", `{"query":".","file_path":"pipe"}`},
	{"query_json", `{"query":"input_filename, $__prog_args, env","json":"1"}`},
	{"query_json", `{"query":"include \"dirlink/x\"; .","json":"1"}`},
	{"query_json", `{"query":".","json":"1","output_path":"dirlink/new"}`},
	{"query_sql", `{"engine":"sqlite","query":"SELECT 1","database_path":"link"}`},
	{"query_sql", `{"engine":"sqlite","query":"SELECT 1","database_path":"pipe"}`},
	{"query_sql", `{"engine":"sqlite","query":"ATTACH 'OUTSIDE/secret.json' AS s","database_path":"good.db"}`},
	{"query_sql", `{"engine":"sqlite","query":"VACUUM INTO 'OUTSIDE/new'","database_path":"good.db"}`},
	{"query_sql", `{"engine":"sqlite","query":"SELECT readfile('OUTSIDE/secret.json')","database_path":"good.db"}`},
	{"query_sql", `{"engine":"sqlite","query":"PRAGMA temp_store_directory='OUTSIDE'","database_path":"good.db"}`},
	{"query_sql", `{"engine":"sqlite","query":"SELECT * FROM evil","database_path":"good.db"}`},
	{"query_sql", `{"engine":"sqlite","query":"SELECT 1","database_path":"hot.db"}`},
	{"run_tests", `{"command":"cat link; cat dirlink/secret.json"}`},
	{"build", `{"working_directory":"dirlink"}`},
	{"run_tests", `{"command":"cat OUTSIDE/secret.json","working_directory":"/"}`},
}

// A file outside the box is neither shown nor written, whatever leads there,
// and no try takes the box down or the time away.
func TestRedTeam(t *testing.T) {
	t.Parallel()
	for _, boxes := range []struct {
		name     string
		provider func(testing.TB) sandbox.Provider
		prepare  func(*testing.T, sandbox.Session, string)
	}{
		{"scratch", scratchBoxes, linkByHand},
		{"docker", func(t testing.TB) sandbox.Provider { return imageBoxes(t, "") }, linkInside},
	} {
		t.Run(boxes.name, func(t *testing.T) {
			t.Parallel()
			outside := t.TempDir()
			secret := []byte(`{"x":"` + planted + `"}`)
			if err := os.WriteFile(filepath.Join(outside, "secret.json"), secret, 0o644); err != nil {
				t.Fatal(err)
			}
			box := opened(t, boxes.provider(t))
			boxes.prepare(t, box, outside)
			plant(t, box, outside)
			s, err := tool.NewSet(tool.Policy{AllowShell: true}, queries(t))
			if err != nil {
				t.Fatal(err)
			}
			for _, try := range tries {
				args := strings.ReplaceAll(try.args, "OUTSIDE", outside)
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				r, err := s.Call(ctx, box, provider.ToolCall{Name: try.tool, Arguments: json.RawMessage(args)})
				stop()
				if err != nil {
					t.Fatalf("%s %s: took the box down: %v", try.tool, args, err)
				}
				if strings.Contains(r.Content, planted) {
					t.Errorf("%s %s: shows a file from outside: %s", try.tool, args, r.Content)
				}
			}
			entries, err := os.ReadDir(outside)
			if err != nil || len(entries) != 1 {
				t.Errorf("outside there is %v (%v), want the one file that was", entries, err)
			}
			if now, err := os.ReadFile(filepath.Join(outside, "secret.json")); err != nil || !bytes.Equal(now, secret) {
				t.Errorf("the file outside is %q now (%v)", now, err)
			}
		})
	}
}

// plant puts databases into a box: one whose schema asks for more than it may,
// one whose journal names a file of this machine to be deleted.
func plant(t *testing.T, box sandbox.Session, outside string) {
	t.Helper()
	good := database(t, "CREATE TABLE t(x)", "CREATE VIEW evil AS SELECT load_extension('"+outside+"/x.so'), t.* FROM t")
	journal := append([]byte("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"), make([]byte, 504)...)
	for name, data := range map[string][]byte{
		"good.db": good, "hot.db": good, "hot.db-journal": append(journal, outside+"/secret.json"...), "good.db-wal/x": nil,
	} {
		if err := box.WriteFile(t.Context(), name, data); err != nil {
			t.Fatal(err)
		}
	}
}

// linkByHand prepares a box that is a directory of this machine.
func linkByHand(t *testing.T, box sandbox.Session, outside string) {
	t.Helper()
	for name, target := range map[string]string{"link": outside + "/secret.json", "dirlink": outside, "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(box.ID(), name)); err != nil {
			t.Fatal(err)
		}
	}
	makePipe(t, filepath.Join(box.ID(), "pipe"))
}

// linkInside has a program in the box do it.
func linkInside(t *testing.T, box sandbox.Session, outside string) {
	t.Helper()
	r, err := box.Exec(t.Context(), sandbox.Command{Argv: []string{"sh", "-c",
		`ln -s "$0/secret.json" link; ln -s "$0" dirlink; ln -s loop loop; mkfifo pipe || true; ls`, outside}, Timeout: 20 * time.Second})
	if err != nil || !strings.Contains(r.Stdout.Text, "dirlink") {
		t.Skipf("this image cannot make links: %+v, %v", r, err)
	}
}

// A journal that is hot is told, not followed: it can name any file to SQLite.
func TestHotJournal(t *testing.T) {
	t.Parallel()
	b := box(t)
	plant(t, b, "/nonexistent")
	s, err := tool.NewSet(tool.Policy{}, queries(t))
	if err != nil {
		t.Fatal(err)
	}
	if r := call(t, s, b, "query_sql", `{"engine":"sqlite","query":"SELECT 1","database_path":"hot.db"}`); !strings.Contains(r.Content, "under way or was cut off") {
		t.Errorf("got %s", r.Content)
	}
	if r := call(t, s, b, "query_sql", `{"engine":"sqlite","query":"SELECT count(*) AS n FROM t","database_path":" good.db "}`); !strings.Contains(r.Content, `"rows":[{"n":0}]`) {
		t.Errorf("got %s", r.Content)
	}
}

// Whatever a model sends, it gets a result of JSON that has an end.
func FuzzCalls(f *testing.F) {
	for _, try := range tries {
		f.Add(try.tool, try.args)
	}
	f.Add("search_text", `{"pattern":"(((x*)*)*)*y","include":"*a*b*c*"}`)
	f.Add("search_files", `{"pattern":"[a-"}`)
	f.Add("query_sql", `{"engine":"sqlite","query":"SELECT '","database_path":"good.db"}`)
	f.Fuzz(func(t *testing.T, name, args string) {
		b := box(t)
		plant(t, b, "/nonexistent")
		s, err := tool.NewSet(tool.Policy{AllowShell: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Call(t.Context(), b, provider.ToolCall{Name: name, Arguments: json.RawMessage(args)})
		if err != nil && !strings.Contains(err.Error(), "nothing was set up") {
			t.Fatalf("%s %q: %v", name, args, err)
		}
		if err == nil && (!json.Valid([]byte(r.Content)) || len(r.Content) > 1<<20) {
			t.Fatalf("%s %q: %d bytes that are no JSON: %.200q", name, args, len(r.Content), r.Content)
		}
	})
}
