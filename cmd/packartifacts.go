package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/pack"
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
