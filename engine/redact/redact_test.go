package redact_test

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/redact"
)

// ways are how somebody who was told a secret could say it, each with what has
// to be gone from the answer.
func ways(secret string) map[string]string {
	each := func(format string) string {
		var b strings.Builder
		for i := range len(secret) {
			fmt.Fprintf(&b, format, secret[i])
		}
		return b.String()
	}
	back := []byte(secret)
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	quoted, _ := json.Marshal(secret)
	all := map[string]string{
		"as it is": secret, "backwards": string(back), "JSON": string(quoted), "HTML": html.EscapeString(secret),
		"query": url.QueryEscape(secret), "path": url.PathEscape(secret), "percents": each("%%%02x"), "PERCENTS": each("%%%02X"),
		"hex": hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"base32": base32.StdEncoding.EncodeToString([]byte(secret)), "escapes": each(`\u%04x`), "bytes": each(`\x%02x`), "entities": each("&#%d;"),
		"hex entities": each("&#x%x;"), "octal escapes": each(`\%03o`), "od -An -tx1": each(" %02x"), "od -An -to1": each(" %03o"),
		"hex with colons": strings.TrimSuffix(each("%02x:"), ":"), "HEX, a line each": each("%02X\n"),
	}
	plain := base64.StdEncoding.EncodeToString([]byte(secret))
	all["base64, in lines"] = broken(plain, 10, "\n")
	all["base64, in lines, of JSON"] = broken(plain, 10, `\r\n`)
	for offset := range 5 {
		for tail := range 3 {
			text := []byte(strings.Repeat("u", offset) + secret + strings.Repeat("v", tail))
			all[fmt.Sprintf("base64 %d %d", offset, tail)] = base64.StdEncoding.EncodeToString(text)
			all[fmt.Sprintf("base64url %d %d", offset, tail)] = base64.RawURLEncoding.EncodeToString(text)
		}
	}
	return all
}

// broken is a text in lines, as programs print them.
func broken(text string, width int, end string) string {
	var b strings.Builder
	for len(text) > width {
		b.WriteString(text[:width] + end)
		text = text[width:]
	}
	return b.String() + text
}

func TestEveryWay(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"s3cr3t-v4lue", `qu"o\te & <tag>`, "pässwörd/+?~", "\xff\xfe binary \x00 key", strings.Repeat("long ", 50) + "!"} {
		r := redact.New([]string{"other-secret", secret})
		for what, said := range ways(secret) {
			if got := r.String("before " + said + " after"); !strings.Contains(got, "[redacted]") {
				t.Errorf("%q, %s: got %q", secret, what, got)
			} else if left := strings.TrimSuffix(strings.TrimPrefix(got, "before "), " after"); len(left) > len("[redacted]")+12 {
				t.Errorf("%q, %s: got %q, which leaves much of it", secret, what, got)
			}
			if !json.Valid([]byte(`"` + said + `"`)) {
				continue // not what stands in a JSON text as it is
			}
			doc, _ := json.Marshal(map[string]any{"n": 12345678, "s": said})
			if got := r.JSON(doc); !json.Valid(got) || !strings.Contains(string(got), "[redacted]") {
				t.Errorf("%q, %s, in JSON: got %s", secret, what, got)
			}
		}
	}
}

func TestInnocentTextStays(t *testing.T) {
	t.Parallel()
	r := redact.New([]string{"12345678", "short", ""})
	for in, want := range map[string]string{
		`{"n":12345678,"s":"12345678"}`: `{"n":12345678,"s":"[redacted]"}`,
		`{"s":"a short text"}`:          `{"s":"a short text"}`,
		`{"s":"open`:                    `{"s":"open`,
	} {
		if got := string(r.JSON([]byte(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	if got := new(redact.Redactor).String("12345678"); got != "12345678" {
		t.Errorf("no secrets: got %q", got)
	}
	if got := redact.New([]string{`a\nb & "c"`}).Text("said a\\nb & \"c\"\nand on"); got != "said [redacted]\nand on" {
		t.Errorf("text: got %q", got)
	}
}

// TestALongerSecretIsNotLeftInPart has one secret begin like another.
func TestALongerSecretIsNotLeftInPart(t *testing.T) {
	t.Parallel()
	r := redact.New([]string{"abcdefgh", "abcdefgh-and-more"})
	if got := r.String("x abcdefgh-and-more y"); got != "x [redacted] y" {
		t.Errorf("got %q", got)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add("s3cr3t-v4lue", "a s3cr3t-v4lue b")
	f.Add(`abcdefg\`, `abcdefg\"x`)
	f.Fuzz(func(t *testing.T, secret, text string) {
		doc, err := json.Marshal(map[string]string{"t": text})
		if err != nil {
			t.Skip()
		}
		if got := redact.New([]string{secret}).JSON(doc); !json.Valid(got) {
			t.Errorf("secret %q in %s: got %s", secret, doc, got)
		}
	})
}

// What would cut an escape in two leaves nothing of the text.
func TestAnEscapeIsNotCut(t *testing.T) {
	t.Parallel()
	doc := []byte(`{"s":"a\u00001234567 b"}`)
	if got := string(redact.New([]string{"00001234567"}).JSON(doc)); got != `{"s":"[redacted]"}` {
		t.Errorf("got %s", got)
	}
}

// Every place is found, and nothing around it goes.
func TestBrokenAgainAndAgain(t *testing.T) {
	t.Parallel()
	secret := "s3cr3t-v4lue"
	line := strings.TrimSpace(strings.Repeat("%02x ", len(secret)))
	var bytes []any
	for i := range len(secret) {
		bytes = append(bytes, secret[i])
	}
	spaced := fmt.Sprintf(line, bytes...)
	got := redact.New([]string{secret}).String("<" + spaced + "> and (" + spaced + ") " + base64.StdEncoding.EncodeToString([]byte(secret)))
	if want := "<[redacted]> and ([redacted]) [redacted]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func BenchmarkJSON(b *testing.B) {
	r := redact.New([]string{"s3cr3t-v4lue-one", "s3cr3t-v4lue-two"})
	doc, err := json.Marshal(strings.Repeat("an innocent text, of words and 1234 numbers\n", 1<<10))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		r.JSON(doc)
	}
}
