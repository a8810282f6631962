package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/scoring"
)

const (
	runID   = "0195a000-0000-7000-8000-000000000001"
	agentID = "0195a000-0000-7000-8000-00000000000a"
	trialID = "0195a000-0000-7000-8000-00000000000b"
	otherID = "0195a000-0000-7000-8000-00000000000c"
)

var day = time.Date(2026, 3, 15, 12, 0, 0, 5, time.UTC)

// records are one run with everything that a bundle may hold.
func records() []Record {
	ref := event.PackRef{Slug: "sums", Name: "Sums", Version: 1, Digest: strings.Repeat("ab", 32)}
	planned, err := json.Marshal(map[string]any{
		"run_id": runID, "pack": ref, "input_set": "default", "execution_mode": "prompt_eval", "evaluation_spec_digest": "5bec",
		"agents": []any{map[string]any{"run_agent_id": agentID, "label": "a", "lane_index": 0}},
		"cases":  []any{map[string]any{"case_key": "one", "digest": "00"}}, "options": map[string]any{"repetitions": 1},
	})
	if err != nil {
		panic(err)
	}
	large := NewBlob(bytes.Repeat([]byte(`{"large":"payload"}`), 500), "a payload")
	return []Record{
		Run{ID: runID, Name: "run", Status: "completed", Mode: "prompt_eval", InputSet: "default", Pack: ref, SpecDigest: "5bec",
			EventSchema: event.SchemaVersion, CreatedAt: day, StartedAt: day, FinishedAt: day, Trials: 1, Plan: planned,
			Agents: []Agent{{ID: agentID, Label: "a", Deployment: json.RawMessage(`{"name":"a"}`), Status: "completed", Scorecard: json.RawMessage(`{"passed":true}`)}},
			Others: []Other{{As: Reused, RunID: otherID, Name: "earlier"}}},
		Pack{Slug: "sums", Name: "Sums", Version: 1, Digest: ref.Digest, SpecDigest: "5bec", InputSets: []string{"default"}, Referenced: true,
			Paths: []string{"a/x", "b"}, Manifest: []byte(`{"m":"<&>"}`), Reference: []byte("ref"), Assets: map[string][]byte{"b": {}, "a/x": []byte("asset")}},
		large,
		Trial{ID: trialID, Agent: 1, CaseKey: "one", Repetition: 1, Status: "passed", Attempt: 2, FinishedAt: day, Attempts: []Attempt{
			{Number: 1, Status: "invalid", Result: result(1, `"outcome":"invalid"`)},
			{Number: 2, Status: "passed", Result: result(2, `"outcome":"passed","final_output":"<b> & \"x\""`)}}},
		Event{Sequence: 1, Type: event.RunStarted, Source: event.SourceRun, At: day, Payload: json.RawMessage(`{"name":"run"}`)},
		Event{Trial: 1, Attempt: 1, Sequence: 1, Type: event.TrialDone, Source: event.SourceRun, At: day},
		Event{Trial: 1, Attempt: 2, Sequence: 1, Type: event.CallDone, Source: event.SourceNative, At: day, Blob: large.Name()},
		Event{Trial: 1, Attempt: 2, Sequence: 2, Type: event.TrialDone, Source: event.SourceRun, At: day},
		Rescoring{ID: otherID, PackDigest: ref.Digest, SpecDigest: "5bec", Program: "v1", Trials: 1, CreatedAt: day, FinishedAt: day,
			Scorecards: []json.RawMessage{json.RawMessage(`{"passed":false}`)}},
		Rescored{Trial: 1, Attempt: 2, Blob: large.Name()},
		Gate{ID: otherID, BaselineRunID: otherID, BaselineAgentID: otherID, CandidateAgentID: agentID, Verdict: "pass", GeneratedAt: day, Document: json.RawMessage(`{}`)},
	}
}

