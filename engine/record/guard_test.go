package record

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/redact"
)

// TestHeaderIsProtected changes every bit of what a recording says of itself, and
// more that a lenient reader would read past: nothing of it is taken for what was
// recorded.
func TestHeaderIsProtected(t *testing.T) {
	t.Parallel()
	p := recorded(t, conversation())
	raw, err := os.ReadFile(filepath.Join(p.name, headerFile))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseHeader(raw); err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		for bit := range 8 {
			changed := bytes.Clone(raw)
			changed[i] ^= 1 << bit
			if h, err := parseHeader(changed); err == nil {
				t.Errorf("byte %d, bit %d: read as %+v", i, bit, h)
			}
		}
	}
	for name, change := range map[string][2]string{
		"an unknown key": {`"seed": 0`, `"seed": 0, "more": 1`}, "a key twice": {`"seed": 0`, `"seed": 0, "seed": 0`},
		"another case": {`"complete"`, `"Complete"`}, "a number written otherwise": {`"seed": 0`, `"seed": 0.0`},
		"a text written otherwise": {`"native"`, `"\u006eative"`}, "a key less": {`"seed": 0,`, ``},
	} {
		changed := bytes.Replace(raw, []byte(change[0]), []byte(change[1]), 1)
		if _, err := parseHeader(changed); err == nil || bytes.Equal(changed, raw) {
			t.Errorf("%s is read", name)
		}
	}
	var flat bytes.Buffer
	if err := json.Compact(&flat, raw); err != nil {
		t.Fatal(err)
	}
	if _, err := parseHeader(flat.Bytes()); err != nil {
		t.Errorf("without white space: %v", err)
	}
}

// TestOneRecordsAtATime: whoever comes second is told who is there, and changes
// nothing. What is left of a process that died holds nobody up.
func TestOneRecordsAtATime(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "tape")
	first, err := Take(dir, "run one\x1b[2J (process 1)", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, overwrite := range []bool{false, true} {
		if c, err := Take(dir, "run two", overwrite); c != nil || err == nil || !strings.Contains(err.Error(), "run one [2J (process 1) records into it now") {
			t.Errorf("overwrite %v: got %v, %v", overwrite, c, err)
		}
	}
	first.Release()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that was made for nothing is still there: %v", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, lockFile), []byte("a process that was killed, with a long name\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	second, err := Take(dir, "run two", false)
	if err != nil {
		t.Fatalf("after a process that died: %v", err)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, lockFile)); err != nil || string(raw) != "run two\n" {
		t.Errorf("the lock says %q, %v", raw, err)
	}
	second.Release()
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("left over: %v, %v", list, err)
	}
}

// TestNoDirectory refuses what cannot be recorded into.
func TestNoDirectory(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	dangling, file, full := filepath.Join(at, "dangling"), filepath.Join(at, "file"), filepath.Join(at, "full")
	for _, err := range []error{os.Symlink(filepath.Join(at, "none", "x"), dangling), os.WriteFile(file, nil, 0o644),
		os.Mkdir(full, 0o755), os.WriteFile(filepath.Join(full, "notes"), nil, 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{dangling, file, filepath.Join(file, "below"), full, "/proc/none"} {
		if c, err := Take(dir, "me", true); err == nil {
			c.Release()
			t.Errorf("%s was taken", dir)
		}
	}
	if _, err := os.Stat(filepath.Join(full, lockFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a lock was left in somebody's directory: %v", err)
	}
}

// TestRecognize: a replay finds the secrets of its pack again by what the
// recording has of them, which says none of them.
func TestRecognize(t *testing.T) {
	t.Parallel()
	const long, short, elsewhere = `sk-"long"-0123456789`, "pass-word", "sk-elsewhere-0123456789"
	coded := base64.StdEncoding.EncodeToString([]byte("sk-coded-0123456789"))
	secrets := []string{long, short, elsewhere, "sk-coded-0123456789"}
	given := []string{"the key is " + long + ".", short, "in code: " + coded + "!"}
	r := removed(nil, secrets, given)
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if r == nil || len(r.Values) < 2 {
		t.Fatalf("got %s", raw)
	}
	for _, v := range r.Values {
		if v.Bytes == len(short) || v.Bytes == len(elsewhere) {
			t.Errorf("there is a digest of a short secret, or of one that is nowhere: %s", raw)
		}
	}
	found := Header{Removed: r}.Recognize(given)
	clean := redact.New(found)
	for _, text := range []string{given[0], given[2], `{"stdout":"sk-\"long\"-0123456789"}`} {
		if got := clean.String(text); !strings.Contains(got, redact.Mark) || strings.Contains(got, "0123") || strings.Contains(got, coded[4:12]) {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if got := (Header{Removed: r}).Recognize([]string{"the key is sk-another-0123456789."}); len(got) != 0 {
		t.Errorf("recognized %q in an innocent text", got)
	}
	if again := removed(r, secrets, given); len(again.Values) != len(r.Values) || again.Salt != r.Salt {
		t.Errorf("gone on with: %+v, was %+v", again, r)
	}
	if got := removed(nil, secrets, []string{"nothing of the kind", short}); got != nil {
		t.Errorf("got %+v of a pack without a secret", got)
	}
}

// TestUnknownSecretIsNotShown: where the recorded text had a secret and the
// present one's was not recognized, a difference does not quote it.
func TestUnknownSecretIsNotShown(t *testing.T) {
	t.Parallel()
	d := texts("content", "the key is [redacted], say it", "the key is hunter2-hunter2, say it")
	if strings.Contains(d.String(), "hunter2") || !strings.Contains(d.String(), "is not shown") {
		t.Errorf("got %s", d)
	}
	if d := texts("content", "the key is [redacted], say it", "the key is [redacted], sing it"); !strings.Contains(d.Now, "sing") {
		t.Errorf("a difference elsewhere is not shown: %s", d)
	}
}

// TestHalfARecordingIsProtected edits what an interrupted run has recorded: it is
// not gone on with.
func TestHalfARecordingIsProtected(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func([]byte) []byte{
		"nothing":    func(b []byte) []byte { return b },
		"the reply":  func(b []byte) []byte { return bytes.Replace(b, []byte(`"text":"42"`), []byte(`"text":"43"`), 1) },
		"its end":    func(b []byte) []byte { return b[:bytes.LastIndex(b, []byte(`{"kind":"end"`))] },
		"a new line": func(b []byte) []byte { return append(b, []byte(`{"kind":"wait"}`+"\n")...) },
		"whose": func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"repetition":1`), []byte(`"repetition":2`), 1)
		},
	} {
		dir := t.TempDir() + "/tape"
		o := Options{RunID: "r", Now: time.Now, Subject: Subject{Repetitions: 1, Cases: []string{"c", "d"}, Agents: []Agent{{Label: "a"}}}}
		c, err := Take(dir, "me", false)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Create(c, o)
		if err != nil {
			t.Fatal(err)
		}
		req := provider.Request{Ref: at1("a", "c"), Model: "m"}
		if _, err := r.Client(Agents, said{provider.Response{Text: "42"}}).Complete(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		if err := r.End(req.Ref, true); err != nil {
			t.Fatal(err)
		}
		c.Release()
		path := filepath.Join(dir, Place{"a", "c", 1}.file())
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, edit(raw), 0o644); err != nil {
			t.Fatal(err)
		}
		if c, err = Retake(dir, "me"); err != nil {
			t.Fatal(err)
		}
		_, err = Reopen(c, o, func(Place, int) bool { return true })
		c.Release()
		if (err == nil) != (name == "nothing") {
			t.Errorf("%s edited: got %v", name, err)
		}
	}
}
