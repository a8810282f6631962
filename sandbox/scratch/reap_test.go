package scratch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/scratch"
)

// crashed opens a box and loses it, as a killed process does.
func crashed(t *testing.T, dir, owner string) string {
	t.Helper()
	box, err := provider(t, scratch.Options{Dir: dir, Owner: owner}).Open(context.Background(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if err := box.WriteFile(context.Background(), "left/file.txt", []byte("x")); err != nil {
		t.Fatal(err)
	}
	return box.ID()
}

func TestReapRemovesDeadOwnersBoxesAndNothingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dead1, dead2 := crashed(t, dir, "boot/2/2 with 'odd' name"), crashed(t, dir, "dead")
	live, own := crashed(t, dir, "live"), crashed(t, dir, "own")
	marked := filepath.Base(dead1)
	kept := []string{filepath.Base(live), filepath.Base(own)}
	// What only looks like a dead owner's box.
	for _, name := range []string{"other", "agentclash-scratch.", "agentclash-scratch..x", "agentclash-scratch.!!.ABCDEFGHIJKLMNOPQRSTUVWXYZ", "x" + marked, marked + "x", marked[:len(marked)-1]} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, name)
	}
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "kept.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	aLink := marked[:len(marked)-4] + "LINK"
	if err := os.Symlink(elsewhere, filepath.Join(dir, aLink)); err != nil {
		t.Fatal(err)
	}
	aFile := marked[:len(marked)-4] + "FILE"
	if err := os.WriteFile(filepath.Join(dir, aFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kept = append(kept, aLink, aFile)

	var asked []string
	p := provider(t, scratch.Options{Dir: dir, Owner: "own", Alive: func(owner string) bool {
		asked = append(asked, owner)
		return owner == "live"
	}})
	removed, err := p.Reap(t.Context())
	if err != nil {
		t.Fatalf("reap: %v", err)
	}
	want := []string{dead1, dead2}
	slices.Sort(want)
	slices.Sort(removed)
	if d := cmp.Diff(want, removed); d != "" {
		t.Errorf("removed (-want +got):\n%s", d)
	}
	slices.Sort(kept)
	if d := cmp.Diff(kept, entries(t, dir)); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"kept.txt"}, entries(t, elsewhere)); d != "" {
		t.Errorf("directory a link points to (-want +got):\n%s", d)
	}
	slices.Sort(asked)
	if d := cmp.Diff([]string{"boot/2/2 with 'odd' name", "dead", "live"}, asked); d != "" {
		t.Errorf("owners asked about (-want +got):\n%s", d)
	}
	if again, err := p.Reap(t.Context()); err != nil || len(again) != 0 {
		t.Errorf("reap again: got %v, %v, want nothing", again, err)
	}
}

func TestReapWithNothingToAsk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	left := crashed(t, dir, "dead")
	if removed, err := provider(t, scratch.Options{Dir: dir}).Reap(t.Context()); err != nil || len(removed) != 0 {
		t.Errorf("reap by one who takes all to be alive: got %v, %v, want nothing", removed, err)
	}
	nobody := func(string) bool { return false }
	missing := provider(t, scratch.Options{Dir: filepath.Join(dir, "missing"), Alive: nobody})
	if removed, err := missing.Reap(t.Context()); err != nil || len(removed) != 0 {
		t.Errorf("reap where nothing ever was: got %v, %v, want nothing", removed, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	removed, err := provider(t, scratch.Options{Dir: dir, Alive: nobody}).Reap(ctx)
	if !errors.Is(err, context.Canceled) || len(removed) != 0 {
		t.Errorf("reap with an ended context: got %v, %v, want context.Canceled", removed, err)
	}
	if d := cmp.Diff([]string{filepath.Base(left)}, entries(t, dir)); d != "" {
		t.Errorf("directory (-want +got):\n%s", d)
	}
}

func TestTheLongestOwnerFits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	owner := string(slices.Repeat([]byte{0xff}, scratch.MaxOwnerBytes))
	left := crashed(t, dir, owner)
	p := provider(t, scratch.Options{Dir: dir, Alive: func(o string) bool { return o != owner }})
	removed, err := p.Reap(t.Context())
	if d := cmp.Diff([]string{left}, removed); err != nil || d != "" {
		t.Errorf("reap: got %v (-want +got):\n%s", err, d)
	}
}
