package pack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"strings"
)

const (
	// MaxAssetBytes is how long one asset may be.
	MaxAssetBytes = 16 << 20
	// MaxAssetsBytes is how long all assets of a pack may be together.
	MaxAssetsBytes = 64 << 20
)

// Assets returns the bytes of the pack's local assets by path, slash-separated
// and relative to the pack file. The bytes must not be changed.
func (p *Pack) Assets() map[string][]byte { return maps.Clone(p.assets) }

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

// assetPath is the one form of an asset's path: clean, slash-separated and
// below the pack file. The message says why a path is refused.
func assetPath(name string) (clean, message string) {
	switch {
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7F }):
		return "", "holds a control character"
	case strings.Contains(name, `\`):
		return "", "must be written with forward slashes"
	case path.IsAbs(name):
		return "", "must be relative to the pack file"
	}
	for segment := range strings.SplitSeq(name, "/") {
		if segment == ".." {
			return "", "must stay inside the directory of the pack file"
		}
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
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, unreadable(err)
	}
	if !info.Mode().IsRegular() {
		return nil, "must be a regular file"
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, unreadable(err)
	}
	defer func() { _ = f.Close() }()
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, unreadable(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Sprintf("is too large: an asset may have %d MiB, all of a pack %d MiB",
			MaxAssetBytes>>20, MaxAssetsBytes>>20)
	}
	return data, ""
}

func unreadable(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "names a file that does not exist"
	}
	// The path in the error is the field's own value.
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return "cannot be read: " + err.Error()
}
