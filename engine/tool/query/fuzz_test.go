package query_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/tool/query"
)

// A log is a stranger's: whatever is in it, the result is a file of a bounded
// size, and a log that is no log changes nothing.
func FuzzWAL(f *testing.F) {
	db, wal := file(f, "PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0", "CREATE TABLE t(x)", "INSERT INTO t VALUES (1)")
	f.Add(db, wal)
	f.Add([]byte{}, wal)
	f.Add(db, wal[:100])
	f.Add(db, []byte{})
	f.Fuzz(func(t *testing.T, db, wal []byte) {
		got, err := query.ApplyWAL(bytes.Clone(db), wal)
		if err == nil && len(got) > query.MaxData+len(db) {
			t.Fatalf("a file of %d bytes", len(got))
		}
		if len(wal) < 32 && (err != nil || len(got) != len(db)) {
			t.Fatalf("a log of %d bytes changed the file", len(wal))
		}
	})
}

// Whatever the file and the question are, there is an answer in JSON or a
// refusal; never a process that is brought down.
func FuzzSQL(f *testing.F) {
	db, wal := file(f, "PRAGMA journal_mode=WAL", "CREATE TABLE t(x, y TEXT)", "CREATE INDEX i ON t(y)",
		"CREATE VIEW v AS SELECT count(*) FROM t", "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
	for _, q := range []string{"SELECT * FROM t", "SELECT * FROM v", "PRAGMA integrity_check", "SELECT x'", "SELECT 1;--", "EXPLAIN SELECT * FROM t", "BEGIN", "WITH a AS (SELECT 1) SELECT * FROM a"} {
		f.Add(q, db, wal)
	}
	r := runner(f)
	r.Within(2 * time.Second)
	f.Fuzz(func(t *testing.T, text string, db, wal []byte) {
		if len(db)+len(wal) > 1<<20 || len(text) > 1000 {
			t.Skip("large")
		}
		got, refused := askOf(t, r, query.Question{Language: query.SQLite, Query: text, Data: db, WAL: wal})
		if strings.Contains(refused, "brought down") || refused == "" && !json.Valid([]byte(got)) {
			t.Fatalf("%q: got %.200q, %q", text, got, refused)
		}
	})
}

func FuzzJQ(f *testing.F) {
	for _, q := range []string{".", ".a[]?", "[limit(3; repeat(1))]", "reduce .[] as $x (0; . + $x)", "def f(x): x; f(.)", "@base64d", "try error catch .", "input", "halt_error", `"\(.)"`, "ltrimstr(1)", "getpath([1e18])", "[.[1e9]?]", ".[1e8] = 1"} {
		f.Add(q, `{"a":[1,2,"x"]}`)
	}
	r := runner(f)
	r.Within(2 * time.Second)
	f.Fuzz(func(t *testing.T, program, doc string) {
		if len(program) > 500 || len(doc) > 10_000 {
			t.Skip("large")
		}
		got, refused := askOf(t, r, query.Question{Language: query.JQ, Query: program, Data: []byte(doc)})
		if strings.Contains(refused, "brought down") {
			t.Fatalf("%q of %q: %q", program, doc, refused)
		}
		for line := range strings.Lines(got) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("%q of %q: %q is no JSON", program, doc, line)
			}
		}
	})
}
