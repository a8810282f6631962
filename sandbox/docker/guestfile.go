package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
)

// guestFile is the guest as the engine has it: in a volume named by its
// content, so that one is never mistaken for another.
type guestFile struct {
	volume string
	size   int64
}

// guests finds out which guest there is, once.
type guests struct {
	mu   sync.Mutex
	file guestFile
}

// guest reads the guest to learn its name. The bytes are let go: they are
// needed once more only where the engine lacks them.
func (p *Provider) guest() (guestFile, error) {
	p.guests.mu.Lock()
	defer p.guests.mu.Unlock()
	if p.guests.file.volume != "" {
		return p.guests.file, nil
	}
	b, err := p.guestBytes()
	if err != nil {
		return guestFile{}, err
	}
	sum := sha256.Sum256(b)
	p.guests.file = guestFile{
		volume: "agentclash-guest-" + hex.EncodeToString(sum[:6]) + "-" + p.engine.Arch, size: int64(len(b)),
	}
	return p.guests.file, nil
}

func (p *Provider) guestBytes() ([]byte, error) {
	if p.o.Guest == nil {
		return nil, errors.New("no guest executable was given")
	}
	b, err := p.o.Guest(p.engine.Arch)
	if err != nil {
		return nil, fmt.Errorf("get the guest for %s: %w", p.engine.Arch, err)
	}
	if err := checkGuest(b, p.engine.Arch); err != nil {
		return nil, fmt.Errorf("the guest for %s: %w", p.engine.Arch, err)
	}
	return b, nil
}

// checkGuest refuses what could not run in every image of the architecture.
func checkGuest(b []byte, arch string) error {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("it is no Linux executable: %w", err)
	}
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]
	if f.Machine != machine {
		return fmt.Errorf("it is made for %s", f.Machine)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("it is linked dynamically: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// deliver puts the guest into its volume, by way of a container that is never
// started: it needs no path that the engine and this machine share.
func (p *Provider) deliver(ctx context.Context, img image, g guestFile) error {
	b, err := p.guestBytes()
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, deliverTime)
	defer stop()
	_, err = p.cli.VolumeCreate(ctx, volume.CreateOptions{Name: g.volume, Labels: map[string]string{labelGuest: g.volume}})
	if err != nil {
		return fmt.Errorf("create the volume %s: %w", g.volume, err)
	}
	helper, err := p.cli.ContainerCreate(ctx,
		&container.Config{Image: img.id, Entrypoint: []string{guestPath}, Labels: p.ownLabels(10 * time.Minute)},
		&container.HostConfig{
			NetworkMode: "none",
			Mounts: []mount.Mount{{
				Type: mount.TypeVolume, Source: g.volume, Target: guestDir, VolumeOptions: &mount.VolumeOptions{NoCopy: true},
			}},
		}, nil, nil, "")
	if err != nil {
		return fmt.Errorf("create a container to fill %s: %w", g.volume, err)
	}
	defer p.discard(ctx, helper.ID, func() {})
	if err := p.cli.CopyToContainer(ctx, helper.ID, guestDir, guestTar(b), container.CopyToContainerOptions{}); err != nil {
		return fmt.Errorf("fill the volume %s: %w", g.volume, err)
	}
	_, err = removeOldVolumes(ctx, p.cli, p.o.now().Add(-time.Hour), g.volume)
	return err
}

// guestTar is the guest as an archive of one file.
func guestTar(b []byte) io.Reader {
	var head bytes.Buffer
	w := tar.NewWriter(&head)
	_ = w.WriteHeader(&tar.Header{Name: "guest", Mode: 0o755, Size: int64(len(b)), ModTime: time.Unix(0, 0)})
	padding := (512-len(b)%512)%512 + 2*512 // to a whole block, and two of nothing to end it
	return io.MultiReader(&head, bytes.NewReader(b), bytes.NewReader(make([]byte, padding)))
}

// removeOldVolumes removes the guests of other builds that were made before
// then. The engine keeps those in use.
func removeOldVolumes(ctx context.Context, cli *client.Client, then time.Time, keep string) (int, error) {
	list, err := cli.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelGuest))})
	if err != nil {
		return 0, fmt.Errorf("list the volumes of guests: %w", err)
	}
	n := 0
	for _, v := range list.Volumes {
		made, err := time.Parse(time.RFC3339, v.CreatedAt)
		if err != nil || v.Name == keep || made.After(then) {
			continue
		}
		if cli.VolumeRemove(ctx, v.Name, false) == nil {
			n++
		}
	}
	return n, nil
}
