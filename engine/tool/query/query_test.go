package query_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/agentclash/agentclash/engine/tool/query"
)

// TestMain makes the test binary able to be the process that answers.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == query.Subcommand {
		os.Exit(query.Main(os.Stdin, os.Stdout, os.Stderr, os.Exit))
	}
	os.Exit(m.Run())
}

func runner(t testing.TB) *query.Runner {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return query.NewRunner(self)
}

// ask returns the answer, or what the asker is told instead.
func ask(t testing.TB, q query.Question) (string, string) {
	t.Helper()
	return askOf(t, runner(t), q)
}

func askOf(t testing.TB, r *query.Runner, q query.Question) (string, string) {
	t.Helper()
	a, err := r.Ask(t.Context(), q)
	var refused *query.Error
	if errors.As(err, &refused) {
		return "", refused.Message
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(a.Output), ""
}

// file makes a database with real SQLite and returns the bytes of its files
// while it is still open.
func file(t testing.TB, statements ...string) (db, wal []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	pool, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	pool.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := pool.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	db, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wal, err = os.ReadFile(path + "-wal")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return db, wal
}

func TestJQ(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ query, data, want, refused string }{
		{".a", `{"a":1}`, "1\n", ""},
		{".[]", `[1,"x",null]`, "1\n\"x\"\nnull\n", ""},
		{"empty", `{}`, "", ""},
		{".", `1 2 {"b":3}`, "1\n2\n{\"b\":3}\n", ""},
		{".", `12345678901234567890123`, "12345678901234567890123\n", ""},
		{"env|length", `{}`, "0\n", ""},
		{"$ENV|length", `{}`, "0\n", ""},
		{"1, halt, 2", `{}`, "1\n", ""},
		{`.a["b"`, `{}`, "", "jq: "},
		{".a.b", `{"a":1}`, "", "jq: expected an object"},
		{`error("no")`, `{}`, "", "jq: "},
		{`"bye"|halt_error`, `{}`, "", "jq: "},
		{`import "x" as x; .`, `{}`, "", "jq: "},
		{"input", `{}`, "", "jq: "},
		{".", `{"a":`, "", "the input is not JSON"},
		{".", strings.Repeat("[", 20_000), "", "the input is not JSON"},
		{".", "", "", ""},
	} {
		got, refused := ask(t, query.Question{Language: query.JQ, Query: row.query, Data: []byte(row.data)})
		if got != row.want || !strings.HasPrefix(refused, row.refused) || (refused == "") != (row.refused == "") {
			t.Errorf("%s of %.40s: got %q, %q; want %q, %q", row.query, row.data, got, refused, row.want, row.refused)
		}
	}
}

// Programs that would fill a machine's memory, or never end.
func TestBombs(t *testing.T) {
	t.Parallel()
	empty, _ := file(t, "CREATE TABLE t(x)")
	for _, row := range []struct{ language, query, refused string }{
		{query.JQ, `null | .[100000000] = 1`, "memory"}, // at once, so that it is no race with the clock
		{query.JQ, `reduce range(60) as $i ("x"; . + .)`, "memory|longer than"},
		{query.JQ, `reduce range(60) as $i (1; [., .]) | tojson`, "memory|longer than"},
		{query.JQ, `("x" * 1000000) as $s | [range(100000) | $s] | join("")`, "memory|longer than"},
		{query.JQ, `[range(1e12)]`, "the query "},
		{query.JQ, `def f: f; f`, "longer than"},
		{query.JQ, `last(range(1e15))`, "longer than"},
		{query.JQ, strings.Repeat("(", 60_000), "jq: "},
		{query.SQLite, `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT max(x) FROM c`, "longer than"},
		{query.SQLite, `WITH RECURSIVE c(x) AS (SELECT zeroblob(1000000) UNION ALL SELECT x FROM c) SELECT x FROM c ORDER BY x`, "memory|longer than"},
		{query.SQLite, `SELECT zeroblob(1000000000)`, "too big"},
		{query.SQLite, `SELECT printf('%1000000000d', 1)`, "too big"},
	} {
		t.Run(row.query[:min(len(row.query), 40)], func(t *testing.T) {
			t.Parallel()
			r := runner(t)
			if row.refused == "longer than" {
				r.Within(time.Second)
			}
			got, refused := askOf(t, r, query.Question{Language: row.language, Query: row.query, Data: map[string][]byte{query.JQ: []byte("{}"), query.SQLite: empty}[row.language]})
			if !regexp.MustCompile(row.refused).MatchString(refused) {
				t.Errorf("got %.80q, %q; want a refusal that says %q", got, refused, row.refused)
			}
		})
	}
}

