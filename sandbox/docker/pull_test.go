//go:build unix

package docker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
)

// pulling is an engine that has no image and pulls as the stream says. A pull
// that is done has brought the image.
func pulling(t *testing.T, stream func(say func(format string, args ...any), r *http.Request)) docker.Options {
	t.Helper()
	mux := fakeEngine("fake").(*http.ServeMux)
	mux.HandleFunc("GET /v1.41/images/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "no such image")
	})
	mux.HandleFunc("POST /v1.41/images/create", func(w http.ResponseWriter, r *http.Request) {
		stream(func(format string, args ...any) {
			fmt.Fprintf(w, format+"\n", args...)
			_ = http.NewResponseController(w).Flush()
		}, r)
	})
	return docker.Options{Host: socket(t, "", mux), Image: "registry.test/image:1"}
}

func describe(t *testing.T, o docker.Options) error {
	t.Helper()
	_, err := open(t, o).Describe(t.Context(), sandbox.Spec{})
	return err
}

func TestPullSaysHowFarItIs(t *testing.T) {
	t.Parallel()
	layer := func(say func(string, ...any), id, status string, n, of int) {
		say(`{"status":%q,"id":%q,"progressDetail":{"current":%d,"total":%d}}`, status, id, n*1e6, of*1e6)
	}
	o := pulling(t, func(say func(string, ...any), _ *http.Request) {
		say(`{"status":"Pulling from image","id":"1"}`)
		layer(say, "a", "Downloading", 1, 10)
		layer(say, "b", "Downloading", 5, 20)
		layer(say, "a", "Verifying Checksum", 10, 10)
		layer(say, "b", "Downloading", 15, 20)
		layer(say, "a", "Extracting", 4, 10)
		layer(say, "a", "Pull complete", 0, 0)
	})
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	o.Now = func() time.Time { now = now.Add(time.Second); return now } // every line is a second later
	var said notes
	o.Progress = said.add
	if err := describe(t, o); err == nil {
		t.Error("an engine that has no image after its pull was believed")
	}
	want := []string{
		"pulling registry.test/image:1",
		"pulling registry.test/image:1: 1 of 10 MB",
		"pulling registry.test/image:1: 6 of 30 MB",
		"pulling registry.test/image:1: 16 of 30 MB",
		"pulling registry.test/image:1: 25 of 30 MB, 4 of them unpacked",
	}
	if diff := cmp.Diff(want, said.all()); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func TestPullThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream func(say func(string, ...any), r *http.Request)
		want   string
	}{
		"an error in the stream": {func(say func(string, ...any), _ *http.Request) {
			say(`{"status":"Downloading","id":"a","progressDetail":{"current":1,"total":2}}`)
			say(`{"errorDetail":{"message":"toomanyrequests"},"error":"toomanyrequests: \u001b[31mslow down\nsecond line"}`)
		}, "toomanyrequests: [31mslow down; pull it (docker pull registry.test/image:1)"},
		"a stall": {func(say func(string, ...any), r *http.Request) {
			say(`{"status":"Downloading","id":"a","progressDetail":{"current":1,"total":2}}`)
			<-r.Context().Done()
		}, "no progress for 200ms"},
		"a stream that is cut": {func(say func(string, ...any), _ *http.Request) {
			say(`{"status":"Downloading","id":`)
		}, "unexpected EOF"},
		"a full disk": {func(say func(string, ...any), _ *http.Request) {
			say(`{"error":"write /var/lib/docker/tmp/x: no space left on device"}`)
		}, "the engine's disk is full: see what takes it (docker system df)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := pulling(t, c.stream)
			o.PullPatience = 200 * time.Millisecond
			err := describe(t, o)
			wantBoxError(t, err, sandbox.BoxError{Kind: sandbox.Image})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestEngineWhoseDiskIsFull: it is the machine's failure, and no agent's.
func TestEngineWhoseDiskIsFull(t *testing.T) {
	t.Parallel()
	o := options(t)
	creates := 0
	o.Host = startRelay(t, func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if !is(r, "POST", "/containers/create") {
			return false
		}
		creates++
		return refuse(w, http.StatusInternalServerError, "mkdir /var/lib/docker/overlay2/x: no space left on device")
	}).host
	_, err := open(t, o).Open(t.Context(), sandbox.Spec{})
	wantBoxError(t, err, sandbox.BoxError{Kind: sandbox.Engine})
	if err == nil || !strings.Contains(err.Error(), "docker system prune") || errors.Is(err, sandbox.ErrNoSpace) {
		t.Errorf("got %v, want what to do, and not that the box has no space", err)
	}
	if creates != 1 {
		t.Errorf("a full disk was tried %d times", creates)
	}
}

// onDisk is an engine of this machine that keeps its things in a directory.
func onDisk(t *testing.T, name, dir string) docker.Options {
	t.Helper()
	fake := fakeEngine("fake")
	mux := http.NewServeMux()
	mux.Handle("/", fake)
	mux.HandleFunc("/v1.41/info", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"ServerVersion": "1", "NCPU": 2, "Architecture": "x86_64", "Name": name, "DockerRootDir": dir})
	})
	mux.HandleFunc("/v1.41/images/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"Id":"sha256:1","Os":"linux","Architecture":"amd64"}`)
	})
	return docker.Options{Host: socket(t, "", mux), Image: "image"}
}
