package regression

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/review"
)

// Failure is a failure that is to become a case, with where it is from.
type Failure struct {
	Pack     *pack.Pack // as the run had it
	InputSet string
	CaseKey  string
	Item     review.Item
	Result   scoring.Trial // of the deciding attempt
	RunName  string
	Now      time.Time
}

// Wish is what the person who promotes says; empty fields are left to the
// failure.
type Wish struct {
	Title    string
	Summary  string
	Mode     string
	Severity string
	Status   string // active, or proposed
}

// Promote makes a case of a failure. The id is that of the case, and is still to
// be made unique. Redact removes real secrets from JSON; a file that holds one
// cannot be kept. Changed says that a text of the case is not what the agent had.
func Promote(f Failure, w Wish, redact func([]byte) []byte) (c Case, changed bool, err error) {
	digest, err := f.Pack.CaseDigest(f.InputSet, f.CaseKey)
	if err != nil {
		return Case{}, false, err
	}
	document, err := caseOf(f)
	if err != nil {
		return Case{}, false, err
	}
	i := f.Item
	c = Case{
		ID: caseID(f.CaseKey), Title: orElse(w.Title, i.CaseKey+": "+i.Headline), Status: orElse(w.Status, Active),
		Severity: orElse(w.Severity, review.PromotionSeverity(i.Class)), Mode: w.Mode, Class: i.Class, Tier: i.Tier,
		Summary: orElse(w.Summary, i.Detail), Document: document, Challenge: challengeOf(f.Pack, document.ChallengeKey),
		Expects: expectsOf(f, w.Mode),
		Source: &Source{
			PackVersion: f.Pack.Version.Number, InputSet: f.InputSet, CaseDigest: digest,
			RunID: i.RunID, RunName: f.RunName, RunAgent: i.Agent, TrialID: i.TrialID, Repetition: i.Repetition, Attempt: i.Attempt,
			Fingerprint: i.Fingerprint, ClusterKey: i.ClusterKey, Reason: orElse(w.Summary, i.Headline),
			PromotedAt: f.Now.UTC().Format(time.RFC3339),
		},
	}
	if c.Source.PackDigest, err = f.Pack.Own().Digest(); err != nil {
		return Case{}, false, err
	}
	if c.Mode == review.OutputOnly && f.Result.FinalOutput != nil {
		c.Output = new(cut(*f.Result.FinalOutput, maxOutput))
	}
	if c.Files, err = filesOf(f.Pack, document, redact); err != nil {
		return Case{}, false, err
	}
	return redacted(c, redact)
}

// maxOutput is how much of an output is kept beside a case, in bytes.
const maxOutput = 64 << 10

func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

func orElse(text, other string) string {
	if strings.TrimSpace(text) != "" {
		return text
	}
	return other
}

func caseOf(f Failure) (pack.Case, error) {
	set, err := f.Pack.InputSet(f.InputSet)
	if err != nil {
		return pack.Case{}, err
	}
	for _, c := range set.Cases {
		if c.Key() == f.CaseKey {
			return c, nil
		}
	}
	return pack.Case{}, fmt.Errorf("find case %q in input set %q: %w", f.CaseKey, f.InputSet, pack.ErrNotFound)
}

// challengeOf is a challenge without what only says the same twice.
func challengeOf(p *pack.Pack, key string) *pack.Challenge {
	ch, ok := p.Challenge(key)
	if !ok {
		return nil
	}
	definition := map[string]any{}
	for k, v := range ch.Definition {
		if k != "instructions" || v != ch.Instructions {
			definition[k] = v
		}
	}
	ch.Definition = definition
	return &ch
}

// expectsOf names what judged the trial. Of an output alone, what only the output
// tells.
func expectsOf(f Failure, mode string) *Expects {
	if f.Result.Scorecard == nil {
		return nil
	}
	var e Expects
	for _, v := range f.Result.Scorecard.Validators {
		if mode == review.OutputOnly && !strings.HasSuffix(v.Target, "final_output") {
			continue
		}
		e.Validators = append(e.Validators, Validator{Key: v.Key, Type: v.Type, Verdict: v.Verdict, Reason: cut(v.Reason, 300)})
	}
	for _, j := range f.Result.Scorecard.Judges {
		e.Judges = append(e.Judges, j.Key)
	}
	return &e
}

func filesOf(p *pack.Pack, c pack.Case, redact func([]byte) []byte) ([]File, error) {
	assets := p.Assets()
	own, referred := p.CaseAssets(c)
	var files []File
	for _, name := range own {
		data := assets[name]
		if !bytes.Equal(redact(data), data) {
			return nil, fmt.Errorf("file %s of the case holds a real secret: take it out of the pack first", name)
		}
		f := File{Path: name, SHA256: sum(data)}
		if utf8.Valid(data) && !bytes.ContainsRune(data, 0) {
			f.Text = new(string(data))
		} else {
			f.Base64 = base64.StdEncoding.EncodeToString(data)
		}
		files = append(files, f)
	}
	for _, name := range referred {
		files = append(files, File{Path: name, SHA256: sum(assets[name])})
	}
	return files, nil
}

func sum(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}

// redacted is the case without real secrets.
func redacted(c Case, redact func([]byte) []byte) (Case, bool, error) {
	was, err := json.Marshal(c)
	if err != nil {
		return Case{}, false, fmt.Errorf("write the case: %w", err)
	}
	is := redact(was)
	if bytes.Equal(was, is) {
		return c, false, nil
	}
	clean := Case{}
	dec := json.NewDecoder(bytes.NewReader(is))
	dec.UseNumber()
	if err := dec.Decode(&clean); err != nil {
		return Case{}, false, fmt.Errorf("remove secrets from the case: %w", err)
	}
	return clean, true, nil
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// caseID makes an id of a case's key.
func caseID(key string) string {
	id := strings.Trim(notInID.ReplaceAllString(key, "-"), "-._")
	id = cut(id, 80)
	if id == "" {
		return "case"
	}
	return id
}

// FreeID is an id that no case of the suite has: the one given, or it with a
// number.
func (s *Suite) FreeID(id string) string {
	free := id
	for n := 2; s.Find(free) >= 0; n++ {
		free = fmt.Sprintf("%s-%d", id, n)
	}
	return free
}
