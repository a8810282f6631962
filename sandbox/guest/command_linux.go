package guest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// defaultPath is where programs are looked for when nobody says.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environ is base with the entries of over, and the mark.
func environ(base []string, over [][]byte, mark string) []string {
	at := map[string]int{}
	var env []string
	add := func(entry string) {
		key, _, ok := strings.Cut(entry, "=")
		if !ok || key == "" || strings.IndexByte(entry, 0) >= 0 {
			return
		}
		if i, seen := at[key]; seen {
			env[i] = entry
			return
		}
		at[key] = len(env)
		env = append(env, entry)
	}
	for _, e := range base {
		add(e)
	}
	for _, e := range over {
		add(string(e))
	}
	add(mark)
	return env
}

// lookPath finds a program as a shell would: a name with a slash is a path,
// any other is looked for in the command's own PATH.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	path := defaultPath
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	found := errors.New("executable file not found in PATH")
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		file := filepath.Join(d, name)
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if errors.Is(err, syscall.EACCES) {
			found = err
		}
	}
	return "", found
}

func executable(file string) error {
	st, err := os.Stat(file)
	if err != nil {
		return bare(err)
	}
	if st.IsDir() {
		return syscall.EISDIR
	}
	return unix.Access(file, unix.X_OK)
}

// bare takes the operation and the path from an error whose reader knows both.
func bare(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}

// startError says what the common refusals of fork and exec mean in a box.
func startError(err error) error {
	switch {
	case errors.Is(err, syscall.EAGAIN):
		return errors.New("the sandbox's limit on processes is reached")
	case errors.Is(err, syscall.ENOMEM):
		return errors.New("the sandbox's memory is used up")
	case errors.Is(err, syscall.ENOENT):
		return errors.New("the interpreter or loader it names does not exist")
	}
	return err
}
