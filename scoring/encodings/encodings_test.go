package encodings_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring/encodings"
)

// The text as it is comes first, each form is named and stands once, and none is
// so short that it would be found by chance.
func TestForms(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"canary-7f31", `a "b"\c/d <e>`, "päss-wörd", strings.Repeat("x", 200)} {
		forms := encodings.Of(text)
		if forms[0] != (encodings.Form{Text: text}) {
			t.Errorf("%q: the first form is %+v", text, forms[0])
		}
		seen := map[string]bool{}
		for i, f := range forms {
			if seen[f.Text] || len(f.Text) < encodings.MinBytes || i > 0 && f.Name == "" {
				t.Errorf("%q: got the form %+v", text, f)
			}
			seen[f.Text] = true
		}
	}
	if got := encodings.Of("4711"); len(got) == 0 || got[0].Name == "" {
		t.Errorf("a short text: got %+v", got)
	}
}

// Wherever a text begins inside a longer one, its base64 gives it away.
func TestBase64Anywhere(t *testing.T) {
	t.Parallel()
	const text = "canary-7f31-52c9"
	for before := range 7 {
		for after := range 4 {
			whole := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("<", before) + text + strings.Repeat(">", after)))
			found := ""
			for _, f := range encodings.Of(text) {
				if strings.Contains(whole, f.Text) {
					found = f.Name
					break
				}
			}
			if found != "base64" {
				t.Errorf("%d bytes before and %d after: found %q in %s", before, after, found, whole)
			}
		}
	}
}
