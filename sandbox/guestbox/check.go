package guestbox

import (
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/sandbox/guest"
)

// Differences are what a guest found otherwise in its box than was ordered, as
// sentences.
type Differences []string

// Check compares a guest's facts with what every box must be, made of a guest of
// that many bytes.
func Check(f guest.Facts, guestBytes int64) Differences {
	var d Differences
	d.Want(f.PID == 1, "the guest is process %d, not 1", f.PID)
	d.Want(f.GuestBytes == guestBytes, "the guest is a file of %d bytes, not %d", f.GuestBytes, guestBytes)
	d.Want(len(f.Interfaces) == 1 && f.Interfaces[0] == "lo", "its network interfaces are %q", f.Interfaces)
	d.Want(f.CapEff == 0, "it has the capabilities %#x", f.CapEff)
	d.Want(f.NoNewPrivs, "it can gain privileges")
	d.Want(f.Seccomp == 2, "its system calls are not filtered")
	return d
}

// Want adds a sentence unless all is well.
func (d *Differences) Want(ok bool, format string, args ...any) {
	if !ok {
		*d = append(*d, fmt.Sprintf(format, args...))
	}
}

// String joins the sentences; "" is no difference.
func (d Differences) String() string { return strings.Join(d, "; ") }
