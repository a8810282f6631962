package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// partSuffix ends the name of a file that is being written.
const partSuffix = ".part"

// readFile reads a file of a recording, which is a plain one of at most so many
// bytes.
func readFile(dir *os.Root, path string, most int64) ([]byte, error) {
	info, err := dir.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no plain file: a recording holds no links", path)
	case info.Size() > most:
		return nil, tooLarge(path, info.Size(), most)
	}
	f, err := dir.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(raw)) > most {
		err = tooLarge(path, int64(len(raw)), most)
	}
	return raw, err
}

func tooLarge(path string, size, most int64) error {
	return fmt.Errorf("%s has %d MiB; at most %d MiB are read", path, size>>20, most>>20)
}

// errNone is a directory without a recording.
var errNone = errors.New("it has no " + headerFile)

func readHeader(dir *os.Root) (Header, error) {
	raw, err := readFile(dir, headerFile, maxHeader)
	if errors.Is(err, fs.ErrNotExist) {
		return Header{}, errNone
	}
	if err != nil {
		return Header{}, err
	}
	return parseHeader(raw)
}

// verify sees that the files are those that the header lists, each as it was
// recorded.
func verify(dir *os.Root, h Header) error {
	var total int64
	seen := 0
	err := fs.WalkDir(dir.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == headerFile {
			return err
		}
		inside := strings.HasPrefix(path, trialsDir+"/") || strings.HasPrefix(path, rankingsDir+"/")
		switch want := h.Files[path]; {
		case d.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link: a recording holds none", path)
		case want != "":
			seen++
			return verifyFile(dir, path, want, &total)
		case inside && !strings.HasSuffix(path, partSuffix):
			return fmt.Errorf("%s was not recorded: remove it", path)
		}
		return nil // a note of the user's own
	})
	if err == nil && seen < len(h.Files) {
		for path := range h.Files {
			if _, err := dir.Lstat(path); err != nil {
				return fmt.Errorf("%s is missing", path)
			}
		}
	}
	return err
}

func verifyFile(dir *os.Root, path, want string, total *int64) error {
	info, err := dir.Lstat(path)
	if err != nil {
		return err
	}
	if *total += info.Size(); *total > maxTotal {
		return fmt.Errorf("it has more than %d MiB, which is the most that is replayed", maxTotal>>20)
	}
	raw, err := readFile(dir, path, maxFile)
	if err != nil {
		return err
	}
	if got := digestOf(raw); got != want {
		return fmt.Errorf("%s was changed after it was recorded (its digest is %.12s, not %.12s)", path, got, want)
	}
	return nil
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
