package guest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/sandbox/guest"
)

// What a guest that makes its own box does when it works is tried where there
// are machines (sandbox/e2b). Here it must not: none of these may touch a mount
// or a limit of this machine.
func TestEncloseRefuses(t *testing.T) {
	t.Parallel()
	bin, err := agentBinary()
	if err != nil {
		t.Fatal(err)
	}
	sent := func(e guest.Enclosure) []byte {
		var b bytes.Buffer
		if err := e.Send(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	good := guest.Enclosure{Workspace: "/workspace", PIDs: 100, OpenFiles: 100, ID: 4242}
	root, nowhere := good, good
	root.ID = 0
	nowhere.Workspace = "workspace"
	huge := binary.BigEndian.AppendUint32(nil, 1<<30)
	for name, row := range map[string]struct {
		flag  string
		input []byte
		words string
	}{
		"no namespaces of its own":    {"--enclosed", sent(good), "namespaces"},
		"nothing said":                {guest.EncloseFlag, nil, "EOF"},
		"half a word":                 {guest.EncloseFlag, sent(good)[:20], "EOF"},
		"more than a MiB":             {guest.EncloseFlag, huge, "more than 1 MiB"},
		"no JSON":                     {guest.EncloseFlag, append(binary.BigEndian.AppendUint32(nil, 2), "hi"...), "what box to make"},
		"root":                        {guest.EncloseFlag, sent(root), "a user who is not"},
		"a workspace that is no path": {guest.EncloseFlag, sent(nowhere), "a user who is not"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if row.flag == guest.EncloseFlag && os.Getuid() != 0 {
				row.words = "as root"
			}
			var stderr bytes.Buffer
			cmd := exec.Command(bin, guest.Subcommand, row.flag)
			cmd.Stdin, cmd.Stderr = bytes.NewReader(row.input), &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != guest.ExitEnclose || !strings.Contains(stderr.String(), row.words) {
				t.Errorf("got %v and %q, want status %d and %q", err, stderr.String(), guest.ExitEnclose, row.words)
			}
		})
	}
	if err := (guest.Enclosure{Env: map[string]string{"A": strings.Repeat("x", 2<<20)}}).Send(&bytes.Buffer{}); err == nil {
		t.Error("an environment of 2 MiB: got no error")
	}
}
