package store_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/store"
)

func TestResources(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), fresh(t)
	alias := store.Resource{Kind: store.ModelAlias, Name: "Fast", Document: json.RawMessage(`{"model":"a/b"}`)}
	kept, err := db.SaveResource(ctx, alias)
	must(t, err)
	if again, err := db.SaveResource(ctx, alias); err != nil || again.ID != kept.ID {
		t.Errorf("the same again: got %+v, %v", again, err)
	}
	other := alias
	other.Name, other.Document = "FAST", json.RawMessage(`{"model":"c/d"}`)
	if _, err := db.SaveResource(ctx, other); !errors.Is(err, store.ErrConflict) {
		t.Errorf("another of the name: got %v", err)
	}
	other.Kind = store.RuntimeProfile
	profile, err := db.SaveResource(ctx, other)
	if err != nil {
		t.Errorf("the name in another kind: got %v", err)
	}
	for _, selector := range []string{"fast", kept.ID, kept.ID[len(kept.ID)-8:]} {
		if got, err := db.Resource(ctx, "", store.ModelAlias, selector); err != nil || got.ID != kept.ID || string(got.Document) != string(alias.Document) {
			t.Errorf("%q: got %+v, %v", selector, got, err)
		}
	}
	if _, err := db.Resource(ctx, "elsewhere", store.ModelAlias, "fast"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("in another workspace: got %v", err)
	}
	must(t, db.ArchiveResource(ctx, profile.ID))
	if got, err := db.Resource(ctx, "", store.RuntimeProfile, "fast"); err != nil || got.ArchivedAt.IsZero() {
		t.Errorf("archived: got %+v, %v", got, err)
	}
	if _, err := db.SaveResource(ctx, other); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the name of an archived one: got %v", err)
	}
	must(t, db.DeleteResource(ctx, kept.ID))
	if err := db.DeleteResource(ctx, kept.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted twice: got %v", err)
	}
}

func TestDeploymentsAreChangedAsTheyWereRead(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), fresh(t)
	was, err := db.SaveDeployment(ctx, "", plan.Deployment{Name: "one", Provider: "openai", Model: "a"})
	must(t, err)
	_, err = db.SaveDeployment(ctx, "", plan.Deployment{Name: "two", Provider: "openai", Model: "a"})
	must(t, err)
	is := was.Deployment
	is.Model = "b"
	now, err := db.UpdateDeployment(ctx, was, is)
	if err != nil || now.Model != "b" || now.ID != was.ID {
		t.Errorf("got %+v, %v", now, err)
	}
	if _, err := db.UpdateDeployment(ctx, was, is); !errors.Is(err, store.ErrConflict) {
		t.Errorf("changed meanwhile: got %v", err)
	}
	is.Name = "TWO"
	if _, err := db.UpdateDeployment(ctx, now, is); !errors.Is(err, store.ErrConflict) {
		t.Errorf("to a name that is taken: got %v", err)
	}
	if runs, err := db.DeleteDeployment(ctx, now); err != nil || runs != 0 {
		t.Errorf("got %d, %v", runs, err)
	}
	if _, err := db.DeleteDeployment(ctx, now); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted twice: got %v", err)
	}
}

func TestBuildVersions(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), fresh(t)
	b, err := db.SaveResource(ctx, store.Resource{Kind: store.Build, Name: "Reviewer", Document: json.RawMessage("{}")})
	must(t, err)
	one, err := db.SaveBuildVersion(ctx, b.ID, "d1", json.RawMessage(`{"system":"1"}`), false)
	must(t, err)
	two, err := db.SaveBuildVersion(ctx, b.ID, "d2", json.RawMessage(`{"system":"2"}`), true)
	must(t, err)
	if one.Ref() != "Reviewer@1" || two.Number != 2 || !one.ReadyAt.IsZero() || two.ReadyAt.IsZero() {
		t.Errorf("got %+v and %+v", one, two)
	}
	if again, err := db.SaveBuildVersion(ctx, b.ID, "d2", json.RawMessage(`{"system":"2"}`), false); err != nil || again.ID != two.ID || again.ReadyAt.IsZero() {
		t.Errorf("the same content again: got %+v, %v", again, err)
	}
	if _, err := db.UpdateBuildVersion(ctx, two, "d3", json.RawMessage("{}")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("one that is ready: got %v", err)
	}
	if _, err := db.UpdateBuildVersion(ctx, one, "d2", json.RawMessage("{}")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the content of another: got %v", err)
	}
	if one, err = db.UpdateBuildVersion(ctx, one, "d3", json.RawMessage(`{"system":"3"}`)); err != nil || one.Digest != "d3" {
		t.Errorf("a draft: got %+v, %v", one, err)
	}
	for _, selector := range []string{"reviewer@1", one.ID, one.ID[len(one.ID)-8:]} {
		if got, err := db.BuildVersion(ctx, "", selector); err != nil || got.ID != one.ID {
			t.Errorf("%q: got %+v, %v", selector, got, err)
		}
	}
	if _, err := db.BuildVersion(ctx, "", "reviewer@3"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("one that is not there: got %v", err)
	}
}

