//go:build unix

package docker_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	imagetypes "github.com/docker/docker/api/types/image"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
)

// relay stands between a provider and the real engine. fault sees each request
// first, and answers it when it returns true; it may call next to have the
// engine do it all the same.
type relay struct {
	host string
	cut  func() // ends every connection, and takes no more
}

func startRelay(t *testing.T, fault func(w http.ResponseWriter, r *http.Request, next http.Handler) bool) relay {
	t.Helper()
	engine := strings.TrimPrefix(needEngine(t).Host, "unix://")
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "engine"})
	proxy.FlushInterval = -1
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", engine)
	}}
	var mu sync.Mutex
	conns := map[net.Conn]bool{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	s := &httptest.Server{Listener: l, Config: &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !fault(w, r, proxy) {
				proxy.ServeHTTP(w, r)
			}
		}),
		ConnState: func(c net.Conn, s http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			conns[c] = s != http.StateClosed
		},
	}}
	s.Start()
	cut := sync.OnceFunc(func() {
		_ = l.Close()
		mu.Lock()
		defer mu.Unlock()
		for c := range conns {
			_ = c.Close()
		}
	})
	t.Cleanup(func() {
		cut()
		s.Close()
	})
	return relay{host: "tcp://" + l.Addr().String(), cut: cut}
}

func is(r *http.Request, method, part string) bool {
	return r.Method == method && strings.Contains(r.URL.Path, part)
}

// hangUp ends a request's connection without an answer.
func hangUp(w http.ResponseWriter) bool {
	if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = c.Close()
	}
	return true
}

func refuse(w http.ResponseWriter, status int, message string) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message})
	return true
}

func TestCreateWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	o := options(t)
	var creates atomic.Int32
	o.Host = startRelay(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if is(r, "POST", "/containers/create") && r.URL.Query().Get("name") != "" && creates.Add(1) == 1 {
			next.ServeHTTP(httptest.NewRecorder(), r)
			return hangUp(w)
		}
		return false
	}).host
	p := open(t, o)
	b := box(t, p, sandbox.Spec{})
	wantFine(t, b)
	if creates.Load() < 2 {
		t.Errorf("got %d creates, want the second to find the first's container", creates.Load())
	}
	if all := owned(t, o); len(all) != 1 {
		t.Errorf("got the containers %v, want one", all)
	}
}

// TestAttachAfterStart is how Podman does it.
func TestAttachAfterStart(t *testing.T) {
	t.Parallel()
	o := options(t)
	var started atomic.Bool
	var refused atomic.Int32
	o.Host = startRelay(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if is(r, "POST", "/start") {
			started.Store(true) // before the provider can know
			next.ServeHTTP(w, r)
			return true
		}
		if is(r, "POST", "/attach") && !started.Load() {
			refused.Add(1)
			return refuse(w, http.StatusConflict, "can only attach to created or running containers")
		}
		return false
	}).host
	wantFine(t, box(t, open(t, o), sandbox.Spec{}))
	if refused.Load() == 0 {
		t.Error("no attach came before the start")
	}
}

func TestEngineThatRefuses(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"create": "/containers/create", "start": "/start"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			o.Host = startRelay(t, func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
				return is(r, "POST", path) && refuse(w, http.StatusInternalServerError, "the engine is unwell")
			}).host
			p := open(t, o)
			_, err := p.Open(t.Context(), sandbox.Spec{})
			wantBoxError(t, err, sandbox.BoxError{Kind: sandbox.Engine})
			if err == nil || !strings.Contains(err.Error(), "the engine is unwell") {
				t.Errorf("got %v, want the engine's words in it", err)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if left := owned(t, o); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

func TestEngineThatLeavesOutALimit(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Host = startRelay(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if !is(r, "POST", "/containers/create") {
			return false
		}
		var body map[string]any
		if json.NewDecoder(r.Body).Decode(&body) == nil {
			host := body["HostConfig"].(map[string]any)
			delete(host, "PidsLimit")
			delete(host, "SecurityOpt")
		}
		b, _ := json.Marshal(body)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(b))), int64(len(b))
		next.ServeHTTP(w, r)
		return true
	}).host
	p := open(t, o)
	_, err := p.Open(t.Context(), sandbox.Spec{})
	wantBoxError(t, err, sandbox.BoxError{Kind: sandbox.Engine})
	for _, want := range []string{"limit of processes", "gain privileges"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := owned(t, o); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestEngineThatGoesAway(t *testing.T) {
	t.Parallel()
	o := options(t)
	r := startRelay(t, func(http.ResponseWriter, *http.Request, http.Handler) bool { return false })
	o.Host = r.host
	p, err := docker.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b := box(t, p, sandbox.Spec{})
	result := make(chan error)
	go func() {
		_, err := b.Exec(t.Context(), guestProgram("ignore"))
		result <- err
	}()
	await(t, "the program runs", func() bool { return strings.Count(processes(t, b), "\n") == 2 })
	r.cut()
	wantBoxError(t, <-result, sandbox.BoxError{Kind: sandbox.Engine})
	_, err = p.Open(t.Context(), sandbox.Spec{})
	wantBoxError(t, err, sandbox.BoxError{Kind: sandbox.Engine})
	_ = p.Close(t.Context()) // it says what it could not see to
	await(t, "the container ends with its stream", func() bool { return len(owned(t, o)) == 0 })
}

// TestEngineThatHangs must not hang whoever gives up.
func TestEngineThatHangs(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/containers/create", "/attach", "/start"} {
		t.Run(strings.Trim(path, "/"), func(t *testing.T) {
			t.Parallel()
			o := options(t)
			release := make(chan struct{})
			o.Host = startRelay(t, func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
				if !is(r, "POST", path) {
					return false
				}
				<-release
				return false
			}).host
			p, err := docker.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Describe(t.Context(), sandbox.Spec{}); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer stop()
			if _, err := p.Open(ctx, sandbox.Spec{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the context's error", err)
			}
			close(release)
			if err := p.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
			await(t, "nothing is left", func() bool { return len(owned(t, o)) == 0 })
		})
	}
}

