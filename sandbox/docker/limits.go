package docker

import (
	"cmp"
	"fmt"

	"github.com/agentclash/agentclash/sandbox"
)

const (
	mib  = 1 << 20
	page = 4096

	minMemory = 32 * mib
	minPIDs   = 32 // the guest alone holds about 17

	// bytesPerFile sets how many files a file system of a size may hold. A file
	// of no bytes costs the kernel about 1 KiB.
	bytesPerFile = 4 << 10
)

// layout is how a box's memory is divided: everything that can be written is
// memory, and what is written counts against the box's limit.
type layout struct {
	workspace, tmp, varTmp, run, shm int64
	extra                            int64 // for each volume the image declares
}

// settle fills in what a spec leaves open and divides the memory. What cannot
// be promised is refused: file systems that could fill the memory would end in
// the kernel killing the guest.
func settle(l sandbox.Limits, volumes int) (sandbox.Limits, layout, error) {
	d := sandbox.DefaultLimits()
	l.MemoryBytes = cmp.Or(l.MemoryBytes, d.MemoryBytes) / page * page
	l.NanoCPUs = cmp.Or(l.NanoCPUs, d.NanoCPUs)
	l.PIDs = cmp.Or(l.PIDs, d.PIDs)
	l.OpenFiles = cmp.Or(l.OpenFiles, d.OpenFiles)
	l.OutputBytes = cmp.Or(l.OutputBytes, d.OutputBytes)
	if l.MemoryBytes < minMemory || l.PIDs < minPIDs || l.NanoCPUs < 1e7 || l.OpenFiles < 64 || l.WorkspaceBytes < 0 || l.OutputBytes < 0 || l.FileBytes < 0 {
		return l, layout{}, fmt.Errorf("%w: at least %d MiB of memory, %d processes, 0.01 processors and 64 open files; got %d MiB, %d, %g and %d",
			sandbox.ErrSpec, minMemory/mib, minPIDs, l.MemoryBytes/mib, l.PIDs, float64(l.NanoCPUs)/1e9, l.OpenFiles)
	}
	part := func(percent, most int64) int64 { return min(l.MemoryBytes/100*percent, most) / page * page }
	y := layout{tmp: part(20, 256*mib), varTmp: part(5, 64*mib), run: part(1, 16*mib), shm: part(5, 64*mib), extra: part(2, 16*mib)}
	if l.WorkspaceBytes == 0 {
		l.WorkspaceBytes = part(sandbox.WorkspaceShare, d.WorkspaceBytes)
	}
	y.workspace = roundUp(l.WorkspaceBytes)
	sum := y.workspace + y.tmp + y.varTmp + y.run + y.shm + int64(volumes)*y.extra
	reserve := min(128*mib, l.MemoryBytes/4)
	if l.WorkspaceBytes > l.MemoryBytes || sum > l.MemoryBytes-reserve {
		return l, layout{}, fmt.Errorf("%w: a workspace of %d MiB beside %d MiB of other file systems and %d MiB for programs does not fit into %d MiB of memory",
			sandbox.ErrSpec, l.WorkspaceBytes/mib, (sum-y.workspace)/mib, reserve/mib, l.MemoryBytes/mib)
	}
	return l, y, nil
}

func roundUp(n int64) int64 { return (n + page - 1) / page * page }
