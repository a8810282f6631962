package guestbox

import (
	"bytes"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guest"
)

// What the C library calls the errors that limits make of system calls, in small
// letters. Programs repeat it.
var limitWords = []struct{ words, limit string }{
	{"too many open files", sandbox.LimitOpenFiles},
	{"file too large", sandbox.LimitFile},
	{"file size limit exceeded", sandbox.LimitFile},
	{"no space left on device", sandbox.LimitDisk},
	{"cannot allocate memory", sandbox.LimitMemory},
}

// limitOf names the limit that a program ran into. What the kernel and the guest
// have counted comes before what a program that failed says of itself.
func limitOf(r guest.Result) string {
	switch {
	case r.OutputCap:
		return sandbox.LimitOutput
	case r.OutOfMemory:
		return sandbox.LimitMemory
	case r.PIDs:
		return sandbox.LimitPIDs
	case r.ExitCode == 0 && r.Full == sandbox.Workspace: // the shell went on without what did not fit
		return sandbox.LimitWorkspace
	case r.ExitCode == 0:
		return ""
	case r.ExitCode == 128+sigXFSZ:
		return sandbox.LimitFile
	case r.Full == sandbox.Workspace:
		return sandbox.LimitWorkspace
	case r.Full != "":
		return sandbox.LimitDisk
	}
	for _, said := range [][]byte{r.Stderr.Head, r.Stderr.Tail, r.Stdout.Head, r.Stdout.Tail, []byte(r.StartError)} {
		said = bytes.ToLower(said)
		for _, w := range limitWords {
			if bytes.Contains(said, []byte(w.words)) {
				return w.limit
			}
		}
	}
	return ""
}

// sigXFSZ ends a program that makes a file too large, on every Linux there is.
const sigXFSZ = 25