// result is what an attempt of the one trial came to.
func result(attempt int, rest string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"trial_id":%q,"case_key":"one","repetition":1,"attempt":%d,%s}`, trialID, attempt, rest))
}

func write(t *testing.T, list []Record) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, Head{Program: "v1", RunID: runID, RunName: "run"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if err := w.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// try reads a bundle as an import does.
func try(file []byte, limit int64, next Sink) error {
	f, err := Open(bytes.NewReader(file), int64(len(file)), limit)
	if err != nil {
		return err
	}
	c := &Check{RunID: f.Head.RunID, Next: next}
	if _, err := f.Read(c); err != nil {
		return err
	}
	return c.Finish()
}

func TestWhatIsReadIsWhatWasWritten(t *testing.T) {
	t.Parallel()
	file := write(t, records())
	var got []Record
	if err := try(file, DefaultLimit, SinkFunc(func(r Record) error { got = append(got, r); return nil })); err != nil {
		t.Fatal(err)
	}
	want := records()
	want[2] = Blob{Sum: want[2].(Blob).Sum, Content: want[2].(Blob).Content}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if again := write(t, records()); !bytes.Equal(file, again) {
		t.Error("the same run makes other bytes")
	}
}

// No byte may change, be missing or come after the end.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	list := records()
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 { // noise does not compress: the file has some length
		noise := make([]byte, 4096)
		for i := range noise {
			noise[i] = byte(random.IntN(256))
		}
		list = slices.Insert(list, 2, Record(NewBlob(noise, "noise")))
	}
	small, large := write(t, records()), write(t, list)
	refused := func(file []byte, what string) {
		t.Helper()
		err := try(file, DefaultLimit, nil)
		if err == nil || !slices.ContainsFunc([]error{ErrDamaged, ErrForeign, ErrNewer}, func(kind error) bool { return errors.Is(err, kind) }) {
			t.Fatalf("%s: got %v", what, err)
		}
	}
	for at := range small {
		changed := bytes.Clone(small)
		changed[at] ^= byte(1 + random.IntN(255))
		refused(changed, fmt.Sprintf("byte %d of the small one changed", at))
		refused(small[:at], fmt.Sprintf("the small one cut to %d bytes", at))
	}
	for range 200 {
		at := random.IntN(len(large))
		changed := bytes.Clone(large)
		changed[at] ^= byte(1 + random.IntN(255))
		refused(changed, fmt.Sprintf("byte %d of %d changed", at, len(large)))
	}
	refused(append(bytes.Clone(small), 0), "a byte more")
	refused(slices.Concat(small, small), "twice")
}

// entry is a file of a forged archive.
type entry struct {
	name    string
	content []byte
	kind    byte
}

// unpacked are the entries of a bundle.
func unpacked(t *testing.T, file []byte) []entry {
	t.Helper()
	unzip, err := zstd.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer unzip.Close()
	var list []entry
	for r := tar.NewReader(unzip); ; {
		h, err := r.Next()
		if err != nil {
			return list
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		list = append(list, entry{h.Name, b.Bytes(), h.Typeflag})
	}
}

// forge packs entries as somebody would who knows the format.
func forge(t *testing.T, list []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	zip, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(zip)
	for _, e := range list {
		h := &tar.Header{Typeflag: e.kind, Name: e.name, Size: int64(len(e.content)), Mode: 0o644}
		if e.kind == tar.TypeSymlink {
			h.Size, h.Linkname = 0, "/etc/passwd"
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write(e.content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	return append(b.Bytes(), trailer(sum[:])...)
}

func TestForgedArchives(t *testing.T) {
	t.Parallel()
	good := unpacked(t, write(t, records()))
	replace := func(name, old, new string) func([]entry) []entry {
		return func(list []entry) []entry {
			for i, e := range list {
				if e.name == name {
					list[i].content = []byte(strings.Replace(string(e.content), old, new, 1))
				}
			}
			return list
		}
	}
	remove := func(name string) func([]entry) []entry {
		return func(list []entry) []entry {
			return slices.DeleteFunc(list, func(e entry) bool { return e.name == name })
		}
	}
	for name, c := range map[string]struct {
		change func([]entry) []entry
		want   error
	}{
		"as it is":            {func(l []entry) []entry { return l }, nil},
		"newer":               {replace(headName, `"version":1`, `"version":2,"more":true`), ErrNewer},
		"no version":          {replace(headName, `"version":1`, `"version":0`), ErrForeign},
		"other format":        {replace(headName, `"agentclash-run"`, `"something"`), ErrForeign},
		"no head":             {remove(headName), ErrForeign},
		"no manifest":         {remove(manifestName), ErrDamaged},
		"no events":           {remove("events/000001.ndjson"), ErrDamaged},
		"no trials":           {remove("trials/000001.ndjson"), ErrWrong},
		"no manifest of pack": {remove("packs/1/manifest.json"), ErrDamaged},
		"an event changed":    {replace("events/000001.ndjson", `"name":"run"`, `"name":"fun"`), ErrDamaged},
		"a blob changed":      {func(l []entry) []entry { l[blobAt(l)].content = []byte("{}"); return l }, ErrDamaged},
		"a link":              {func(l []entry) []entry { l[blobAt(l)].kind = tar.TypeSymlink; return l }, ErrDamaged},
		"a path outside":      {func(l []entry) []entry { l[blobAt(l)].name = "../../etc/passwd"; return l }, ErrDamaged},
		"out of order":        {func(l []entry) []entry { slices.Reverse(l[1 : len(l)-1]); return l }, ErrWrong},
		"after the end":       {func(l []entry) []entry { return append(l, l[len(l)-2]) }, ErrDamaged},
		"unknown keys":        {replace(runName, `"run_id":`, `"hidden":1,"run_id":`), ErrDamaged},
		"an asset twice":      {replace("packs/1/pack.json", `"a/x"`, `"b"`), ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := try(forge(t, c.change(slices.Clone(good))), DefaultLimit, nil)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func blobAt(list []entry) int {
	return slices.IndexFunc(list, func(e entry) bool { return strings.HasPrefix(e.name, blobsDir) })
}

// A small file that unpacks to a large one is refused before it has.
func TestBombs(t *testing.T) {
	t.Parallel()
	good := unpacked(t, write(t, records()))
	zeros := make([]byte, 80<<20)
	lines := forge(t, append(slices.Clone(good[:len(good)-2]), entry{"gates/000001.ndjson", zeros, tar.TypeReg}))
	if len(lines) > 1<<20 {
		t.Fatalf("%d bytes are no bomb", len(lines))
	}
	if err := try(lines, DefaultLimit, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a long file of lines: got %v", err)
	}
	sum := sha256.Sum256(zeros)
	blob := slices.Insert(slices.Clone(good), blobAt(good), entry{fmt.Sprintf("%s%x", blobsDir, sum), zeros, tar.TypeReg})
	if err := try(forge(t, blob), 64<<20, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("more than the limit: got %v", err)
	}
	if err := try(forge(t, good), 1000, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a small limit: got %v", err)
	}
}

// TestCheck changes one record at a time into something that cannot be.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(list []Record) []Record{
		"running":      on(0, func(r *Run) { r.Status = "running" }),
		"another plan": on(0, func(r *Run) { r.Plan = json.RawMessage(`{"run_id":"` + otherID + `"}`) }),
		"a session's name": on(0, func(r *Run) {
			r.Plan = json.RawMessage(strings.Replace(string(r.Plan), "{", `{"session":"a\u001b[2Jb",`, 1))
		}),
		"no plan":              on(0, func(r *Run) { r.Plan = json.RawMessage(`[]`) }),
		"an id that is none":   on(0, func(r *Run) { r.ID = "latest" }),
		"an agent more":        on(0, func(r *Run) { r.Agents = append(r.Agents, r.Agents[0]) }),
		"another agent":        on(0, func(r *Run) { r.Agents = []Agent{{ID: otherID, Label: "a", Status: "completed"}} }),
		"a broken scorecard":   on(0, func(r *Run) { r.Agents[0].Scorecard = json.RawMessage(`[1]`) }),
		"trials missing":       on(0, func(r *Run) { r.Trials = 2 }),
		"endless trials":       on(0, func(r *Run) { r.Trials = 1 << 40 }),
		"another pack":         on(1, func(p *Pack) { p.Slug = "other" }),
		"a pack's other spec":  on(1, func(p *Pack) { p.SpecDigest = "else" }),
		"no pack":              func(l []Record) []Record { return append(l[:1], l[2:len(l)-3]...) },
		"an unplanned case":    on(3, func(x *Trial) { x.CaseKey = "two" }),
		"an unplanned agent":   on(3, func(x *Trial) { x.Agent = 2 }),
		"an unplanned try":     on(3, func(x *Trial) { x.Repetition = 2 }),
		"a status of no trial": on(3, func(x *Trial) { x.Status = "won" }),
		"attempts backwards":   on(3, func(x *Trial) { x.Attempts[1].Number = 1 }),
		"attempts without end": on(3, func(x *Trial) { x.Attempts[1].Number = 1 << 20 }),
		"a result of another":  on(3, func(x *Trial) { x.Attempts[1].Status = "failed" }),
		"a status of its own":  on(3, func(x *Trial) { x.Status = "failed" }),
		"an attempt too many":  on(3, func(x *Trial) { x.Attempt = 3 }),
		"a score of its own":   on(3, func(x *Trial) { x.Score = new(1.0) }),
		"a code of its own":    on(3, func(x *Trial) { x.Code = "unavailable" }),
		"another try's result": on(3, func(x *Trial) { x.Attempts[1].Result = result(1, `"outcome":"passed"`) }),
		"a blob that is none":  func(l []Record) []Record { return blobResult(l, `{"trial_id":`) },
		"a name of two lines":  on(0, func(r *Run) { r.Name = "run\n✓ imported" }),
		"no date":              on(0, func(r *Run) { r.CreatedAt = time.Time{} }),
		"a date of nowhen":     on(0, func(r *Run) { r.CreatedAt = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }),
		"an endless name":      on(0, func(r *Run) { r.Name = strings.Repeat("n", MaxName+1) }),
		"a label of controls":  labelled("a\x1b[2Jb"),
		"a label of two lines": labelled("a\n✓ passed"),
		"an endless label":     labelled(strings.Repeat("l", maxLabel+1)),
		"no label":             labelled(""),
		"another run by name":  on(0, func(r *Run) { r.Others[0].RunID = "\x1b[2J" }),
		"another for nothing":  on(0, func(r *Run) { r.Others[0].As = "friend" }),
		"a result of none":     on(3, func(x *Trial) { x.Attempts[1].Result = nil }),
		"a blob of another":    on(3, func(x *Trial) { x.Attempts[1].Result, x.Attempts[1].Blob = nil, strings.Repeat("00", 32) }),
		"a trial twice":        func(l []Record) []Record { return slices.Insert(l, 4, l[3]) },
		"a run twice":          func(l []Record) []Record { return slices.Insert(l, 1, l[0]) },
		"an event of no trial": on(6, func(e *Event) { e.Trial = 2 }),
		"of no attempt":        on(6, func(e *Event) { e.Attempt = 3 }),
		"of a negative one":    on(6, func(e *Event) { e.Trial = -1 }),
		"a number again":       on(7, func(e *Event) { e.Sequence = 1 }),
		"an end with payload":  on(7, func(e *Event) { e.Payload = json.RawMessage(`{}`) }),
		"no type":              on(4, func(e *Event) { e.Type = "" }),
		"an event's blob":      on(6, func(e *Event) { e.Blob = strings.Repeat("11", 32) }),
		"a rescoring's pack":   on(8, func(r *Rescoring) { r.PackDigest = "none" }),
		"a rescored no one":    on(9, func(r *Rescored) { r.Trial = 7 }),
		"a gate of another":    on(10, func(g *Gate) { g.CandidateAgentID = otherID }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := try(write(t, change(records())), DefaultLimit, nil)
			if !errors.Is(err, ErrWrong) && !errors.Is(err, ErrDamaged) {
				t.Errorf("got %v", err)
			}
		})
	}
	whole := blobResult(records(), string(result(2, `"outcome":"passed"`)))
	if err := try(write(t, whole), DefaultLimit, nil); err != nil {
		t.Errorf("a result in a blob: %v", err)
	}
	twice := records()
	twice[0] = on(0, func(r *Run) {
		r.Trials, r.Plan = 2, json.RawMessage(strings.Replace(string(r.Plan), `"repetitions":1`, `"repetitions":2`, 1))
	})(records())[0]
	again := twice[3].(Trial)
	again.Repetition = 2
	if err := try(write(t, slices.Insert(twice, 4, Record(again))), DefaultLimit, nil); !errors.Is(err, ErrWrong) || !strings.Contains(err.Error(), "that of another trial") {
		t.Errorf("an id twice: %v", err)
	}
	if err := try(write(t, labelled("a model's name, #2")(records())), DefaultLimit, nil); err != nil {
		t.Errorf("a label: %v", err)
	}
	newer := on(0, func(r *Run) { r.EventSchema = "2999-01-01" })(records())
	if err := try(write(t, newer), DefaultLimit, nil); !errors.Is(err, ErrNewer) {
		t.Errorf("newer events: got %v", err)
	}
}

// labelled has the agent go by a label, in the plan as in the run.
func labelled(label string) func([]Record) []Record {
	return on(0, func(r *Run) {
		quoted, _ := json.Marshal(label)
		r.Agents[0].Label = label
		r.Plan = bytes.Replace(r.Plan, []byte(`"label":"a"`), append([]byte(`"label":`), quoted...), 1)
	})
}

// blobResult has the result of the trial's last attempt in a blob.
func blobResult(list []Record, content string) []Record {
	b := NewBlob([]byte(content), "a result")
	t := list[3].(Trial)
	t.Attempts[1].Result, t.Attempts[1].Blob = nil, b.Name()
	list[3] = t
	return slices.Insert(list, 3, Record(b))
}

// A scorecard that does not follow from the trials is refused, when the spec is
// known.
func TestScorecardsAreHeldAgainstTrials(t *testing.T) {
	t.Parallel()
	spec := scoring.Spec{Scorecard: scoring.ScorecardSpec{Dimensions: []scoring.Dimension{{Key: "correctness"}}}}
	for card, want := range map[string]error{
		`{"passed":true,"headline":"degraded","pass_rate":1,"overall_score":0,"trials":1,"passed_trials":1,"dimensions":[{"key":"correctness","score":0}]}`: nil,
		`{"passed":true,"headline":"degraded","pass_rate":1,"overall_score":1,"trials":1,"passed_trials":1,"dimensions":[{"key":"correctness","score":0}]}`: ErrWrong,
		`{"passed":true,"headline":"degraded","pass_rate":1,"overall_score":0,"trials":1,"passed_trials":1,"dimensions":[{"key":"correctness","score":1}]}`: ErrWrong,
		`{"passed":true,"headline":"degraded","pass_rate":1,"overall_score":0,"trials":2,"passed_trials":2,"dimensions":[{"key":"correctness","score":0}]}`: ErrWrong,
		`{"passed":false,"headline":"failed","pass_rate":1,"overall_score":0,"trials":1,"passed_trials":1,"dimensions":[{"key":"correctness","score":0}]}`:  ErrWrong,
		`null`: nil,
	} {
		file := write(t, on(0, func(r *Run) { r.Agents[0].Scorecard = json.RawMessage(card) })(records()))
		f, err := Open(bytes.NewReader(file), int64(len(file)), DefaultLimit)
		if err != nil {
			t.Fatal(err)
		}
		c := &Check{RunID: runID, Pack: func(Pack, *plan.Plan) (scoring.Spec, error) { return spec, nil }}
		if _, err = f.Read(c); err == nil {
			err = c.Finish()
		}
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v", card, err)
		}
	}
}

// on changes the record at a place.
func on[T Record](at int, change func(*T)) func([]Record) []Record {
	return func(list []Record) []Record {
		r := list[at].(T)
		change(&r)
		list[at] = r
		return list
	}
}

// What an inspection refuses is named, and nothing is written of it.
func TestInspect(t *testing.T) {
	t.Parallel()
	var places []string
	var b bytes.Buffer
	w, err := NewWriter(&b, Head{RunID: runID}, func(place string, content []byte) error {
		places = append(places, place)
		if bytes.Contains(content, []byte("asset")) && strings.Contains(place, "a/x") {
			return errors.New("no")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records() {
		if err = w.Put(r); err != nil {
			break
		}
	}
	if err == nil || err.Error() != "no" || !strings.HasPrefix(places[len(places)-1], `asset "a/x" of pack sums@1`) {
		t.Errorf("got %v after %q", err, places)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd})
	f.Fuzz(func(_ *testing.T, file []byte) {
		_ = try(file, 1<<20, nil)
		sum := sha256.Sum256(file)
		_ = try(append(bytes.Clone(file), trailer(sum[:])...), 1<<20, nil) // which a forger can do, too
	})
}