// A process whose memory is full may die when it needs one more thread.
func TestDeathsByMemory(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort": true,
		"runtime: failed to create new OS thread (have 5 already; errno=11)":                   true,
		"fatal error: runtime: out of memory":                                                  true,
		"panic: runtime error: index out of range":                                             false,
	} {
		if got := query.OutOfMemory(said); got != want {
			t.Errorf("%q: got %v, want %v", said, got, want)
		}
	}
}

func TestSQL(t *testing.T) {
	t.Parallel()
	db, _ := file(t, `CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, born DATE, ok BOOLEAN, size REAL, raw BLOB)`,
		`INSERT INTO t VALUES (1, 'a"<b', '2020-01-02', 1, 1, x'00ff'), (2, NULL, 'soon', 0, 1e999, x''), (3, CAST(x'ff' AS TEXT), 5, 'x', 0.1, 'text')`)
	for _, row := range []struct{ query, want, refused string }{
		{"SELECT * FROM t ORDER BY id", `[{"id":1,"name":"a\"<b","born":"2020-01-02","ok":1,"size":1.0,"raw":"x'00ff'"},
{"id":2,"name":null,"born":"soon","ok":0,"size":"+Inf","raw":"x''"},
{"id":3,"name":"` + "\uFFFD" + `","born":5,"ok":"x","size":0.1,"raw":"text"}]`, ""},
		{"SELECT 1 AS a, 2 AS a, 3 AS a", `[{"a":1,"a:2":2,"a:3":3}]`, ""},
		{"SELECT 1 WHERE 0", "[]", ""},
		{" -- nothing\n SELECT 1 AS a; -- the end", `[{"a":1}]`, ""},
		{"PRAGMA user_version", `[{"user_version":0}]`, ""},
		{"SELECT 1; SELECT 2", "", "one statement at a time"},
		{"SELECT 1; nonsense", "", "one statement at a time"},
		{"", "", "no statement"},
		{" ; -- ;\n", "", "no statement"},
		{"SELEC 1", "", "sqlite: near"},
		{"SELECT * FROM gone", "", "sqlite: no such table"},
		{"INSERT INTO t DEFAULT VALUES", "", "only reads"},
		{"DELETE FROM t RETURNING *", "", "only reads"},
		{"CREATE TEMP TABLE x(y)", "", ""},
		{"ATTACH '/etc/passwd' AS p", "", "sqlite: too many attached databases"},
		{"VACUUM INTO '/tmp/agentclash-must-not-exist'", "", ""},
		{"SELECT load_extension('x')", "", "sqlite: "},
		{"SELECT readfile('/etc/passwd')", "", "sqlite: no such function"},
		{"SELECT writefile('x', 'y')", "", "sqlite: no such function"},
		{"SELECT 1\x00; DROP TABLE t", "", "NUL"},
		{".shell id", "", "sqlite: near"},
	} {
		got, refused := ask(t, query.Question{Language: query.SQLite, Query: row.query, Data: db})
		if got != row.want || !strings.Contains(refused, row.refused) || row.want != "" && refused != "" || row.want == "" && refused == "" {
			t.Errorf("%q:\ngot  %s, %q\nwant %s, %q", row.query, got, refused, row.want, row.refused)
		}
	}
	if _, err := os.Stat("/tmp/agentclash-must-not-exist"); err == nil {
		t.Error("a query wrote a file")
	}
	got, refused := ask(t, query.Question{Language: query.SQLite, Query: "SELECT count(*) AS n FROM sqlite_schema"})
	if got != `[{"n":0}]` || refused != "" {
		t.Errorf("an empty file: got %s, %q", got, refused)
	}
}

// A log beside the file counts, as far as its transactions are whole.
func TestWAL(t *testing.T) {
	t.Parallel()
	db, wal := file(t, "PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0", "CREATE TABLE t(x)",
		"INSERT INTO t VALUES (1)", "INSERT INTO t WITH RECURSIVE c(x) AS (SELECT 2 UNION ALL SELECT x+1 FROM c WHERE x < 5000) SELECT x FROM c")
	if len(wal) == 0 {
		t.Fatal("SQLite wrote no log")
	}
	count := func(db, wal []byte) string {
		got, refused := ask(t, query.Question{Language: query.SQLite, Query: "SELECT count(*) AS n FROM t", Data: bytes.Clone(db), WAL: wal})
		return got + refused
	}
	if got := count(db, wal); got != `[{"n":5000}]` {
		t.Errorf("the whole log: got %s", got)
	}
	if got := count(db, wal[:len(wal)-1]); got != `[{"n":1}]` {
		t.Errorf("the last transaction cut: got %s", got)
	}
	bent := bytes.Clone(wal)
	bent[len(bent)-100] ^= 1
	if got := count(db, bent); got != `[{"n":1}]` {
		t.Errorf("the last transaction bent: got %s", got)
	}
	if got := count(db, nil); !strings.Contains(got, "no such table") {
		t.Errorf("without its log: got %s", got)
	}
	for n := range walSizes(len(wal)) {
		count(db, wal[:n]) // whatever it is, it is an answer
	}
}

