package sandboxtest

import (
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

func readSocket(t *testing.T, k *contract) {
	box := k.box(t)
	k.succeed(t, box, python(`import socket
socket.socket(socket.AF_UNIX).bind("socket")`))
	_, err := box.ReadFile(during(t), "socket", 10)
	wantError(t, "read a socket", err, sandbox.ErrNotRegular)
	write(t, box, "socket", "a file in its place")
	wantRead(t, box, "socket", "a file in its place")
}

// readDevice has links to devices, since no program of a box can make one.
func readDevice(t *testing.T, k *contract) {
	box := k.box(t)
	for link, device := range map[string]string{"zero": "/dev/zero", "tty": "/dev/tty", "out": "/proc/self/fd/0"} {
		k.Symlink(t, box, device, link)
		f, err := box.ReadFile(during(t), link, 10)
		if err == nil {
			t.Errorf("read a link to %s: got %q, want an error", device, f.Data)
			continue
		}
		wantFileError(t, "read a link to "+device, err)
	}
	_, err := box.ReadFile(during(t), "zero", 10)
	wantError(t, "read a link to /dev/zero", err, sandbox.ErrNotRegular)
}

func absoluteLink(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "dir/real.txt", "real")
	k.Symlink(t, box, "/workspace/dir/real.txt", "to-file")
	k.Symlink(t, box, "/workspace/dir", "to-dir")
	for _, path := range []string{"to-file", "to-dir/real.txt"} {
		wantRead(t, box, path, "real")
		k.wantOutput(t, box, sh(`read -r l < "$1" || :; echo "$l"`, path), "real\n")
	}
	wantListing(t, box, "to-dir", true, file("to-dir/real.txt", 4))
}
