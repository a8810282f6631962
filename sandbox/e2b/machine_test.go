package e2b_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/e2b/e2btest"
)

// A machine has more in it than a container: its own devices, root's files, the
// daemon's variables, the host at the other end of a socket. None of it is in
// the box.
func TestTheBoxIsNotTheMachine(t *testing.T) {
	t.Parallel()
	e2btest.Need(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	_, box := begin(t, nil)
	for what, script := range map[string]string{
		"sockets to the machine's host": `
import socket
try: socket.socket(40, socket.SOCK_STREAM)
except PermissionError: print("refused")`,
		"calls that are filtered": `
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
for n in [425, 321, 298, 323, 250]:
    if libc.syscall(n, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != errno.EPERM: print("call", n, ctypes.get_errno())
if libc.syscall(435, 0, 0) != -1 or ctypes.get_errno() != errno.ENOSYS: print("clone3")
print("refused")`,
		"the machine's environment": `
import os
print("refused" if not [k for k in os.environ if k.startswith("E2B") or k == "USER"] else dict(os.environ))`,
		"other processes": `
import os
pids = [p for p in os.listdir("/proc") if p.isdigit() and int(p) not in (1, os.getpid())]
print("refused" if not pids else pids)`,
		"files that others may not write": `
import os
bad = []
for d in ("/", "/.agentclash", "/etc", "/dev", "/sys/kernel", "/proc/sys/kernel", "/run"):
    try:
        open(d + "/probe", "w"); bad.append(d)
    except OSError: pass
try:
    open("/.agentclash/guest", "r+b"); bad.append("guest")
except OSError: pass
print("refused" if not bad else bad)`,
		"the guest's memory": `
try:
    open("/proc/1/mem", "rb"); print("opened")
except OSError: print("refused")`,
	} {
		r, err := box.Exec(t.Context(), sandbox.Command{Argv: []string{"python3", "-c", script}})
		if err != nil || strings.TrimSpace(r.Stdout.Text) != "refused" {
			t.Errorf("%s: got %+v, %v, want none", what, r, err)
		}
	}
}