func TestReapRemovesOldGuests(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var removed []string
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	mux := fakeEngine("fake").(*http.ServeMux)
	mux.HandleFunc("GET /v1.41/containers/json", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") })
	mux.HandleFunc("GET /v1.41/volumes", func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Query().Get("filters"), "dev.agentclash.guest") {
			t.Errorf("volumes are listed by %q", r.URL.RawQuery)
		}
		volume := func(name string, age time.Duration) map[string]string {
			return map[string]string{"Name": name, "CreatedAt": now.Add(-age).Format(time.RFC3339)}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"Volumes": []any{
			volume("old", 25*time.Hour), volume("used", 25*time.Hour), volume("young", 23*time.Hour), map[string]string{"Name": "odd", "CreatedAt": "?"},
		}})
	})
	mux.HandleFunc("DELETE /v1.41/volumes/{name}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("name") == "used" {
			refuse(w, http.StatusConflict, "volume is in use")
			return
		}
		mu.Lock()
		defer mu.Unlock()
		removed = append(removed, r.PathValue("name"))
	})
	n, err := docker.Reap(t.Context(), docker.Options{Host: socket(t, "", mux), Now: func() time.Time { return now }})
	if err != nil || n != 0 || !slices.Equal(removed, []string{"old"}) {
		t.Errorf("got %d, %v and %q removed; want the old one alone", n, err, removed)
	}
}

// registry serves one image of one empty layer, as registries do.
func registry(t *testing.T) (image string) {
	t.Helper()
	digest := func(b string) string {
		sum := sha256.Sum256([]byte(b))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	layer := string(gzipped(t))
	config := fmt.Sprintf(`{"architecture":%q,"os":"linux","config":{"Labels":{"dev.agentclash.test":"1"}},"rootfs":{"type":"layers","diff_ids":[%q]}}`,
		needEngine(t).Arch, digest(string(emptyTar())))
	blobs := map[string]string{digest(layer): layer, digest(config): config}
	manifest := fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":{"mediaType":"application/vnd.docker.container.image.v1+json","size":%d,"digest":%q},"layers":[{"mediaType":"application/vnd.docker.image.rootfs.diff.tar.gzip","size":%d,"digest":%q}]}`,
		len(config), digest(config), len(layer), digest(layer))
	mux := http.NewServeMux()
	mux.HandleFunc("/v2/", func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.URL.Path, "/")
		last := parts[len(parts)-1]
		switch {
		case r.URL.Path == "/v2/":
		case strings.Contains(r.URL.Path, "/test/manifests/") && (last == "1" || last == digest(manifest)):
			w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
			w.Header().Set("Docker-Content-Digest", digest(manifest))
			_, _ = io.WriteString(w, manifest)
		case strings.Contains(r.URL.Path, "/test/blobs/") && blobs[last] != "":
			_, _ = io.WriteString(w, blobs[last])
		default:
			http.NotFound(w, r)
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String() + "/test"
}

func TestPull(t *testing.T) {
	t.Parallel()
	o := options(t)
	repo := registry(t)
	o.Image = repo + ":1"
	t.Cleanup(func() {
		_, _ = raw(t).ImageRemove(context.Background(), repo+":1", imagetypes.RemoveOptions{Force: true})
	})
	var mu sync.Mutex
	var said []string
	o.Progress = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, line)
	}
	p := open(t, o)
	d, err := p.Describe(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Image != o.Image || !strings.HasPrefix(d.ImageID, "sha256:") || d.Note != "" {
		t.Errorf("got %+v", d)
	}
	if len(said) == 0 || said[0] != "pulling "+o.Image {
		t.Errorf("got the progress %q", said)
	}
	r := run(t, box(t, p, sandbox.Spec{}), guestProgram("args", "in an image of nothing"))
	if r.Stdout.Text != "\"in an image of nothing\"\n" {
		t.Errorf("got %+v", r)
	}

	o.Image = repo + ":2"
	_, err = open(t, o).Describe(t.Context(), sandbox.Spec{})
	wantBoxError(t, err, sandbox.BoxError{Kind: sandbox.Image})
}
