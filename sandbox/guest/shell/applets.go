package shell

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

var errUsage = errors.New("wrong usage")

// exitStatus ends a command without a word.
type exitStatus int

func (s exitStatus) Error() string { return "exit status " + strconv.Itoa(int(s)) }

// applets are the commands besides sh. Each gets its arguments without its name.
func applets() map[string]func(args []string, std Std) error {
	return map[string]func([]string, Std) error{
		"cat":   cat,
		"cp":    cp,
		"echo":  echo,
		"false": func([]string, Std) error { return exitStatus(1) },
		"ls":    ls,
		"mkdir": mkdir,
		"mv":    mv,
		"rm":    rm,
		"sleep": sleep,
		"true":  func([]string, Std) error { return nil },
	}
}

// flags takes the leading options from args. Those in known are returned as
// set; any other is refused.
func flags(args []string, known string) (set string, rest []string, err error) {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if a == "--" {
			break
		}
		for _, f := range a[1:] {
			if !strings.ContainsRune(known, f) {
				return "", nil, fmt.Errorf("%w: unknown option -%c", errUsage, f)
			}
		}
		set += a[1:]
	}
	return set, args, nil
}

func cat(args []string, std Std) error {
	_, files, err := flags(args, "u")
	if err != nil {
		return err
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, name := range files {
		if name == "-" {
			if _, err := io.Copy(std.Out, std.In); err != nil {
				return err
			}
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(std.Out, f)
		_ = f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func echo(args []string, std Std) error {
	end := "\n"
	if len(args) > 0 && args[0] == "-n" {
		end, args = "", args[1:]
	}
	_, err := io.WriteString(std.Out, strings.Join(args, " ")+end)
	return err
}

// into is where a file goes: dst, or a file of its name in the directory dst.
func into(src, dst string) string {
	if st, err := os.Stat(dst); err == nil && st.IsDir() {
		return filepath.Join(dst, filepath.Base(src))
	}
	return dst
}

func cp(args []string, _ Std) error {
	_, files, err := flags(args, "f")
	if err != nil {
		return err
	}
	if len(files) != 2 {
		return fmt.Errorf("%w: it takes a file and where to copy it", errUsage)
	}
	in, err := os.Open(files[0])
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	if st.IsDir() {
		return fmt.Errorf("%s: is a directory", files[0])
	}
	out, err := os.OpenFile(into(files[0], files[1]), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, st.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func mv(args []string, _ Std) error {
	_, files, err := flags(args, "f")
	if err != nil {
		return err
	}
	if len(files) != 2 {
		return fmt.Errorf("%w: it takes a file and its new place", errUsage)
	}
	return os.Rename(files[0], into(files[0], files[1]))
}

// ls prints names, one a line, sorted; -a with those that begin with a dot.
func ls(args []string, std Std) error {
	set, dirs, err := flags(args, "1aA")
	if err != nil {
		return err
	}
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	hidden := strings.ContainsAny(set, "aA")
	for _, dir := range dirs {
		st, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !st.IsDir() {
			fmt.Fprintln(std.Out, dir)
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if hidden || !strings.HasPrefix(e.Name(), ".") {
				fmt.Fprintln(std.Out, e.Name())
			}
		}
	}
	return nil
}

func mkdir(args []string, _ Std) error {
	set, dirs, err := flags(args, "p")
	if err != nil {
		return err
	}
	make := func(dir string) error { return os.Mkdir(dir, 0o777) }
	if strings.Contains(set, "p") {
		make = func(dir string) error { return os.MkdirAll(dir, 0o777) }
	}
	for _, dir := range dirs {
		if err := make(dir); err != nil {
			return err
		}
	}
	return nil
}

func rm(args []string, _ Std) error {
	set, files, err := flags(args, "rRf")
	if err != nil {
		return err
	}
	for _, name := range files {
		err := os.Remove(name)
		if strings.ContainsAny(set, "rR") {
			err = os.RemoveAll(name)
		}
		if errors.Is(err, os.ErrNotExist) && strings.Contains(set, "f") {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func sleep(args []string, _ Std) error {
	if len(args) != 1 {
		return fmt.Errorf("%w: it takes a number of seconds", errUsage)
	}
	s, err := strconv.ParseFloat(strings.TrimSuffix(args[0], "s"), 64)
	if err != nil || s < 0 {
		return fmt.Errorf("%w: %q is not a number of seconds", errUsage, args[0])
	}
	time.Sleep(time.Duration(s * float64(time.Second)))
	return nil
}
