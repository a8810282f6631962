//go:build embed_guests

package embedded_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/sandbox/guest/embedded"
)

// The guests are static executables of their architectures, and that of this
// machine runs.
func TestGuests(t *testing.T) {
	t.Parallel()
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		b, err := embedded.Guest(arch)
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.NewFile(bytes.NewReader(b))
		if err != nil || f.Machine != machine {
			t.Fatalf("%s: got %v, %v", arch, f, err)
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				t.Errorf("%s: it is linked dynamically", arch)
			}
		}
		if runtime.GOOS != "linux" || runtime.GOARCH != arch {
			continue
		}
		sh := filepath.Join(t.TempDir(), "sh")             // the name makes it the shell
		if err := os.WriteFile(sh, b, 0o755); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
		if out, err := exec.Command(sh, "-c", "echo $((6*7))").CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "42" {
			t.Errorf("%s: got %q, %v", arch, out, err)
		}
	}
	if _, err := embedded.Guest("riscv64"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}
