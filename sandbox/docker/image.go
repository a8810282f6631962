package docker

import (
	"archive/tar"
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/container"
	imagetypes "github.com/docker/docker/api/types/image"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guestbox"
)

// image is an image the engine has.
type image struct {
	ref     string // as asked for
	id      string
	env     []string
	user    string // for the engine: as the image or the options say
	uid     int    // what that means in numbers
	gid     int
	volumes map[string]bool
	note    string
	foreign bool // made for another kind of processor than the engine's
	// packages are what a layer over the image installed, name=version ...
	packages string
}

const (
	// pullStall is how long a pull may show no progress.
	pullStall = 2 * time.Minute
	// maxPasswd bounds what is read of an image's /etc/passwd.
	maxPasswd = 1 << 20
)

// image resolves the provider's image once, and the layer with the packages
// over it; everyone else waits for that. A failure is not kept: the next box
// tries again.
func (p *Provider) image(ctx context.Context, packages []string) (image, error) {
	names, err := packageNames(packages)
	if err != nil {
		return image{}, err
	}
	select {
	case p.imageTurn <- struct{}{}:
		defer func() { <-p.imageTurn }()
	case <-ctx.Done():
		return image{}, ctx.Err()
	}
	base, known := p.resolved[""]
	if !known {
		if base, err = p.resolve(ctx, p.o.image()); err != nil {
			return image{}, err
		}
		p.resolved[""] = base
	}
	if len(names) == 0 {
		return base, nil
	}
	over := strings.Join(names, " ")
	img, known := p.resolved[over]
	if !known {
		if img, err = p.layer(ctx, base, names); err != nil {
			return image{}, err
		}
		p.resolved[over] = img
	}
	return img, nil
}

func (p *Provider) resolve(ctx context.Context, ref string) (image, error) {
	if _, err := reference.ParseAnyReference(ref); err != nil {
		return image{}, &sandbox.BoxError{Kind: sandbox.Image, Err: fmt.Errorf("%q is no name of an image: %w", ref, err)}
	}
	if ref == BuiltinImage {
		name, err := p.importBuiltin(ctx)
		if err != nil {
			return image{}, p.engineError(ctx, err)
		}
		return p.inspect(ctx, ref, name)
	}
	img, err := p.inspect(ctx, ref, ref)
	if !cerrdefs.IsNotFound(err) {
		return img, err
	}
	why := errors.New("it is not here, and pulling is off")
	if !p.o.NoPull {
		if why = p.pull(ctx, ref); why == nil {
			return p.inspect(ctx, ref, ref)
		}
		if ctx.Err() != nil {
			return image{}, ctx.Err()
		}
	}
	if ref == DefaultImage {
		img, err := p.inspect(ctx, ref, StandInImage)
		if err == nil {
			img.note = fmt.Sprintf("%s cannot be pulled (%s), so %s stands in", ref, firstLine(why.Error()), StandInImage)
			return img, nil
		}
	}
	return image{}, &sandbox.BoxError{Kind: sandbox.Image, Err: fmt.Errorf(
		"%q cannot be used: %s; pull it (docker pull %s), name another, or make one that needs no registry (make sandbox-image makes %s, %q is always there)",
		ref, firstLine(why.Error()), ref, StandInImage, BuiltinImage)}
}

// inspect looks an image up by name. An unknown one is a not-found error of the
// engine's, everything else a BoxError.
func (p *Provider) inspect(ctx context.Context, ref, name string) (image, error) {
	within, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	found, err := p.cli.ImageInspect(within, name)
	if cerrdefs.IsNotFound(err) {
		return image{}, err
	}
	if err != nil {
		return image{}, p.engineError(ctx, fmt.Errorf("look for the image %q: %w", ref, err))
	}
	if found.Os != "" && found.Os != "linux" {
		return image{}, &sandbox.BoxError{Kind: sandbox.Image, Err: fmt.Errorf("%q is for %s, not Linux", ref, found.Os)}
	}
	img := image{ref: ref, id: found.ID, user: p.o.User}
	if found.Architecture != "" && found.Architecture != p.engine.Arch {
		img.foreign = true
		img.note = fmt.Sprintf("%s is made for %s and the engine's machine is %s: its programs can only run emulated", ref, found.Architecture, p.engine.Arch)
	}
	if found.Config != nil {
		img.env, img.volumes = found.Config.Env, volumesOf(found.Config.Volumes)
		if img.user == "" {
			img.user = found.Config.User
		}
	}
	if img.uid, img.gid, err = p.user(ctx, img); err != nil {
		return image{}, err
	}
	return img, nil
}

