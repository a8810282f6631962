package cli_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/cmd/cli"
)

// A new file is there once it is whole, nothing of it when it does not become so, and
// what is there already, also since a moment ago, is not touched.
func TestWriteNew(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is full")
	for name, row := range map[string]struct {
		before func(path string) error // what others do
		during func(path string) error
		want   error
		is     string
	}{
		"new":             {nil, nil, nil, "whole"},
		"not whole":       {nil, func(string) error { return broken }, broken, ""},
		"there":           {theirs, nil, fs.ErrExist, "theirs"},
		"there meanwhile": {nil, theirs, fs.ErrExist, "theirs"},
		"a link to nothing": {func(path string) error { return os.Symlink("nothing", path) }, nil,
			fs.ErrExist, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "notes.txt")
			if row.before != nil {
				if err := row.before(path); err != nil {
					t.Fatal(err)
				}
			}
			err := cli.WriteNew(path, func(w io.Writer) error {
				if row.before != nil {
					t.Error("it was written although something is there")
				}
				_, err := io.WriteString(w, "whole")
				if _, early := os.Lstat(path); !errors.Is(early, fs.ErrNotExist) {
					t.Errorf("it is there before it is whole: %v", early)
				}
				if row.during != nil {
					err = errors.Join(err, row.during(path))
				}
				return err
			})
			if !errors.Is(err, row.want) {
				t.Errorf("got %v, want %v", err, row.want)
			}
			raw, _ := os.ReadFile(path)
			if string(raw) != row.is {
				t.Errorf("the file is %q, want %q", raw, row.is)
			}
			var want, names []string
			if _, err := os.Lstat(path); err == nil {
				want = []string{"notes.txt"}
			}
			entries, err := os.ReadDir(filepath.Dir(path))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				names = append(names, e.Name())
			}
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("left behind (-want +got):\n%s", diff)
			}
		})
	}
}

func theirs(path string) error { return os.WriteFile(path, []byte("theirs"), 0o600) }
