package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	imagetypes "github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
)

const (
	// layerAge is how old an image that was made here may get when nothing uses
	// it; whoever needs it again makes it again.
	layerAge = 7 * 24 * time.Hour
	// idleVolumeAge is how old a guest's volume must be for a clean-up that was
	// asked for: one that is younger may be a run's that is just starting.
	idleVolumeAge = time.Hour
)

// keptImage is the label of the image that a person has made by hand.
const keptImage = "sandbox"

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
				Run: tame(b.Labels[labelRun]), Agent: tame(b.Labels[labelAgent]), Case: tame(b.Labels[labelCase]),
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
	current := builtinRef(builtinTar())
	for _, i := range list {
		kind := i.Labels[labelImage]
		used := slices.ContainsFunc(boxes, func(b container.Summary) bool { return b.ImageID == i.ID })
		old := time.Unix(i.Created, 0).Before(c.o.now().Add(-layerAge))
		if used || kind == keptImage || slices.Contains(i.RepoTags, current) || kind != builtinKind && !old {
			continue
		}
		names := slices.DeleteFunc(slices.Clone(i.RepoTags), func(tag string) bool { return strings.HasPrefix(tag, "<none>") })
		if len(names) == 0 {
			names = []string{i.ID}
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

func during(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
