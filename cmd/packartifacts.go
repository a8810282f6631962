package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
)

// withArtifacts gives a pack the bytes of its assets that are stored artifacts, each
// with its length and SHA-256 checked. They are then the pack's own, and counted in
// its digest. One that is missing is refused.
func (a *app) withArtifacts(ctx context.Context, p *pack.Pack) (*pack.Pack, error) {
	wanted := p.Unresolved()
	if len(wanted) == 0 {
		return p, nil
	}
	bytesOf := map[pack.StoredAsset][]byte{}
	var errs []error
	left := pack.MaxAssetsBytes
	for _, asset := range wanted {
		data, err := a.assetBytes(ctx, asset.ArtifactID, min(left, pack.MaxAssetBytes))
		if err != nil {
			f := classify(err)
			f.err = fmt.Errorf("%s: %w", asset.Field, f.err)
			errs = append(errs, f)
			continue
		}
		left -= len(data)
		bytesOf[pack.StoredAsset{ArtifactID: asset.ArtifactID, Path: asset.Path}] = data
	}
	if len(errs) > 0 {
		return nil, joinFailures(errs)
	}
	whole, err := p.WithArtifacts(bytesOf)
	if err != nil {
		return nil, usage("%w", err)
	}
	return whole, nil
}

func (a *app) assetBytes(ctx context.Context, id string, most int) ([]byte, error) {
	found, db, err := a.artifact(ctx, id)
	if f := (*failure)(nil); errors.As(err, &f) && f.status == statusNotFound {
		return nil, f.hint("agentclash artifact upload FILE --type asset, then write its id as artifact_id; agentclash artifact list shows those there are")
	}
	if err != nil {
		return nil, err
	}
	if found.Size > int64(most) {
		return nil, usage("the artifact %s has %d bytes: an asset may have %d MiB, all of a pack %d MiB", found.ID, found.Size, pack.MaxAssetBytes>>20, pack.MaxAssetsBytes>>20)
	}
	b := bounded{most: most}
	err = db.ReadArtifact(ctx, found, &b)
	return b.Bytes(), err
}

// artifact finds an artifact of the workspace.
func (a *app) artifact(ctx context.Context, selector string) (store.Artifact, *store.DB, error) {
	workspace, err := a.workspaceName()
	if err != nil {
		return store.Artifact{}, nil, err
	}
	db, ok, err := a.reading(ctx)
	if err != nil {
		return store.Artifact{}, nil, err
	}
	if ok {
		found, err := db.Artifact(ctx, workspace, strings.TrimSpace(selector))
		if !errors.Is(err, store.ErrNotFound) {
			return found, db, err
		}
	}
	return store.Artifact{}, nil, (&failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("there is no artifact %q in the workspace %s", selector, workspace)}).
		hint("agentclash artifact list")
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
