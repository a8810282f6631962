package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guestbox"
)

// A box's additional packages are a layer over its image: an image of its own,
// built once and found again by what it was made of. To find it is one call of
// the engine.

// The labels of layers, besides labelImage.
const (
	labelLayer    = "dev.agentclash.layer"    // the whole key
	labelBase     = "dev.agentclash.base"     // the image it was built on, as it was asked for
	labelPackages = "dev.agentclash.packages" // what was installed: name=version ...
)

const (
	// imageLayer is the value of labelImage that tells layers from our other
	// images.
	imageLayer = "layer"
	layerRepo  = "agentclash-layer"
	// layerRemark is the comment of layers, which no image that is built on one has.
	layerRemark = "packages for agentclash sandboxes"
	// layerRecipe is part of a layer's key. Whoever changes how layers are built
	// changes it, so that older ones are not taken for new ones.
	layerRecipe = "1"
	maxPackages = 200
	// layerTouch is how old the mark of a layer's last use may get before it is
	// set anew. The engine keeps it: the time at which the tag was last given.
	layerTouch = 24 * time.Hour
)

// packageName is what apt-get is told: nothing that it would take for an
// option, a pattern, or the wish to remove something (a trailing minus).
var packageName = regexp.MustCompile(`^[a-z0-9][a-z0-9.+-]*[a-z0-9.+]$`)

func packageNames(given []string) ([]string, error) {
	names := slices.Compact(slices.Sorted(slices.Values(given)))
	if len(names) > maxPackages {
		return nil, fmt.Errorf("%w: %d additional packages: at most %d are installed; make an image that has them", sandbox.ErrSpec, len(names), maxPackages)
	}
	for _, n := range names {
		if len(n) > 128 || !packageName.MatchString(n) {
			return nil, fmt.Errorf("%w: additional package %q is not the name of a Debian package", sandbox.ErrSpec, guestbox.Tame(n))
		}
	}
	return names, nil
}

// layer returns the image with the packages over the base, and builds it where
// the engine lacks it. The caller holds imageTurn, so that this process builds
// one at a time and none twice.
func (p *Provider) layer(ctx context.Context, base image, names []string) (image, error) {
	sum := sha256.Sum256([]byte(base.id + "\n" + strings.Join(names, "\n") + "\nrecipe " + layerRecipe + "\nlinux/" + p.engine.Arch))
	l := layer{base: base, names: names, key: hex.EncodeToString(sum[:])}
	l.tag = layerTag(l.key)
	img, found, err := p.findLayer(ctx, l)
	if found || err != nil {
		return img, err
	}
	if err := p.buildLayer(ctx, l); err != nil {
		return image{}, err
	}
	img, found, err = p.findLayer(ctx, l)
	if err == nil && !found {
		err = p.engineError(ctx, fmt.Errorf("the layer %s was built and is gone", l.tag))
	}
	return img, err
}

// layerTag is the name of the layer with a key.
func layerTag(key string) string { return layerRepo + ":" + key[:16] }

// layer is an image to be found or built.
type layer struct {
	base  image
	names []string // sorted
	key   string   // 64 hex digits
	tag   string
}

// findLayer looks for a layer that this or another process has built.
func (p *Provider) findLayer(ctx context.Context, l layer) (image, bool, error) {
	within, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	found, err := p.cli.ImageInspect(within, l.tag)
	if cerrdefs.IsNotFound(err) {
		return image{}, false, nil
	}
	if err != nil {
		return image{}, false, p.engineError(ctx, fmt.Errorf("look for the layer %s: %w", l.tag, err))
	}
	if found.Config == nil || found.Config.Labels[labelLayer] != l.key {
		return image{}, false, nil // somebody else's image under our name: it loses it
	}
	img := l.base
	img.id, img.packages = found.ID, found.Config.Labels[labelPackages]
	img.env, img.volumes = found.Config.Env, volumesOf(found.Config.Volumes)
	if p.o.now().Sub(found.Metadata.LastTagTime) > layerTouch {
		_ = p.cli.ImageTag(within, found.ID, l.tag) // whoever removes unused layers looks at it; that is all
	}
	return img, true, nil
}

// imageError is a failure that a person has to mend: an image, or the packages
// for it.
func imageError(format string, args ...any) error {
	return &sandbox.BoxError{Kind: sandbox.Image, Err: fmt.Errorf(format, args...)}
}
