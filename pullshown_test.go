package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPullIsShown: a run that has to pull says all the while how far it is, and
// in the end why it did not work and what to type.
func TestPullIsShown(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.write(t, "agent.yaml", "default: [{text: done}]\n")
	p.env = append(p.env, "DOCKER_HOST=unix://"+slowRegistry(t))
	out, err := p.command(t.Context(), "eval", "start", "--pack", "builtin:quickstart-native", "--model", "scripted/agent.yaml", "--image", "registry.test/big:1").CombinedOutput()
	if err == nil {
		t.Fatal("a run without an image went well")
	}
	rest := string(out)
	for _, want := range []string{
		"pulling registry.test/big:1\n", "pulling registry.test/big:1: 1 of 30 MB\n", "pulling registry.test/big:1: 20 of 30 MB\n",
		"the registry is gone; pull it (docker pull registry.test/big:1)",
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("%q is missing, or in the wrong place, in\n%s", want, out)
			continue
		}
		rest = after
	}
}

// slowRegistry is an engine that pulls for a good second, and then fails.
func slowRegistry(t *testing.T) (socket string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/_ping", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		w.Header().Set("Ostype", "linux")
	})
	mux.HandleFunc("GET /v1.41/info", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"ServerVersion": "1", "NCPU": 2, "Architecture": "x86_64"})
	})
	mux.HandleFunc("GET /v1.41/version", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") })
	mux.HandleFunc("POST /v1.41/images/create", func(w http.ResponseWriter, _ *http.Request) {
		layer := func(n int) {
			fmt.Fprintf(w, `{"status":"Downloading","id":"a","progressDetail":{"current":%d,"total":30000000}}`+"\n", n)
			_ = http.NewResponseController(w).Flush()
		}
		layer(1_000_000)
		time.Sleep(1100 * time.Millisecond)
		layer(20_000_000)
		fmt.Fprintln(w, `{"error":"the registry is gone"}`)
	})
	dir, err := os.MkdirTemp("", "ac")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "e.sock"))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }() // until it is closed
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}
