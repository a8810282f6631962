package query

import (
	"bytes"
	"encoding/binary"
)

// The write-ahead log is applied here rather than by SQLite, which would want
// it as a file beside the database. The format is https://sqlite.org/walformat.html:
// a header, then frames of a page each; a frame that names a size ends a
// transaction. What comes after the last whole one never happened.
const (
	walMagic    = 0x377f0682 // its last bit: checksums are big-endian
	walHeader   = 32
	frameHeader = 24
)

// database is the content of a database file with its log applied, in the form
// of one that has no log.
func database(file, wal []byte) ([]byte, error) {
	file, err := applyWAL(file, wal)
	if err != nil {
		return nil, err
	}
	// the versions of the format for writing and reading: 2 is "has a log"
	if len(file) >= 100 && bytes.HasPrefix(file, []byte("SQLite format 3\x00")) && file[18] == 2 && file[19] == 2 {
		file[18], file[19] = 1, 1
	}
	return file, nil
}

func applyWAL(file, wal []byte) ([]byte, error) {
	if len(wal) < walHeader {
		return file, nil
	}
	magic := binary.BigEndian.Uint32(wal)
	order := binary.ByteOrder(binary.LittleEndian)
	if magic&1 == 1 {
		order = binary.BigEndian
	}
	page := int(binary.BigEndian.Uint32(wal[8:]))
	sum := checksum(order, [2]uint32{}, wal[:24])
	if magic&^1 != walMagic || page < 512 || page > 65536 || page&(page-1) != 0 || sum != stored(wal[24:]) {
		return file, nil // as SQLite does with a log that it does not know
	}
	pages := map[uint32][]byte{} // of the transaction that is being read
	for rest := wal[walHeader:]; len(rest) >= frameHeader+page; rest = rest[frameHeader+page:] {
		frame, content := rest[:frameHeader], rest[frameHeader:frameHeader+page]
		sum = checksum(order, checksum(order, sum, frame[:8]), content)
		if !bytes.Equal(frame[8:16], wal[16:24]) || sum != stored(frame[16:]) {
			break
		}
		pages[binary.BigEndian.Uint32(frame)] = content
		if count := binary.BigEndian.Uint32(frame[4:]); count != 0 {
			var err error
			if file, err = commit(file, pages, page, int(count)); err != nil {
				return nil, err
			}
			clear(pages)
		}
	}
	return file, nil
}

// commit writes the pages of a transaction and cuts the file to its size.
func commit(file []byte, pages map[uint32][]byte, page, count int) ([]byte, error) {
	size := count * page
	if size > MaxData {
		return nil, refuse("the database and its log are larger than %d MiB", MaxData>>20)
	}
	if len(file) < size {
		file = append(file, make([]byte, size-len(file))...)
	}
	file = file[:size]
	for number, content := range pages {
		if start := (int(number) - 1) * page; number > 0 && start+page <= size {
			copy(file[start:], content)
		}
	}
	return file, nil
}

func stored(b []byte) [2]uint32 {
	return [2]uint32{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
}

func checksum(order binary.ByteOrder, sum [2]uint32, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		sum[0] += order.Uint32(b) + sum[1]
		sum[1] += order.Uint32(b[4:]) + sum[0]
	}
	return sum
}
