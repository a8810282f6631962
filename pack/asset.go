package pack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

const (
	// MaxAssetBytes is how long one asset may be.
	MaxAssetBytes = 16 << 20
	// MaxAssetsBytes is how long all assets of a pack may be together.
	MaxAssetsBytes = 64 << 20
)

// Assets returns the bytes of the pack's assets by path, slash-separated
// and relative to the pack file. The bytes must not be changed.
func (p *Pack) Assets() map[string][]byte { return maps.Clone(p.assets) }

// StoredAsset is an asset whose bytes are a stored artifact's.
type StoredAsset struct {
	Field      string // of its artifact_id, as in [Problem]
	ArtifactID string
	Path       string // clean
}

// Unresolved are the assets that are stored artifacts whose bytes the pack does not
// have so far, those of one artifact and path once.
func (p *Pack) Unresolved() []StoredAsset {
	var list []StoredAsset
	seen := map[StoredAsset]bool{}
	for _, a := range p.everyAsset() {
		name, bad := assetPath(a.Path)
		_, has := p.assets[name]
		one := StoredAsset{ArtifactID: a.ArtifactID, Path: name}
		if a.ArtifactID == "" || bad != "" || has && p.resolved[one] || seen[one] {
			continue
		}
		seen[one] = true
		one.Field = a.field + ".artifact_id"
		list = append(list, one)
	}
	return list
}

// WithArtifacts is the pack with the bytes of stored artifacts, by [StoredAsset]
// without its field. Two contents for one path are refused. The pack itself is not
// changed.
func (p *Pack) WithArtifacts(bytesOf map[StoredAsset][]byte) (*Pack, error) {
	q := *p
	q.assets, q.resolved = maps.Clone(p.assets), maps.Clone(p.resolved)
	if q.assets == nil {
		q.assets = map[string][]byte{}
	}
	if q.resolved == nil {
		q.resolved = map[StoredAsset]bool{}
	}
	for _, a := range p.Unresolved() {
		one := StoredAsset{ArtifactID: a.ArtifactID, Path: a.Path}
		data, ok := bytesOf[one]
		own, taken := q.assets[a.Path]
		switch {
		case !ok:
			return nil, fmt.Errorf("%s: the bytes of the artifact %s are missing", a.Field, a.ArtifactID)
		case taken && !bytes.Equal(own, data):
			return nil, fmt.Errorf("%s: the pack has another file at %q", a.Field, a.Path)
		}
		q.assets[a.Path], q.resolved[one] = data, true
	}
	size := 0
	for _, data := range q.assets {
		size += len(data)
	}
	if size > MaxAssetsBytes {
		return nil, fmt.Errorf("the pack's assets have %d bytes, and may have %d", size, MaxAssetsBytes)
	}
	q.index = newIndex(&q)
	return &q, nil
}

// located is an asset and the field it stands at.
type located struct {
	Asset
	field string
}

// everyAsset returns the assets of version, challenges and cases.
func (p *Pack) everyAsset() []located {
	var all []located
	collect := func(field string, assets []Asset) {
		for i, a := range assets {
			all = append(all, located{a, fmt.Sprintf("%s[%d]", field, i)})
		}
	}
	collect("version.assets", p.Version.Assets)
	for i, c := range p.Challenges {
		collect(fmt.Sprintf("challenges[%d].assets", i), c.Assets)
	}
	for i, s := range p.InputSets {
		for j, c := range s.Cases {
			collect(fmt.Sprintf("input_sets[%d].cases[%d].assets", i, j), c.Assets)
		}
	}
	return all
}

// escapes says whether a path is absolute or has a ".." in it, wherever that
// leads.
func escapes(name string) bool {
	return path.IsAbs(name) || slices.Contains(strings.Split(name, "/"), "..")
}

// assetPath is the one form of an asset's path: clean, slash-separated and
// below the pack file. The message says why a path is refused.
func assetPath(name string) (clean, message string) {
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7F }):
		return "", "holds a control character"
	case strings.Contains(name, `\`):
		return "", "must be written with forward slashes"
	case escapes(name):
		return "", "must be relative and stay inside the directory of the pack file"
	}
	clean = path.Clean(name)
	if clean == "." {
		return "", "must name a file"
	}
	return clean, ""
}

// readAsset reads one regular file, at most limit bytes of it. The message is
// for the author of the pack.
func readAsset(files fs.FS, name string, limit int64) (data []byte, message string) {
	if files == nil {
		return nil, "cannot be read: the pack was not loaded from a directory"
	}
	data, err := readRegular(files, name, limit+1)
	if err == nil && int64(len(data)) > limit {
		err = errTooLarge
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return data, ""
}

// leadsOut is the message about a link that leaves the pack's directory.
const leadsOut = "must stay inside the directory of the pack file; a link leads out of it"

var errTooLarge = errors.New("too large")

// readRegular reads at most limit bytes of a regular file: to open a pipe could
// wait for ever.
func readRegular(files fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrNotFile}
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, limit))
}

func unreadable(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "names a file that does not exist"
	case errors.Is(err, ErrNotFile):
		return "must be a regular file"
	case errors.Is(err, errTooLarge):
		return fmt.Sprintf("is too large: an asset may have %d MiB, all of a pack %d MiB", MaxAssetBytes>>20, MaxAssetsBytes>>20)
	}
	// An os.Root has no value to compare this error with.
	if strings.HasSuffix(err.Error(), "path escapes from parent") {
		return leadsOut
	}
	// The path in the error is the field's own value.
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return "cannot be read: " + err.Error()
}
