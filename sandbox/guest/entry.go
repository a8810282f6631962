package guest

import (
	"encoding/binary"
	"errors"
	"io/fs"
)

// Entry is one file of a listing.
type Entry struct {
	Path    string // absolute
	Size    int64
	Dir     bool
	Symlink bool
	Regular bool
}

const (
	entryHeader = 1 + 8 + 2
	// maxListBytes bounds the paths of a listing.
	maxListBytes = 16 << 20
)

// appendEntry encodes an entry: flags, size, length of the path, path. Paths
// are bytes, so that any name a file system holds comes through.
func appendEntry(buf []byte, e Entry) []byte {
	var flags byte
	for i, set := range []bool{e.Dir, e.Symlink, e.Regular} {
		if set {
			flags |= 1 << i
		}
	}
	buf = append(buf, flags)
	buf = binary.BigEndian.AppendUint64(buf, uint64(e.Size))
	buf = binary.BigEndian.AppendUint16(buf, uint16(len(e.Path)))
	return append(buf, e.Path...)
}

var errEntry = errors.New("a listing that cannot be read")

// decodeEntries reads what appendEntry wrote, at most limit entries of it.
func decodeEntries(buf []byte, limit int) ([]Entry, error) {
	var all []Entry
	for len(buf) > 0 {
		if len(buf) < entryHeader || len(all) == limit {
			return nil, errEntry
		}
		flags, size, n := buf[0], binary.BigEndian.Uint64(buf[1:]), int(binary.BigEndian.Uint16(buf[9:]))
		buf = buf[entryHeader:]
		if n > len(buf) || flags > 7 || int64(size) < 0 {
			return nil, errEntry
		}
		all = append(all, Entry{
			Path: string(buf[:n]), Size: int64(size),
			Dir: flags&1 != 0, Symlink: flags&2 != 0, Regular: flags&4 != 0,
		})
		buf = buf[n:]
	}
	return all, nil
}

func entryOf(path string, st fs.FileInfo) Entry {
	return Entry{
		Path: path, Size: st.Size(), Dir: st.IsDir(),
		Symlink: st.Mode()&fs.ModeSymlink != 0, Regular: st.Mode().IsRegular(),
	}
}
