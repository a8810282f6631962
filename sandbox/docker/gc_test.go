//go:build unix

package docker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	imagetypes "github.com/docker/docker/api/types/image"
	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/sandbox/docker"
)

// TestCollect tells on a made-up engine what is garbage and what is not, since
// on a real one it would be other people's too.
func TestCollect(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) int64 { return now.Add(-d).Unix() }
	mux := fakeEngine("fake").(*http.ServeMux)
	answer := func(pattern string, v any) {
		mux.HandleFunc("GET /v1.41"+pattern, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) })
	}
	owned := func(id, state, owner, image string) map[string]any {
		return map[string]any{"Id": id + "-0123456789", "State": state, "ImageID": image, "Labels": map[string]string{
			"dev.agentclash.owner": owner, "dev.agentclash.host": "here", "dev.agentclash.expires": fmt.Sprint(now.Add(time.Hour).Unix()),
			"dev.agentclash.run": "run-1", "dev.agentclash.case": "c\x1b[31m",
		}}
	}
	answer("/containers/json", []any{
		owned("dead", "created", "dead", "sha256:a"), owned("ghost", "removing", "dead", "sha256:a"), owned("live", "running", "live", "sha256:used"),
	})
	mux.HandleFunc("GET /v1.41/volumes", func(w http.ResponseWriter, r *http.Request) {
		if f := r.URL.Query().Get("filters"); !strings.Contains(f, "dev.agentclash.guest") || !strings.Contains(f, "dangling") {
			t.Errorf("volumes are listed by %q", f)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"Volumes": []any{
			map[string]string{"Name": "guest-old", "CreatedAt": now.Add(-2 * time.Hour).Format(time.RFC3339)},
			map[string]string{"Name": "guest-young", "CreatedAt": now.Add(-time.Minute).Format(time.RFC3339)},
		}})
	})
	image := func(id, kind string, age time.Duration, tags ...string) map[string]any {
		return map[string]any{"Id": "sha256:" + id, "RepoTags": tags, "Created": ago(age), "Labels": map[string]string{
			"dev.agentclash.image": kind, "dev.agentclash.layer": strings.Repeat(id[:1], 64),
		}}
	}
	const day = 24 * time.Hour
	inspected := func(id, comment string, tagged time.Duration) {
		answer("/images/sha256:"+id+"/json", map[string]any{
			"Id": "sha256:" + id, "Comment": comment, "Metadata": map[string]any{"LastTagTime": now.Add(-tagged)},
		})
	}
	inspected("bother", "agentclash built-in image", day)
	inspected("cayer", "", 8*day)
	inspected("dinuse", "", 6*day)
	inspected("efresh", "", 90*day)
	inspected("fnameless", "packages for agentclash sandboxes", 90*day)
	inspected("1built", "buildkit.dockerfile.v0", 90*day)
	layer := func(digit string) string { return "agentclash-layer:" + strings.Repeat(digit, 16) }
	answer("/images/json", []any{
		image("bother", "builtin", time.Minute, "agentclash/builtin:0123456789ab"), image("used", "builtin", 90*day, "agentclash/builtin:0123456789ac"),
		image("standin", "sandbox", 90*day, "agentclash/sandbox:local"),
		image("cayer", "layer", 8*day, layer("c"), "mine:1"), image("dinuse", "layer", 8*day, layer("d")),
		image("efresh", "layer", 6*day, layer("e")), image("fnameless", "layer", 8*day),
		// Labels are inherited by what people build on ours, and by other names.
		image("0mine", "builtin", 90*day, "mine:2"), image("0mine", "layer", 90*day, "mine:3", "agentclash-layer:mine"), image("1built", "layer", 90*day),
	})
	var mu sync.Mutex
	var removed []string
	all := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete {
			mux.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		removed = append(removed, strings.TrimPrefix(r.URL.Path, "/v1.41/"))
		_, _ = io.WriteString(w, "[]")
	})
	o := docker.Options{
		Host: socket(t, "", all), Now: func() time.Time { return now },
		Owner: "me", HostID: "here", Alive: func(owner string) bool { return owner != "dead" },
	}
	want := docker.Garbage{
		Containers: []docker.LeftBox{{ID: "dead-0123456", State: "created", Run: "run-1", Case: "c[31m"}},
		Volumes:    []string{"guest-old"},
		Images:     []string{"agentclash/builtin:0123456789ab", layer("c"), "sha256:fnameless"},
	}
	for _, dry := range []bool{true, false} {
		got, err := docker.Collect(t.Context(), o, dry)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("dry %v (-want +got):\n%s", dry, diff)
		}
		if dry && len(removed) > 0 {
			t.Errorf("a rehearsal removed %q", removed)
		}
	}
	slices.Sort(removed)
	if diff := cmp.Diff([]string{
		"containers/dead-0123456789", "images/" + layer("c"), "images/agentclash/builtin:0123456789ab",
		"images/sha256:fnameless", "volumes/guest-old",
	}, removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
}

// TestCollectKeepsWhatIsUsed: a real engine, an image that a container has.
func TestCollectKeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	o := options(t)
	c := raw(t)
	key := strings.Repeat("0123", 16)
	name := "agentclash-layer:" + key[:16]
	body, err := c.ImageImport(t.Context(), imagetypes.ImportSource{Source: bytes.NewReader(emptyTar()), SourceName: "-"}, "agentclash-layer",
		imagetypes.ImportOptions{Tag: key[:16], Changes: []string{"LABEL dev.agentclash.image=layer dev.agentclash.layer=" + key}})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, body)
	_ = body.Close()
	t.Cleanup(func() { _, _ = c.ImageRemove(context.Background(), name, imagetypes.RemoveOptions{Force: true}) })
	holder := createHelper(t, name, "")
	o.Now = func() time.Time { return time.Now().Add(30 * 24 * time.Hour) }
	// A rehearsal: in a month all that is on this engine has expired.
	got, err := docker.Collect(t.Context(), o, true)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(got.Images, name) {
		t.Errorf("an image that a container has is garbage: %q", got.Images)
	}
	if err := c.ContainerRemove(t.Context(), holder, container.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, err = docker.Collect(t.Context(), o, true); err != nil || !slices.Contains(got.Images, name) {
		t.Errorf("got %q and %v, want %s among them", got.Images, err, name)
	}
	if slices.Contains(got.Images, docker.StandInImage) {
		t.Error("the image that a person made is garbage")
	}
}
