package store_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/store"
)

func TestPackRoundTrip(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	s := snapshot("sums", 1)
	s.Assets = map[string][]byte{
		"empty": {}, "small.txt": []byte("hello"), "same.txt": []byte("hello"),
		"large.bin": bytes.Repeat([]byte{0, 1, 2, 255}, 1<<18),
	}
	p, err := db.SavePack(t.Context(), s)
	must(t, err)
	again, err := db.SavePack(t.Context(), s)
	must(t, err)
	if diff := cmp.Diff(p, again); diff != "" {
		t.Errorf("saved again: first (-), second (+):\n%s", diff)
	}
	got, err := db.Snapshot(t.Context(), p.ID)
	must(t, err)
	s.Workspace = store.DefaultWorkspace
	for path, want := range s.Assets {
		if !bytes.Equal(got.Assets[path], want) {
			t.Errorf("asset %q: got %d bytes, want %d", path, len(got.Assets[path]), len(want))
		}
	}
	if len(got.Assets) != len(s.Assets) {
		t.Errorf("got %d assets, want %d", len(got.Assets), len(s.Assets))
	}
	got.Assets, s.Assets = nil, nil
	if diff := cmp.Diff(s, got); diff != "" {
		t.Errorf("snapshot: want (-), got (+):\n%s", diff)
	}
	if _, err := db.Snapshot(t.Context(), "nope"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no pack: got %v, want not found", err)
	}
}

// version is a snapshot of a number with other content than the next one's.
func version(n int32, content string) store.PackSnapshot {
	s := snapshot("sums", n)
	s.Digest = strings.Repeat(content, 64)
	return s
}

func TestPublishGuardsTheNumber(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	for _, path := range []store.PackSnapshot{version(1, "a"), version(1, "b")} {
		_, err := db.SavePack(t.Context(), path) // snapshots of a path never conflict
		must(t, err)
	}
	p, err := db.Publish(t.Context(), version(1, "b"))
	must(t, err)
	if p.Ref() != "sums@1" || !p.Published() {
		t.Errorf("published: got %s", p.Ref())
	}
	again, err := db.Publish(t.Context(), version(1, "b"))
	if diff := cmp.Diff(p, again); diff != "" || err != nil {
		t.Errorf("the same again: %v\n%s", err, diff)
	}
	renamed, moved := version(2, "c"), version(2, "c")
	renamed.Name, moved.Family = "Other", "other"
	for name, s := range map[string]store.PackSnapshot{"other content": version(1, "a"), "another name": renamed, "another family": moved} {
		if _, err := db.Publish(t.Context(), s); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: got %v, want a conflict", name, err)
		}
	}
	if _, err := db.SavePack(t.Context(), renamed); err != nil {
		t.Errorf("a path with another name: got %v", err)
	}
	elsewhere := version(1, "a")
	elsewhere.Workspace = "other"
	if _, err := db.Publish(t.Context(), elsewhere); err != nil {
		t.Errorf("in another workspace: got %v", err)
	}
	_, err = db.Publish(t.Context(), version(1, "a"))
	want := `publish pack "sums": conflict: version 1 is published with other content; raise pack version number`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestPackSelectors(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	ids := map[string]string{}
	for _, s := range []store.PackSnapshot{version(1, "a"), version(2, "b"), version(3, "c"), version(3, "d")} {
		p, err := db.SavePack(t.Context(), s)
		must(t, err)
		ids[s.Digest[:1]] = p.ID
	}
	find := func(selector string) string {
		p, err := db.Pack(t.Context(), "", selector)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return ""
		case err != nil:
			return err.Error()
		}
		return p.Digest[:1]
	}
	check := func(want map[string]string) {
		t.Helper()
		for selector, digest := range want {
			if got := find(selector); got != digest {
				t.Errorf("%q: got %q, want %q", selector, got, digest)
			}
		}
	}
	check(map[string]string{
		"sums": "d", "sums@1": "a", "sums@3": "d", "sums@3+cccccc": "c", "sums@3+" + strings.Repeat("d", 64): "d",
		"sums@3+ccc": "", "sums@4": "", "sums@": "", "sums@x": "", "other": "", "sum": "", "sums@3+%%%%%%": "", ids["b"]: "b", ids["b"][24:]: "b",
	})
	for _, s := range []store.PackSnapshot{version(2, "b"), version(1, "a")} {
		_, err := db.Publish(t.Context(), s)
		must(t, err)
	}
	check(map[string]string{"sums": "b", "sums@1": "a", "sums@3": "d"})
	packs, err := db.Packs(t.Context(), "")
	must(t, err)
	var refs []string
	for _, p := range packs {
		refs = append(refs, p.Ref())
	}
	if got, want := strings.Join(refs, " "), "sums@3+dddddddddddd sums@3+cccccccccccc sums@2 sums@1"; got != want {
		t.Errorf("list: got %s, want %s", got, want)
	}
}

// Everything of a pack comes back: its parts by id, its reference agent, and,
// once published, the file as it was written. What is published again with
// other comments keeps the first file.
func TestPackParts(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	ctx := t.Context()
	s := snapshot("sums", 1)
	s.Mode, s.InputSets, s.Reference, s.Bundle = "native", []string{"b", "a"}, []byte("cases: {}"), []byte("# mine\n")
	saved, err := db.SavePack(ctx, s)
	must(t, err)
	if got, err := db.Snapshot(ctx, saved.ID); err != nil || got.Bundle != nil || string(got.Reference) != "cases: {}" {
		t.Errorf("before it is published: got bundle %q, reference %q, %v", got.Bundle, got.Reference, err)
	}
	first, err := db.Publish(ctx, s)
	must(t, err)
	s.Bundle = []byte("# other\n")
	again, err := db.Publish(ctx, s)
	must(t, err)
	if first.ID != saved.ID || first.BundleID == "" || again != first {
		t.Errorf("got %+v, then %+v", first, again)
	}
	if got, err := db.Snapshot(ctx, first.ID); err != nil || string(got.Bundle) != "# mine\n" {
		t.Errorf("bundle: got %q, %v", got.Bundle, err)
	}
	next, err := db.Publish(ctx, snapshot("sums", 2))
	must(t, err)
	if next.ChallengePackID != first.ChallengePackID || next.SpecID == first.SpecID || next.BundleID != "" {
		t.Errorf("got %+v after %+v", next, first)
	}
	if newest, err := db.Pack(ctx, "", first.ChallengePackID); err != nil || newest.ID != next.ID {
		t.Errorf("by the id of all versions: got %+v, %v", newest, err)
	}
	sets, err := db.InputSets(ctx, first.ID)
	must(t, err)
	if len(sets) != 2 || sets[0].Key != "b" || sets[0].ID == sets[1].ID {
		t.Errorf("got %+v", sets)
	}
	if key, err := db.InputSetKey(ctx, sets[1].ID); err != nil || key != "a" {
		t.Errorf("got %q, %v", key, err)
	}
	if _, err := db.InputSetKey(ctx, first.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an id that is no input set's: got %v", err)
	}
}
