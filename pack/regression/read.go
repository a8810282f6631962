package regression

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring/review"
)

// The names of suites and of cases: they are names of files, and parts of the
// keys of cases.
var (
	suiteName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	caseName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
)

// CheckName refuses what is no name of a suite.
func CheckName(name string) error {
	if suiteName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%q is no name of a suite: use up to 64 of a-z, 0-9, dot, dash and underscore, a letter or digit first", name)
}

// Read reads the suite in a file. The problems are for its author; the suite is
// nil when there are any. The error is for a file that cannot be read.
func Read(path string) (*Suite, []byte, pack.Problems, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read suite: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, nil, fmt.Errorf("read suite %s: %w", path, pack.ErrNotFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read suite: %w", err)
	}
	defer func() { _ = f.Close() }()
	src, err := io.ReadAll(io.LimitReader(f, pack.MaxBytes+1))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read suite: %w", err)
	}
	s, problems := Parse(path, src)
	return s, src, problems, nil
}

// Parse reads a suite from memory; name stands for the file in problems.
func Parse(name string, src []byte) (*Suite, pack.Problems) {
	s := &Suite{}
	doc := pack.Decode(name, "suite", src, s)
	if !doc.Unread() {
		for i := range s.Cases {
			s.Cases[i].Document = s.Cases[i].Document.Normalized()
		}
		checkSuite(doc, s)
	}
	if problems := doc.Problems(); problems.Err() != nil {
		return nil, problems
	}
	return s, nil
}

func checkSuite(d *pack.Document, s *Suite) {
	if s.SchemaVersion != SchemaVersion {
		d.Fail("schema_version", "must be %d, which is what this version reads", SchemaVersion)
	}
	if err := CheckName(s.Name); err != nil {
		d.Fail("suite", "%v", err)
	}
	oneOf(d, "status", s.Status, []string{Active, Archived})
	if strings.TrimSpace(s.Pack) == "" {
		d.Fail("pack", "is required: the slug of the pack that the cases are of")
	}
	oneOf(d, "default_gate_severity", s.DefaultSeverity, review.Severities())
	checkTime(d, "created_at", s.CreatedAt)
	seen := map[string]bool{}
	for i, c := range s.Cases {
		field := fmt.Sprintf("cases[%d]", i)
		switch {
		case !caseName.MatchString(c.ID):
			d.Fail(field+".id", "%q is no id of a case: use letters, digits, dot, dash and underscore", c.ID)
		case seen[c.ID]:
			d.Fail(field+".id", "must be unique; %q is used above", c.ID)
		}
		seen[c.ID] = true
		checkCase(d, field, c)
	}
}

func checkCase(d *pack.Document, field string, c Case) {
	if strings.TrimSpace(c.Title) == "" {
		d.Fail(field+".title", "is required")
	}
	oneOf(d, field+".status", c.Status, []string{Proposed, Active, Muted, Archived, Rejected})
	if c.Severity != "" {
		oneOf(d, field+".severity", c.Severity, review.Severities())
	}
	oneOf(d, field+".promotion_mode", c.Mode, []string{review.FullExecutable, review.OutputOnly, Manual})
	if c.Class != "" {
		oneOf(d, field+".failure_class", c.Class, review.Classes())
	}
	if c.Tier != "" {
		oneOf(d, field+".evidence_tier", c.Tier, review.Tiers())
	}
	if c.Document.Key() == "" {
		d.Fail(field+".case.case_key", "is required")
	}
	if c.Document.ChallengeKey == "" {
		d.Fail(field+".case.challenge_key", "is required")
	}
	if ch := c.Challenge; ch != nil && strings.TrimSpace(ch.Key) != c.Document.ChallengeKey {
		d.Fail(field+".challenge.key", "must be %q, as the case says", c.Document.ChallengeKey)
	}
	paths := map[string]bool{}
	for i, f := range c.Files {
		at := fmt.Sprintf("%s.files[%d]", field, i)
		checkFile(d, at, f)
		if paths[f.Path] {
			d.Fail(at+".path", "must be unique; %q is used above", f.Path)
		}
		paths[f.Path] = true
	}
	if e := c.Expects; e != nil {
		for i, v := range e.Validators {
			if v.Key == "" {
				d.Fail(fmt.Sprintf("%s.expects.validators[%d].key", field, i), "is required")
			}
		}
	}
	if c.Source != nil {
		checkTime(d, field+".source.promoted_at", c.Source.PromotedAt)
	}
	if c.Import != nil {
		checkTime(d, field+".import.imported_at", c.Import.ImportedAt)
	}
}

func checkFile(d *pack.Document, field string, f File) {
	clean, bad := pack.CleanAssetPath(f.Path)
	switch {
	case bad != "":
		d.Fail(field+".path", "%s", bad)
	case clean != f.Path:
		d.Fail(field+".path", "must be written %q", clean)
	}
	if f.Text != nil && f.Base64 != "" {
		d.Fail(field, "has text and base64: give one of them")
		return
	}
	data, inline, err := f.Bytes()
	sum := sha256.Sum256(data)
	switch {
	case err != nil:
		d.Fail(field+".base64", "%v", err)
	case inline && f.SHA256 != hex.EncodeToString(sum[:]):
		d.Fail(field+".sha256", "is not that of the file's bytes, which is %x", sum)
	case len(f.SHA256) != 64:
		d.Fail(field+".sha256", "is required: the SHA-256 of the file, in hex")
	}
}

// Bytes are the file's; inline is false for one that only the pack has.
func (f File) Bytes() (data []byte, inline bool, err error) {
	if f.Text != nil {
		return []byte(*f.Text), true, nil
	}
	if f.Base64 == "" {
		return nil, false, nil
	}
	data, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(f.Base64), ""))
	if err != nil {
		return nil, true, fmt.Errorf("is not base64: %w", err)
	}
	return data, true, nil
}

func oneOf(d *pack.Document, field, got string, words []string) {
	switch {
	case got == "":
		d.Fail(field, "is required: one of %s", strings.Join(words, ", "))
	case !slices.Contains(words, got):
		d.Fail(field, "must be one of %s%s", strings.Join(words, ", "), pack.DidYouMean(got, words))
	}
}

func checkTime(d *pack.Document, field, text string) {
	if text == "" {
		return
	}
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		d.Fail(field, "must be a time such as 2026-01-31T12:00:00Z")
	}
}
