//go:build unix

package docker_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
)

// fakeEngine answers what a provider asks of an engine before it does anything.
func fakeEngine(name string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/_ping", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		w.Header().Set("Ostype", "linux")
		_, _ = io.WriteString(w, "OK")
	})
	mux.HandleFunc("/v1.41/info", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"ServerVersion": name, "NCPU": 2, "Architecture": "x86_64"})
	})
	mux.HandleFunc("/v1.41/version", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	return mux
}

// socket serves a handler on a unix socket and returns its address. The path is
// short, as such paths must be.
func socket(t *testing.T, path string, h http.Handler) string {
	t.Helper()
	if path == "" {
		dir, err := os.MkdirTemp("", "ac")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		path = filepath.Join(dir, "e.sock")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	s.Start()
	t.Cleanup(s.Close)
	return "unix://" + path
}

func env(pairs ...string) func(string) string {
	return func(key string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == key {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeContext writes a context as the docker command does.
func writeContext(t *testing.T, config, name, host string) (tlsDir string) {
	t.Helper()
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	write(t, filepath.Join(config, "contexts/meta", id, "meta.json"), fmt.Sprintf(`{"Name":%q,"Metadata":{},"Endpoints":{"docker":{"Host":%q,"SkipTLSVerify":false}}}`, name, host))
	return filepath.Join(config, "contexts/tls", id, "docker")
}

func TestWhichEngine(t *testing.T) {
	t.Parallel()
	flag, host, named, current := socket(t, "", fakeEngine("flag")), socket(t, "", fakeEngine("host")), socket(t, "", fakeEngine("named")), socket(t, "", fakeEngine("current"))
	config := t.TempDir()
	write(t, filepath.Join(config, "config.json"), `{"auths":{},"currentContext":"current"}`)
	writeContext(t, config, "current", current)
	writeContext(t, config, "named", named)
	for _, tc := range []struct {
		want string
		o    docker.Options
	}{
		{"flag", docker.Options{Host: flag, Getenv: env("DOCKER_HOST", host, "DOCKER_CONTEXT", "named", "DOCKER_CONFIG", config)}},
		{"host", docker.Options{Getenv: env("DOCKER_HOST", host, "DOCKER_CONTEXT", "named", "DOCKER_CONFIG", config)}},
		{"named", docker.Options{Getenv: env("DOCKER_CONTEXT", "named", "DOCKER_CONFIG", config)}},
		{"current", docker.Options{Getenv: env("DOCKER_CONFIG", config)}},
	} {
		e, err := docker.Probe(t.Context(), tc.o)
		if err != nil || e.Version != tc.want || e.Arch != "amd64" || e.CPUs != 2 || e.API != "1.41" {
			t.Errorf("got %+v, %v; want the engine %q", e, err, tc.want)
		}
	}
}

func TestEngineInTheUsualPlaces(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/var/run/docker.sock"); err == nil {
		t.Skip("there is an engine at the default socket")
	}
	for _, place := range []string{".docker/run/docker.sock", ".colima/default/docker.sock", ".orbstack/run/docker.sock"} {
		home, err := os.MkdirTemp("", "ac")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(home) })
		socket(t, filepath.Join(home, place), fakeEngine(place))
		if e, err := docker.Probe(t.Context(), docker.Options{Getenv: env("HOME", home)}); err != nil || e.Version != place {
			t.Errorf("%s: got %+v, %v", place, e, err)
		}
	}
}

func TestNoEngine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	silent, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	windows, old := http.NewServeMux(), http.NewServeMux()
	windows.HandleFunc("/_ping", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Ostype", "windows") })
	old.HandleFunc("/_ping", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.24") })
	config := t.TempDir()
	write(t, filepath.Join(config, "config.json"), `{"currentContext":"gone"}`)
	write(t, filepath.Join(config, "broken", "config.json"), `{"currentContext":"x"}`)
	writeContext(t, filepath.Join(config, "broken"), "x", "")
	for name, tc := range map[string]struct {
		o    docker.Options
		want string
	}{
		"no socket":       {docker.Options{Host: "unix://" + dir + "/none"}, "no such socket"},
		"no answer":       {docker.Options{Host: "unix://" + dir + "/s"}, "no answer in time"},
		"no address":      {docker.Options{Getenv: env("DOCKER_HOST", "engine:2375")}, "DOCKER_HOST"},
		"no context":      {docker.Options{Getenv: env("DOCKER_CONFIG", config)}, `"gone", which does not exist`},
		"empty context":   {docker.Options{Getenv: env("DOCKER_CONFIG", filepath.Join(config, "broken"))}, "names no engine"},
		"windows":         {docker.Options{Host: socket(t, "", windows)}, "windows containers"},
		"an old engine":   {docker.Options{Host: socket(t, "", old)}, "older than 1.40"},
		"ssh with a flag": {docker.Options{Host: "ssh://-oProxyCommand=x/"}, "want ssh://"},
		"ssh password":    {docker.Options{Host: "ssh://u:p@h"}, "use a key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := docker.Probe(t.Context(), tc.o)
			if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(fmt.Sprint(err), tc.want) {
				t.Errorf("got %v, want ErrUnavailable and %q", err, tc.want)
			}
			if _, err := docker.Open(t.Context(), tc.o); !errors.Is(err, sandbox.ErrUnavailable) {
				t.Errorf("open: got %v, want ErrUnavailable", err)
			}
			if text := fmt.Sprint(err); strings.Contains(text, "docker.invalid") || strings.Contains(text, "start Docker") {
				t.Errorf("got %s: an address that nobody knows, or the advice that callers give", text)
			}
		})
	}
}

func TestEngineThroughTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(fakeEngine("secure"))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	host := "tcp://" + s.Listener.Addr().String()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))

	certs := t.TempDir()
	write(t, filepath.Join(certs, "ca.pem"), ca)
	config := t.TempDir()
	write(t, filepath.Join(writeContext(t, config, "secure", host), "ca.pem"), ca)
	other := t.TempDir()
	for name, tc := range map[string]struct {
		env  func(string) string
		want bool
	}{
		"by variables":            {env("DOCKER_HOST", host, "DOCKER_TLS_VERIFY", "1", "DOCKER_CERT_PATH", certs), true},
		"by context":              {env("DOCKER_CONTEXT", "secure", "DOCKER_CONFIG", config), true},
		"of an unknown authority": {env("DOCKER_HOST", host, "DOCKER_TLS_VERIFY", "1", "DOCKER_CERT_PATH", other), false},
		"not asked for":           {env("DOCKER_HOST", host), false},
	} {
		e, err := docker.Probe(t.Context(), docker.Options{Getenv: tc.env})
		if got := err == nil && e.Version == "secure"; got != tc.want {
			t.Errorf("%s: got %+v, %v; want an answer %v", name, e, err, tc.want)
		}
	}
}