// deleting deletes an artifact and its bytes when the first of them is written.
type deleting struct {
	t    *testing.T
	db   *store.DB
	a    store.Artifact
	done bool
}

func (d *deleting) Write(p []byte) (int, error) {
	if !d.done {
		d.done = true
		_, err := d.db.RemoveArtifact(d.t.Context(), d.a, false)
		must(d.t, err)
		_, err = d.db.GC(d.t.Context(), false)
		must(d.t, err)
	}
	return len(p), nil
}

// TestArtifactDeletedWhileRead: nothing is wrong with a store from which an artifact
// was deleted.
func TestArtifactDeletedWhileRead(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), fresh(t)
	large := make([]byte, 3<<20+17)
	for i := range large {
		large[i] = byte(rand.IntN(256))
	}
	a, err := db.SaveArtifact(ctx, store.Artifact{Type: "notes", ContentType: "text/plain", Visibility: "workspace", Metadata: json.RawMessage(`{}`)}, bytes.NewReader(large))
	must(t, err)
	for _, when := range []string{"in the middle", "before"} {
		if err := db.ReadArtifact(ctx, a, &deleting{t: t, db: db, a: a, done: when == "before"}); !errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v", when, err)
		}
	}
}

func TestArtifacts(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), fresh(t)
	large := make([]byte, 3<<20+17)
	for i := range large {
		large[i] = byte(rand.IntN(256))
	}
	meta := store.Artifact{Type: "notes", ContentType: "text/plain", Visibility: "workspace", Metadata: json.RawMessage(`{"original_filename":"a"}`)}
	var kept store.Artifact
	for _, content := range [][]byte{nil, []byte("small"), large, large} {
		a, err := db.SaveArtifact(ctx, meta, bytes.NewReader(content))
		must(t, err)
		var back bytes.Buffer
		must(t, db.ReadArtifact(ctx, a, &back))
		if a.Size != int64(len(content)) || !bytes.Equal(back.Bytes(), content) {
			t.Errorf("got %d bytes of %d: %+v", back.Len(), len(content), a)
		}
		kept = a
	}
	if n := db.Count(ctx, t, "contents"); n != 3 {
		t.Errorf("got %d contents of three", n)
	}
	list, total, err := db.Artifacts(ctx, store.ArtifactFilter{Type: "notes", Limit: 1})
	if err != nil || total != 4 || len(list) != 1 || list[0].ID != kept.ID {
		t.Errorf("got %d of %d, %v", len(list), total, err)
	}
	if _, err := db.SaveArtifact(ctx, store.Artifact{RunID: "none", Metadata: meta.Metadata}, strings.NewReader("x")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of a run that is not there: got %v", err)
	}
	if _, err := db.Artifact(ctx, "elsewhere", kept.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("in another workspace: got %v", err)
	}
	// a part that is gone, or in another place, is noticed before the end is handed on
	must(t, db.Exec(ctx, "UPDATE content_parts SET blob_id = (SELECT blob_id FROM content_parts WHERE position = 1) WHERE position = 0"))
	var damaged bytes.Buffer
	if err := db.ReadArtifact(ctx, kept, &damaged); !errors.Is(err, store.ErrCorrupt) || damaged.Len() >= len(large) {
		t.Errorf("got %d bytes, %v", damaged.Len(), err)
	}
}

// A store from before there were resources has none while it is only read, and gets
// them when it is written.
func TestResourcesOfAnOlderStore(t *testing.T) {
	t.Parallel()
	ctx, path := t.Context(), fixture(t, "schema5.db.gz")
	db, err := store.Open(ctx, store.Options{Path: path, ReadOnly: true})
	must(t, err)
	if list, err := db.Resources(ctx, "", store.ModelAlias); err != nil || len(list) != 0 {
		t.Errorf("resources: got %v, %v", list, err)
	}
	if _, err := db.Resource(ctx, "", store.Build, "x"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("resource: got %v", err)
	}
	if list, total, err := db.Artifacts(ctx, store.ArtifactFilter{}); err != nil || len(list) != 0 || total != 0 {
		t.Errorf("artifacts: got %v, %v", list, err)
	}
	if _, err := db.Artifact(ctx, "", "abcdef"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("artifact: got %v", err)
	}
	if list, err := db.Spending(ctx, "", time.Time{}.AddDate(1969, 0, 0), ""); err != nil || len(list) == 0 {
		t.Errorf("spending: got %v, %v", list, err)
	}
	must(t, db.Close())
	newer := open(t, path)
	if _, err := newer.SaveResource(ctx, store.Resource{Kind: store.ModelAlias, Name: "x", Document: json.RawMessage("{}")}); err != nil {
		t.Error(err)
	}
}
