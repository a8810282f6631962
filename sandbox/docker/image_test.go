package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	imagetypes "github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/volume"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// volumeOf is the name of the volume a guest is kept in.
func volumeOf(t testing.TB, guest []byte) string {
	t.Helper()
	return volumeName(guest, needEngine(t).Arch)
}

func volumeName(guest []byte, arch string) string {
	sum := sha256.Sum256(guest)
	return "agentclash-guest-" + hex.EncodeToString(sum[:6]) + "-" + arch
}

// removeGuest removes a guest's volume when the test, and its boxes, are done.
func removeGuest(t testing.TB, guest []byte) {
	t.Helper()
	c := raw(t)
	t.Cleanup(func() {
		await(t, "the guest's volume is removed", func() bool {
			return c.VolumeRemove(context.Background(), volumeOf(t, guest), true) == nil
		})
	})
}

// guestLike is the test's guest, but of a content that no engine has seen.
func guestLike(t testing.TB) []byte {
	t.Helper()
	b, err := agent()
	if err != nil {
		t.Fatal(err)
	}
	return append(bytes.Clone(b), t.Name()+time.Now().String()...)
}

func TestGuestIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	o := options(t)
	b := guestLike(t)
	asked := 0
	o.Guest = func(arch string) ([]byte, error) {
		if arch != needEngine(t).Arch {
			t.Errorf("got architecture %q", arch)
		}
		asked++
		return b, nil
	}
	removeGuest(t, b)
	p := open(t, o)
	for range 3 {
		wantFine(t, box(t, p, sandbox.Spec{}))
	}
	if asked != 2 {
		t.Errorf("the guest was asked for %d times, want 2: to name it and to deliver it", asked)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	// A volume that goes away later is filled again.
	q := open(t, o)
	wantFine(t, box(t, q, sandbox.Spec{}))
	if asked != 3 {
		t.Errorf("with the engine having it: asked for %d times, want 3", asked)
	}
}

func TestGuestThatIsHalfThere(t *testing.T) {
	t.Parallel()
	o := options(t)
	whole := guestLike(t)
	removeGuest(t, whole)
	c := raw(t)
	if _, err := c.VolumeCreate(t.Context(), volume.CreateOptions{Name: volumeOf(t, whole)}); err != nil {
		t.Fatal(err)
	}
	// The first provider takes a file for the guest that is too short by a tail;
	// what it leaves has the whole one's name.
	o.Guest = func(string) ([]byte, error) { return whole, nil }
	fillVolume(t, o, volumeOf(t, whole), whole[:len(whole)-10])
	wantFine(t, box(t, open(t, o), sandbox.Spec{}))
}

// fillVolume puts a file into a volume in the place of the guest.
func fillVolume(t *testing.T, o docker.Options, name string, content []byte) {
	t.Helper()
	c := raw(t)
	p := open(t, o)
	d, err := p.Describe(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	id := createHelper(t, d.ImageID, name)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "guest", Mode: 0o755, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(content)
	_ = w.Close()
	if err := c.CopyToContainer(t.Context(), id, "/.agentclash", &b, copyOptions); err != nil {
		t.Fatal(err)
	}
	removeContainer(t, id)
}

func TestGuestThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		guest func(string) ([]byte, error)
		want  string
	}{
		"none given":   {nil, "no guest"},
		"none found":   {func(string) ([]byte, error) { return nil, errors.New("no such build") }, "no such build"},
		"not a binary": {func(string) ([]byte, error) { return []byte("#!/bin/sh\n"), nil }, "no Linux executable"},
	} {
		o := options(t)
		o.Guest = tc.guest
		_, err := open(t, o).Open(t.Context(), sandbox.Spec{})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, tc.want)
		}
	}
}