func walSizes(n int) map[int]bool {
	return map[int]bool{1: true, 31: true, 32: true, 33: true, 56: true, 4096: true, n / 2: true}
}

// What a file is made of must bring down nothing but its own question.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	good, _ := file(t, "CREATE TABLE t(x)", "CREATE INDEX i ON t(x)", "INSERT INTO t VALUES (zeroblob(9000)), (1), ('x')")
	flip := func(at int, with byte) []byte {
		b := bytes.Clone(good)
		b[at] = with
		return b
	}
	for name, data := range map[string][]byte{
		"text": []byte("hello"), "short": good[:50], "header only": good[:100], "cut": good[:len(good)-1], "half": good[:len(good)/2],
		"page size 1": flip(16, 0xff), "no page size": append(append(bytes.Clone(good[:16]), 0, 0), good[18:]...), "format 9": flip(18, 9),
		"leaf of nothing": flip(100, 0), "cell count": flip(103, 0xff), "zeroes": make([]byte, 8192), "self reference": append(bytes.Clone(good[:4096]), good[:4096]...),
	} {
		for _, q := range []string{"SELECT * FROM t", "SELECT * FROM sqlite_schema", "PRAGMA integrity_check"} {
			_, refused := ask(t, query.Question{Language: query.SQLite, Query: q, Data: data})
			if strings.Contains(refused, "brought down") {
				t.Errorf("%s: %s brought its process down", name, q)
			}
		}
	}
	// a schema that calls what an untrusted one may not
	evil, _ := file(t, "CREATE TABLE t(x)", "CREATE VIEW v AS SELECT load_extension('x.so')", "CREATE VIEW w AS SELECT * FROM pragma_database_list, t")
	for _, q := range []string{"SELECT * FROM v"} {
		if got, refused := ask(t, query.Question{Language: query.SQLite, Query: q, Data: evil}); refused == "" {
			t.Errorf("%s: got %s, want a refusal", q, got)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	a, err := runner(t).Ask(t.Context(), query.Question{Language: query.SQLite, Query: "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c"})
	if err != nil || a.Count != query.MaxRows || !a.Truncated || !json.Valid(a.Output) {
		t.Errorf("many rows: got %d, truncated %v, %v", a.Count, a.Truncated, err)
	}
	a, err = runner(t).Ask(t.Context(), query.Question{Language: query.JQ, Query: `("x" * 4000) as $s | range(1e9) | $s`, Data: []byte("1")})
	if err != nil || !a.Truncated || len(a.Output) > query.MaxOutput {
		t.Errorf("much output: got %d bytes, truncated %v, %v", len(a.Output), a.Truncated, err)
	}
	for _, q := range []query.Question{
		{Language: query.JQ, Query: strings.Repeat(" ", query.MaxQuery+1), Data: []byte("1")},
		{Language: query.JQ, Query: ".", Data: make([]byte, query.MaxData+1)},
		{Language: "prolog", Query: "."},
	} {
		if _, refused := ask(t, q); refused == "" {
			t.Errorf("%s %.10s of %d bytes was answered", q.Language, q.Query, len(q.Data))
		}
	}
}

// The end of the trial is not the query's fault, and a worker that is not there
// is not either.
func TestErrors(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("over")
	stop(why)
	if _, err := runner(t).Ask(ctx, query.Question{Language: query.JQ, Query: ".", Data: []byte("1")}); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
	var refused *query.Error
	_, err := query.NewRunner("/nonexistent/agentclash").Ask(t.Context(), query.Question{Language: query.JQ, Query: "."})
	if err == nil || errors.As(err, &refused) {
		t.Errorf("got %v, want an error that is no answer", err)
	}
	_, err = query.NewRunner("/bin/false").Ask(t.Context(), query.Question{Language: query.JQ, Query: "."})
	if !errors.As(err, &refused) {
		t.Errorf("a process that says nothing: got %v", err)
	}
}
