package pack

import (
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
