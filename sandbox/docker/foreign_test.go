package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	imagetypes "github.com/docker/docker/api/types/image"

	"github.com/agentclash/agentclash/sandbox"
)

// otherArch is an architecture that an engine's machine is not of.
func otherArch(arch string) string {
	if arch == "amd64" {
		return "arm64"
	}
	return "amd64"
}

// foreignProgram is the guest as it would begin for another architecture, which
// is as far as a machine reads that is of this one.
func foreignProgram(t *testing.T, arch string) []byte {
	t.Helper()
	b, err := agent()
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Clone(b)
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]
	binary.LittleEndian.PutUint16(b[18:], uint16(machine)) // e_machine
	return b
}

func archiveOf(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// loadImage makes an image of one layer for an architecture, as `docker load`
// does, and removes it with the test.
func loadImage(t *testing.T, arch string, files map[string][]byte) string {
	t.Helper()
	c := raw(t)
	layer := archiveOf(t, files)
	sum := sha256.Sum256(layer)
	digest := hex.EncodeToString(sum[:])
	config, err := json.Marshal(map[string]any{
		"architecture": arch, "os": "linux", "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ref := "agentclash-test:" + arch + "-" + digest[:12]
	manifest, err := json.Marshal([]any{map[string]any{"Config": "config.json", "RepoTags": []string{ref}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		t.Fatal(err)
	}
	archive := archiveOf(t, map[string][]byte{"manifest.json": manifest, "config.json": config, "layer.tar": layer})
	loaded, err := c.ImageLoad(t.Context(), bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Body.Close()
	if out, err := io.ReadAll(loaded.Body); err != nil || strings.Contains(string(out), "error") {
		t.Fatalf("load: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		await(t, "the image is removed", func() bool {
			_, err := c.ImageRemove(context.Background(), ref, imagetypes.RemoveOptions{Force: true})
			return err == nil
		})
	})
	return ref
}

// TestImageForAnotherMachine: an image whose programs cannot run is nobody's
// failure but the image's.
func TestImageForAnotherMachine(t *testing.T) {
	t.Parallel()
	o := options(t)
	arch := otherArch(needEngine(t).Arch)
	o.Image = loadImage(t, arch, map[string][]byte{"bin/sh": foreignProgram(t, arch)})
	p := open(t, o)
	d, err := p.Describe(t.Context(), sandbox.Spec{})
	if err != nil || !strings.Contains(d.Note, "is made for "+arch) {
		t.Errorf("got %v and the note %q, want one that says what it is made for", err, d.Note)
	}
	b, err := p.Open(t.Context(), sandbox.Spec{})
	if err == nil { // an engine that emulates
		if r := run(t, b, sandbox.Command{Argv: []string{"/bin/sh", "-c", ":"}}); r.StartError != "" {
			t.Errorf("a box was opened whose programs do not run: %+v", r)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		return
	}
	box, ok := errors.AsType[*sandbox.BoxError](err)
	if !ok || box.Kind != sandbox.Image || !strings.Contains(err.Error(), "name an image for this machine") {
		t.Errorf("got %v, want an image error with what to do", err)
	}
}

// TestImageWithNothing: a box needs no program of its image; one that is asked
// for is told not to be there.
func TestImageWithNothing(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Image = loadImage(t, needEngine(t).Arch, map[string][]byte{"readme": []byte("nothing here")})
	b := box(t, open(t, o), sandbox.Spec{})
	if err := b.WriteFile(t.Context(), "dir/f", []byte("x")); err != nil {
		t.Error(err)
	}
	if f, err := b.ReadFile(t.Context(), "dir/f", 10); err != nil || string(f.Data) != "x" {
		t.Errorf("got %q, %v", f.Data, err)
	}
	if r := run(t, b, sandbox.Command{Argv: []string{"/bin/sh", "-c", ":"}}); r.StartError == "" || r.ExitCode != -1 {
		t.Errorf("a shell that is not there: got %+v", r)
	}
}
