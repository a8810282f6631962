package sandboxes

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/agentclash/agentclash/engine/tool/query"
	"github.com/agentclash/agentclash/sandbox/guest"
	"github.com/agentclash/agentclash/sandbox/guest/embedded"
	"github.com/agentclash/agentclash/sandbox/guest/shell"
)

// InBox runs what a container runs: the guest that is its first process, or
// the shell and the small commands of the built-in image; and the process that
// answers an agent's query. All of them are this same binary.
func InBox(args []string) (status int, ran bool) {
	if shell.Is(os.Args[0]) {
		return shell.Main(context.Background(), os.Args, shell.Std{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}), true
	}
	if len(args) > 0 && args[0] == guest.Subcommand {
		return guest.Main(os.Stdin, os.Stdout, os.Stderr, args[1:]), true
	}
	if len(args) > 0 && args[0] == query.Subcommand {
		return query.Main(os.Stdin, os.Stdout, os.Stderr, os.Exit), true
	}
	return 0, false
}

// Queries answers what agents ask of files, with processes of this same binary.
// On Linux they are started from what is running, whatever has become of the
// file since.
func Queries() *query.Runner {
	if runtime.GOOS == "linux" {
		return query.NewRunner("/proc/self/exe")
	}
	exe, err := os.Executable()
	if err != nil {
		exe = os.Args[0]
	}
	return query.NewRunner(exe)
}

// guestReader reads the static Linux binary that runs inside containers: the one
// AGENTCLASH_GUEST names, else one that this build carries, else this very
// binary.
func guestReader(getenv func(string) string) func(arch string) ([]byte, error) {
	return func(arch string) ([]byte, error) {
		return ReadGuest(getenv("AGENTCLASH_GUEST"), arch)
	}
}

// ReadGuest reads the binary at path; "" is the one of this build.
func ReadGuest(path, arch string) ([]byte, error) {
	if path == "" {
		b, err := embedded.Guest(arch)
		if !errors.Is(err, errors.ErrUnsupported) {
			return b, err
		}
		if runtime.GOOS != "linux" || runtime.GOARCH != arch {
			return nil, fmt.Errorf("this %s/%s build carries no guest for a linux/%s engine: set AGENTCLASH_GUEST to a static linux/%s build of agentclash",
				runtime.GOOS, runtime.GOARCH, arch, arch)
		}
		exe, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this binary: %w", err)
		}
		path = exe
	}
	if err := static(path); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the guest: %w", err)
	}
	return b, nil
}

// static says why a binary cannot run in an image without a C library.
func static(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("read the guest: %w", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s is linked dynamically and cannot run inside a container: build it with CGO_ENABLED=0 (make build)", path)
		}
	}
	return nil
}