// dialEnv makes the test binary what "docker system dial-stdio" is.
const dialEnv = "AGENTCLASH_TEST_DIAL"

func dialStdio(path string) {
	c, err := net.Dial("unix", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		_, _ = io.Copy(c, os.Stdin)
		_ = c.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, c)
}

// fakeSSH is a program that writes its arguments down and connects to a socket.
func fakeSSH(t *testing.T, address, script string) (program, args string) {
	t.Helper()
	dir := t.TempDir()
	program, args = filepath.Join(dir, "ssh"), filepath.Join(dir, "args")
	if script == "" {
		script = fmt.Sprintf("echo \"$*\" > %s\n%s=%s exec %s", args, dialEnv, strings.TrimPrefix(address, "unix://"), os.Args[0])
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return program, args
}

func TestEngineThroughSSH(t *testing.T) {
	t.Parallel()
	program, args := fakeSSH(t, socket(t, "", fakeEngine("far")), "")
	e, err := docker.Probe(t.Context(), docker.Options{Host: "ssh://user@example.com:2222", SSH: program})
	if err != nil || e.Version != "far" {
		t.Errorf("got %+v, %v", e, err)
	}
	if got := string(read(t, args)); !strings.Contains(got, "-l user -p 2222 -- example.com docker system dial-stdio") {
		t.Errorf("ssh was called with %q", got)
	}
	program, _ = fakeSSH(t, "", "echo 'Host key verification failed.' >&2; exit 255")
	if _, err := docker.Probe(t.Context(), docker.Options{Host: "ssh://example.com", SSH: program}); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "Host key") || strings.Contains(err.Error(), "docker.invalid") {
		t.Errorf("got %v, want ErrUnavailable with what ssh said, and not the library's address", err)
	}
}

// An engine that has not answered by the caller's own deadline is named as well.
func TestNoAnswerInTheCallersTime(t *testing.T) {
	t.Parallel()
	silent := http.NewServeMux()
	silent.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	host := socket(t, "", silent)
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := docker.Probe(ctx, docker.Options{Host: host}); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), host) {
		t.Errorf("got %v, want ErrUnavailable and %s", err, host)
	}
}

func TestBoxThroughSSH(t *testing.T) {
	t.Parallel()
	o := options(t)
	host := needEngine(t).Host
	if !strings.HasPrefix(host, "unix://") {
		t.Skipf("the engine is at %s, not at a socket", host)
	}
	o.Host = "ssh://example.com"
	o.SSH, _ = fakeSSH(t, host, "")
	p := open(t, o)
	b := box(t, p, sandbox.Spec{})
	wantFine(t, b)
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exists(t, raw(t), b.ID()) {
		t.Error("its container is still there")
	}
}
