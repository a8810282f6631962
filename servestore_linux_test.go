package main_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// page200 is what a server answers, which has to be well.
func page200(t *testing.T, address string) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v: %s", address, a.StatusCode, err, body)
	}
	return string(body)
}

// TestServeFollowsTheStore takes the store away under a server, puts another one in its
// place, and has runs recorded where a server may write nothing beside the store. What is
// shown is what is there.
func TestServeFollowsTheStore(t *testing.T) {
	t.Parallel()
	p := sharedProgram(t)
	home := filepath.Join(p.dir, "home")
	start := "eval start --pack builtin:quickstart --model scripted/builtin:quickstart-good --quiet --name "
	p.must(t, strings.Fields(start+"before")...)
	// so that another user can read it, and not write
	for path, mode := range map[string]os.FileMode{home: 0o755, filepath.Join(home, "agentclash.db"): 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	c := p.command(context.Background(), "serve", "--port", "0") // serving ends it
	c.SysProcAttr = nobody()
	address := serving(t, c)
	shows := func(what, want, not string) {
		t.Helper()
		if list := page200(t, address); !strings.Contains(list, want) || strings.Contains(list, not) {
			t.Errorf("%s: the list has to show %s and not %s, %d bytes", what, want, not, len(list))
		}
	}
	shows("a store that is closed", ">before</bdi>", ">after</bdi>")
	p.must(t, strings.Fields(start+"after")...)
	shows("after another run", ">after</bdi>", "No run")
	page200(t, address+"runs/after")
	p.must(t, strings.Fields("run prune --keep 1")...)
	shows("after one was removed", ">after</bdi>", ">before</bdi>")

	away := filepath.Join(p.dir, "away")
	if err := os.Rename(home, away); err != nil {
		t.Fatal(err)
	}
	shows("without a store", "<html", ">after</bdi>")
	p.must(t, strings.Fields(start+"anew")...)
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(home, "agentclash.db"), 0o644); err != nil {
		t.Fatal(err)
	}
	shows("with another store", ">anew</bdi>", ">after</bdi>")
}
