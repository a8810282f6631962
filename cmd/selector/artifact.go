package selector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
)

// WithArtifacts gives a pack the bytes of its assets that are stored artifacts, each
// with its length and SHA-256 checked. They are then the pack's own, and counted in
// its digest. One that is missing is refused.
func WithArtifacts(ctx context.Context, a *cli.App, p *pack.Pack) (*pack.Pack, error) {
	wanted := p.Unresolved()
	if len(wanted) == 0 {
		return p, nil
	}
	bytesOf := map[pack.StoredAsset][]byte{}
	var errs []error
	left := pack.MaxAssetsBytes
	for _, asset := range wanted {
		data, err := assetBytes(ctx, a, asset.ArtifactID, min(left, pack.MaxAssetBytes))
		if err != nil {
			f := cli.Classify(err)
			f.Err = fmt.Errorf("%s: %w", asset.Field, f.Err)
			errs = append(errs, f)
			continue
		}
		left -= len(data)
		bytesOf[pack.StoredAsset{ArtifactID: asset.ArtifactID, Path: asset.Path}] = data
	}
	if len(errs) > 0 {
		return nil, cli.JoinFailures(errs)
	}
	whole, err := p.WithArtifacts(bytesOf)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	return whole, nil
}

func assetBytes(ctx context.Context, a *cli.App, id string, most int) ([]byte, error) {
	found, db, err := Artifact(ctx, a, id)
	if f := (*cli.Failure)(nil); errors.As(err, &f) && f.Status == cli.StatusNotFound {
		return nil, f.Hint("agentclash artifact upload FILE --type asset, then write its id as artifact_id; agentclash artifact list shows those there are")
	}
	if err != nil {
		return nil, err
	}
	if found.Size > int64(most) {
		return nil, cli.Usage("the artifact %s has %d bytes: an asset may have %d MiB, all of a pack %d MiB", found.ID, found.Size, pack.MaxAssetBytes>>20, pack.MaxAssetsBytes>>20)
	}
	b := bounded{most: most}
	err = db.ReadArtifact(ctx, found, &b)
	return b.Bytes(), err
}

// Artifact finds an artifact of the workspace.
func Artifact(ctx context.Context, a *cli.App, selector string) (store.Artifact, *store.DB, error) {
	db, workspace, err := a.ReadingIn(ctx)
	if err != nil {
		return store.Artifact{}, nil, err
	}
	if db != nil {
		found, err := db.Artifact(ctx, workspace, strings.TrimSpace(selector))
		if !errors.Is(err, store.ErrNotFound) {
			return found, db, err
		}
	}
	return store.Artifact{}, nil, (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("there is no artifact %q in the workspace %s", selector, workspace)}).
		Hint("agentclash artifact list")
}

// bounded is a buffer that takes at most so many bytes.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, fmt.Errorf("it has more than %d bytes", b.most)
	}
	return b.Buffer.Write(p)
}

// The visibilities of an artifact. Both are kept by the one user of a store; pages that
// are made to be shown to others leave private ones out.
const (
	PrivateVisibility   = "private"
	WorkspaceVisibility = "workspace"
)

// ArtifactName is the key of an artifact's metadata with the name that the file had.
const ArtifactName = "original_filename"

// ViewArtifact is an artifact as documents show it.
func ViewArtifact(s store.Artifact) view.Artifact {
	var fields map[string]any
	_ = json.Unmarshal(s.Metadata, &fields) // the store has seen that it is JSON; what is no object has no name
	name, _ := fields[ArtifactName].(string)
	return view.Artifact{
		ID: s.ID, RunID: s.RunID, RunAgentID: s.RunAgentID, Type: s.Type, ContentType: s.ContentType, Visibility: s.Visibility, Name: name,
		Size: s.Size, SHA256: s.SHA256, Metadata: s.Metadata, CreatedAt: s.CreatedAt,
	}
}