// user finds the numbers behind the user a box runs as, which its workspace
// must belong to.
func (p *Provider) user(ctx context.Context, img image) (uid, gid int, err error) {
	if img.user == "" {
		return 0, 0, nil
	}
	name, group, _ := strings.Cut(img.user, ":")
	uid, uerr := strconv.Atoi(name)
	gid, gerr := strconv.Atoi(group)
	if uerr == nil && (gerr == nil || group == "") {
		return uid, gid, nil
	}
	passwd, err := p.fileOf(ctx, img, "/etc/passwd")
	if err != nil {
		return 0, 0, &sandbox.BoxError{Kind: sandbox.Image, Err: fmt.Errorf("%q runs as the user %q, whose number cannot be found: %w", img.ref, img.user, err)}
	}
	for line := range strings.Lines(string(passwd)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 4 || f[0] != name && f[2] != name {
			continue
		}
		u, err1 := strconv.Atoi(f[2])
		g, err2 := strconv.Atoi(f[3])
		if err1 == nil && err2 == nil {
			return u, g, nil
		}
	}
	return 0, 0, &sandbox.BoxError{Kind: sandbox.Image, Err: fmt.Errorf("%q runs as the user %q, whom its /etc/passwd does not know", img.ref, img.user)}
}

// fileOf reads a file of an image, by way of a container that is never started.
func (p *Provider) fileOf(ctx context.Context, img image, name string) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, createTime)
	defer stop()
	helper, err := p.cli.ContainerCreate(ctx,
		&container.Config{Image: img.id, Entrypoint: []string{guestPath}, Labels: p.ownLabels(10 * time.Minute)},
		&container.HostConfig{NetworkMode: "none"}, nil, nil, "")
	if err != nil {
		return nil, err
	}
	defer p.discard(ctx, helper.ID, func() {})
	body, _, err := p.cli.CopyFromContainer(ctx, helper.ID, name)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	r := tar.NewReader(body)
	h, err := r.Next()
	if err != nil {
		return nil, err
	}
	if h.Typeflag != tar.TypeReg {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return io.ReadAll(io.LimitReader(r, maxPasswd))
}

// pullMessage is a line of what the engine says while it pulls or imports.
type pullMessage struct {
	Status   string `json:"status"`
	ID       string `json:"id"`
	Error    string `json:"error"`
	Progress struct {
		Current int64 `json:"current"`
		Total   int64 `json:"total"`
	} `json:"progressDetail"`
}

// follow reads such lines to their end. An error among them is the error.
func follow(r io.Reader, each func(pullMessage)) error {
	d := json.NewDecoder(bufio.NewReader(r))
	for {
		var m pullMessage
		err := d.Decode(&m)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if m.Error != "" {
			return errors.New(m.Error)
		}
		each(m)
	}
}

func (p *Provider) pull(ctx context.Context, ref string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := p.checkDisk(); err != nil {
		return err
	}
	patience := cmp.Or(p.o.PullPatience, pullStall)
	stall := time.AfterFunc(patience, func() { cancel(fmt.Errorf("no progress for %s", patience)) })
	defer stall.Stop()
	p.o.progress("pulling " + ref)
	body, err := p.cli.ImagePull(ctx, ref, imagetypes.PullOptions{})
	if err == nil {
		defer body.Close()
		report := pullReport{ref: ref, say: p.o.progress, now: p.o.now, loaded: layers{}, unpacked: layers{}}
		err = follow(body, func(m pullMessage) {
			stall.Reset(patience)
			report.add(m)
		})
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return explainDisk(err)
}

// layers are how far each layer of an image is: bytes, of how many.
type layers map[string][2]int64

func (l layers) sum() (have, all int64) {
	for _, n := range l {
		have, all = have+n[0], all+n[1]
	}
	return have, all
}

// pullReport sums the layers of a pull up and speaks once a second at most.
type pullReport struct {
	ref              string
	say              func(string)
	now              func() time.Time
	loaded, unpacked layers
	spoke            time.Time
}

func (r *pullReport) add(m pullMessage) {
	done := [2]int64{m.Progress.Current, m.Progress.Total}
	switch {
	case m.Progress.Total <= 0:
		return
	case m.Status == "Downloading":
		r.loaded[m.ID] = done
	case m.Status == "Extracting":
		r.unpacked[m.ID] = done
		r.loaded[m.ID] = [2]int64{done[1], done[1]}
	default:
		return
	}
	now := r.now()
	if now.Sub(r.spoke) < time.Second {
		return
	}
	r.spoke = now
	have, all := r.loaded.sum()
	line := fmt.Sprintf("pulling %s: %d of %d MB", r.ref, have/1e6, all/1e6)
	if out, _ := r.unpacked.sum(); out > 0 {
		line += fmt.Sprintf(", %d of them unpacked", out/1e6)
	}
	r.say(line)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return guestbox.Tame(line)
}
