package docker

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	imagetypes "github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"

	"github.com/agentclash/agentclash/sandbox/guestbox"
)

const (
	// layerAge is how old an image that was made here may get when nothing uses
	// it; whoever needs it again makes it again.
	layerAge = 7 * 24 * time.Hour
	// idleVolumeAge is how old a guest's volume must be for a clean-up that was
	// asked for: one that is younger may be a run's that is just starting.
	idleVolumeAge = time.Hour
)

// What tells our images from those that inherit their labels.
var (
	builtinTag = regexp.MustCompile(`^` + builtinRepository + `:[0-9a-f]{12}$`)
	layerKey   = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Garbage is what nobody needs any more, by the names that people know.
type Garbage struct {
	Containers []LeftBox `json:"containers"`
	Volumes    []string  `json:"volumes"`
	Images     []string  `json:"images"`
}

// LeftBox is a container that its process has left behind.
type LeftBox struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Run   string `json:"run_id,omitempty"`
	Agent string `json:"agent,omitempty"`
	Case  string `json:"case_key,omitempty"`
}

// Collect removes what Reap removes, every volume of a guest that is an hour old
// and that no container has, and the images that were made here and that no
// container has: of other builds at once, those with packages after a week. When
// dry it only says what that would be. It returns what is gone, or would be;
// what could not be removed is the error.
func Collect(ctx context.Context, o Options, dry bool) (Garbage, error) {
	cli, _, err := o.connect(ctx)
	if err != nil {
		return Garbage{}, err
	}
	defer cli.Close()
	c := collection{o: o, cli: cli, dry: dry}
	for _, part := range []func(context.Context) error{c.containers, c.volumes, c.images} {
		if err := part(ctx); err != nil {
			c.failed = append(c.failed, err)
		}
	}
	return c.found, errors.Join(c.failed...)
}

type collection struct {
	o      Options
	cli    *client.Client
	dry    bool
	found  Garbage
	failed []error
}

// drop removes a thing unless this is a rehearsal, and tells whether it counts
// as removed.
func (c *collection) drop(remove func() error) bool {
	if c.dry {
		return true
	}
	if err := remove(); err != nil {
		c.failed = append(c.failed, err)
		return false
	}
	return true
}

func (c *collection) containers(ctx context.Context) error {
	all, err := ours(ctx, c.cli)
	if err != nil {
		return err
	}
	for _, b := range all {
		if b.State == stateRemoving || !c.o.abandoned(b.Labels) {
			continue
		}
		if c.drop(func() error { return remove(ctx, c.cli, b.ID) }) {
			c.found.Containers = append(c.found.Containers, LeftBox{
				ID: b.ID[:min(12, len(b.ID))], State: b.State,
				Run: guestbox.Tame(b.Labels[guestbox.LabelRun]), Agent: guestbox.Tame(b.Labels[guestbox.LabelAgent]), Case: guestbox.Tame(b.Labels[guestbox.LabelCase]),
			})
		}
	}
	return nil
}

func (c *collection) volumes(ctx context.Context) error {
	within, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	list, err := c.cli.VolumeList(within, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelGuest), filters.Arg("dangling", "true"))})
	if err != nil {
		return fmt.Errorf("list the volumes of guests: %w", err)
	}
	for _, v := range list.Volumes {
		made, err := time.Parse(time.RFC3339, v.CreatedAt)
		if err != nil || made.After(c.o.now().Add(-idleVolumeAge)) {
			continue
		}
		if c.drop(func() error { return during("remove the volume "+v.Name, c.cli.VolumeRemove(within, v.Name, false)) }) {
			c.found.Volumes = append(c.found.Volumes, v.Name)
		}
	}
	return nil
}

func (c *collection) images(ctx context.Context) error {
	within, stop := context.WithTimeout(ctx, createTime)
	defer stop()
	list, err := c.cli.ImageList(within, imagetypes.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelImage))})
	if err != nil {
		return fmt.Errorf("list the images of sandboxes: %w", err)
	}
	boxes, err := c.cli.ContainerList(within, container.ListOptions{All: true})
	if err != nil {
		return fmt.Errorf("list the containers: %w", err)
	}
	for _, i := range list {
		if slices.ContainsFunc(boxes, func(b container.Summary) bool { return b.ImageID == i.ID }) {
			continue
		}
		names, err := c.idle(within, i)
		if err != nil {
			c.failed = append(c.failed, err)
			continue
		}
		for _, name := range names {
			if c.drop(func() error {
				_, err := c.cli.ImageRemove(within, name, imagetypes.RemoveOptions{PruneChildren: true})
				return during("remove the image "+name, err)
			}) {
				c.found.Images = append(c.found.Images, name)
			}
		}
	}
	return nil
}

// idle are the names of an image that were given here and that nobody needs. Its
// labels alone do not tell: whoever builds on such an image, or gives it a name,
// has an image with the same ones.
func (c *collection) idle(ctx context.Context, i imagetypes.Summary) ([]string, error) {
	var own func(tag string) bool
	var remark string // with which it was made
	switch kind := i.Labels[labelImage]; kind {
	case builtinKind:
		current := builtinRef(builtinTar())
		if slices.ContainsFunc(i.RepoTags, func(tag string) bool { return plainTag(tag) == current }) {
			return nil, nil
		}
		own, remark = func(tag string) bool { return builtinTag.MatchString(plainTag(tag)) }, builtinRemark
	case imageLayer:
		own = func(tag string) bool {
			return layerKey.MatchString(i.Labels[labelLayer]) && plainTag(tag) == layerTag(i.Labels[labelLayer])
		}
		remark = layerRemark
	default:
		return nil, nil
	}
	tags := slices.DeleteFunc(slices.Clone(i.RepoTags), func(tag string) bool { return strings.HasPrefix(tag, "<none>") })
	names := slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return !own(tag) })
	if len(tags) > 0 && len(names) == 0 {
		return nil, nil
	}
	found, err := c.cli.ImageInspect(ctx, i.ID)
	if cerrdefs.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at the image %s: %w", i.ID, err)
	}
	if len(tags) == 0 {
		if found.Comment != remark {
			return nil, nil // what somebody has built on one of ours
		}
		names = []string{i.ID}
	}
	last := found.Metadata.LastTagTime // see layerTouch
	if made := time.Unix(i.Created, 0); last.Before(made) {
		last = made
	}
	if i.Labels[labelImage] == imageLayer && !last.Before(c.o.now().Add(-layerAge)) {
		return nil, nil
	}
	return names, nil
}

// plainTag is a name without what Podman puts before those that have no registry.
func plainTag(tag string) string {
	return strings.TrimPrefix(strings.TrimPrefix(tag, "docker.io/"), "localhost/")
}

func during(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