// importImage makes an image of the built-in one's files with changes of its
// own, and removes it with the test.
func importImage(t *testing.T, changes ...string) string {
	t.Helper()
	c := raw(t)
	p := open(t, options(t))
	d, err := p.Describe(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	id := createHelper(t, d.ImageID, "")
	defer removeContainer(t, id)
	root, err := c.ContainerExport(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	sum := sha256.Sum256([]byte(t.Name()))
	ref := "agentclash-test:" + hex.EncodeToString(sum[:6])
	body, err := c.ImageImport(t.Context(), imagetypes.ImportSource{Source: root, SourceName: "-"}, ref, imagetypes.ImportOptions{Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		await(t, "the image is removed", func() bool {
			_, err := c.ImageRemove(context.Background(), ref, imagetypes.RemoveOptions{Force: true})
			return err == nil
		})
	})
	return ref
}

func TestImageWithIdeasOfItsOwn(t *testing.T) {
	t.Parallel()
	o := options(t)
	changes := []string{
		`ENTRYPOINT ["/bin/sh", "-c", "echo swallowed"]`, `CMD ["nothing"]`, "USER nobody", `VOLUME ["/data", "/workspace"]`,
		"ENV PATH=/opt/bin:/bin", "ENV LANG=de_DE.UTF-8", "ENV OWN=kept", "WORKDIR /opt",
	}
	if needEngine(t).Name != podman { // which knows no health check here
		changes = append(changes, `HEALTHCHECK --interval=1s CMD ["/bin/false"]`)
	}
	o.Image = importImage(t, changes...)
	b := box(t, open(t, o), sandbox.Spec{})
	r := run(t, b, sh(`pwd; echo "$PATH $LANG $OWN"; echo x > /data/f && echo data; echo x > f && echo workspace; while read -r k v rest; do case $k in Uid:) echo "$v";; esac; done < /proc/self/status`))
	if want := "/workspace\n/opt/bin:/bin de_DE.UTF-8 kept\ndata\nworkspace\n65534\n"; r.Stdout.Text != want {
		t.Errorf("got %q %q, want %q", r.Stdout.Text, r.Stderr.Text, want)
	}
	if err := b.WriteFile(t.Context(), "g", []byte("x")); err != nil {
		t.Error(err)
	}
	c, err := raw(t).ContainerInspect(t.Context(), b.ID())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Mounts {
		if m.Type == "volume" && m.Destination != "/.agentclash" {
			t.Errorf("the image got a volume on the engine's disk at %s", m.Destination)
		}
	}
	if c.State.Health != nil && c.State.Health.Status != "none" && c.State.Health.Status != "" {
		t.Errorf("the image's health check runs: %+v", c.State.Health)
	}
}

func TestMissingImage(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.NoPull = true
	for _, image := range []string{"agentclash-test/no-such-image:1", "Not A Name"} {
		o.Image = image
		p := open(t, o)
		_, err := p.Describe(t.Context(), sandbox.Spec{})
		box, ok := errors.AsType[*sandbox.BoxError](err)
		if !ok || box.Kind != sandbox.Image || !strings.Contains(err.Error(), image) {
			t.Errorf("describe with %q: got %v, want an image error that names it", image, err)
		}
		if _, err := p.Open(t.Context(), sandbox.Spec{}); err == nil {
			t.Errorf("open with %q: got a box", image)
		}
	}
}

func TestStandInForTheDefaultImage(t *testing.T) {
	t.Parallel()
	if !haveStandIn(t) {
		t.Skipf("there is no image %s; make sandbox-image makes it", docker.StandInImage)
	}
	if _, err := raw(t).ImageInspect(t.Context(), docker.DefaultImage); err == nil {
		t.Skipf("%s is here, so nothing stands in for it", docker.DefaultImage)
	}
	o := options(t)
	o.Image, o.NoPull = "", true
	p := open(t, o)
	d, err := p.Describe(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Image != docker.DefaultImage || !strings.Contains(d.Note, docker.StandInImage) || strings.Contains(d.Note, "\n") {
		t.Errorf("got %+v, want one line that says what stands in", d)
	}
	b := box(t, p, sandbox.Spec{})
	if err := b.WriteFile(t.Context(), "test_it.py", []byte("import unittest\nclass T(unittest.TestCase):\n  def test(self): pass\n")); err != nil {
		t.Fatal(err)
	}
	r := run(t, b, sandbox.Command{Argv: []string{"python", "-m", "unittest"}, Timeout: time.Minute})
	if r.ExitCode != 0 || !strings.Contains(r.Stderr.Text, "Ran 1 test") {
		t.Errorf("python -m unittest: got %+v", r)
	}
}
