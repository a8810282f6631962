package docker_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
)

var copyOptions container.CopyToContainerOptions

// createHelper creates a container that is never started, with a volume in the
// guest's place when one is named.
func createHelper(t testing.TB, image, volume string) string {
	t.Helper()
	host := &container.HostConfig{NetworkMode: "none"}
	if volume != "" {
		host.Mounts = []mount.Mount{{Type: mount.TypeVolume, Source: volume, Target: "/.agentclash"}}
	}
	resp, err := raw(t).ContainerCreate(t.Context(),
		&container.Config{Image: image, Entrypoint: []string{"/x"}, Labels: map[string]string{"dev.agentclash.test": t.Name()}}, host, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeContainer(t, resp.ID) })
	return resp.ID
}

func removeContainer(t testing.TB, id string) {
	t.Helper()
	_ = raw(t).ContainerRemove(context.Background(), id, container.RemoveOptions{Force: true, RemoveVolumes: true})
}

// emptyTar is an archive of one directory.
func emptyTar() []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "workspace/", Mode: 0o755})
	_ = w.Close()
	return b.Bytes()
}

func gzipped(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(emptyTar()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
