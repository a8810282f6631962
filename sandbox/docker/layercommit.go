package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"

	"github.com/agentclash/agentclash/sandbox/guestbox"
)

// maxVersions bounds what is kept of the installed versions.
const maxVersions = 48 << 10

// commit makes the image. What the container was started with is replaced by
// what the base image says, and its labels by the layer's own: a container that
// somebody makes of it must not look like one of ours.
func (p *Provider) commit(ctx context.Context, w *workshop, installed map[string]string) error {
	ctx, stop := context.WithTimeout(ctx, commitTime)
	defer stop()
	base, err := p.cli.ImageInspect(ctx, w.layer.base.id)
	if err != nil {
		return fmt.Errorf("look at the image %q again: %w", w.layer.base.ref, err)
	}
	changes := []string{"ENTRYPOINT []", "CMD []"}
	if c := base.Config; c != nil {
		changes = []string{"ENTRYPOINT " + jsonWords(c.Entrypoint), "CMD " + jsonWords(c.Cmd)}
		if c.User != "" {
			changes = append(changes, "USER "+quoted(c.User))
		}
		if c.WorkingDir != "" {
			changes = append(changes, "WORKDIR "+quoted(c.WorkingDir))
		}
	}
	labels := map[string]string{
		labelImage: imageLayer, labelLayer: w.layer.key, labelBase: guestbox.Tame(w.layer.base.ref), labelPackages: versionList(installed),
		guestbox.LabelOwner: "", guestbox.LabelHost: "", guestbox.LabelExpires: "", labelMemory: "",
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		changes = append(changes, "LABEL "+key+"="+quoted(labels[key]))
	}
	_, err = p.cli.ContainerCommit(ctx, w.id, container.CommitOptions{
		Reference: w.layer.tag, Comment: layerRemark, Changes: changes,
	})
	if err != nil {
		return fmt.Errorf("keep the image with the packages: %w", err)
	}
	return nil
}

func versionList(installed map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(installed)) {
		if b.Len() > maxVersions {
			b.WriteString(" ...")
			break
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(name + "=" + installed[name])
	}
	return b.String()
}

func jsonWords(words []string) string {
	b, err := json.Marshal(slices.Concat([]string{}, words))
	if err != nil {
		return "[]" // strings always encode
	}
	return string(b)
}

// quoted is a value in the engine's language for images.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "\n", " ").Replace(s) + `"`
}
