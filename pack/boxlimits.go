package pack

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// BoxLimits are the limits that a pack sets for its boxes; 0 is none of its own.
type BoxLimits struct {
	MemoryBytes, NanoCPUs, PIDs, OpenFiles int64
	WorkspaceBytes, OutputBytes, FileBytes int64
}

// workspaceShare is how much of a box's memory its workspace may take, in
// percent. It is memory, too.
const workspaceShare = 40

// defaultMemory is a box's memory when the pack does not say.
const defaultMemory = 1280 << 20

// BoxLimits reads version.sandbox and filesystem.max_workspace_bytes of a pack
// that was checked. A workspace that needs more memory than boxes have
// brings it with it, and memory that is said bounds the workspace.
func (p *Pack) BoxLimits() BoxLimits {
	var l BoxLimits
	if box := p.Version.Sandbox; box != nil {
		l.MemoryBytes, _ = ByteSize(box.Memory)
		l.OutputBytes, _ = ByteSize(box.OutputBytes)
		l.FileBytes, _ = ByteSize(box.FileBytes)
		if box.CPUs != nil {
			l.NanoCPUs = int64(math.Round(*box.CPUs * 1e9))
		}
		if box.PIDs != nil {
			l.PIDs = *box.PIDs
		}
		if box.OpenFiles != nil {
			l.OpenFiles = *box.OpenFiles
		}
	}
	if n, _ := p.Version.Filesystem["max_workspace_bytes"].(int64); n > 0 {
		l.WorkspaceBytes = n
	}
	if l.MemoryBytes == 0 && l.WorkspaceBytes > workspaceOf(defaultMemory) {
		l.MemoryBytes = memoryFor(l.WorkspaceBytes)
	}
	return l
}

// workspaceOf is the largest workspace in so much memory, memoryFor the memory
// that a workspace needs.
func workspaceOf(memory int64) int64 { return memory / 100 * workspaceShare }

func memoryFor(workspace int64) int64 { return (workspace/workspaceShare + 1) * 100 }

// ByteSize reads a size: a number of bytes, or one with KiB, MiB or GiB.
func ByteSize(text string) (int64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	factor, digits := int64(1), text
	for unit, f := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if rest, ok := strings.CutSuffix(text, unit); ok {
			factor, digits = f, strings.TrimRight(rest, " ")
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || digits[0] == '+' || n < 0 || n > maxSize/factor {
		return 0, fmt.Errorf("must be a size: a whole number of bytes, or one with KiB, MiB or GiB, such as 64MiB")
	}
	return n * factor, nil
}

// maxSize is more than any machine has for one box.
const maxSize = 1 << 42

// sizeText is a size for people, rounded up to what can be written.
func sizeText(n int64) string {
	switch {
	case n >= 1<<20:
		return strconv.FormatInt((n+1<<20-1)>>20, 10) + "MiB"
	case n >= 1<<10:
		return strconv.FormatInt((n+1<<10-1)>>10, 10) + "KiB"
	}
	return strconv.FormatInt(n, 10)
}

// checkLimits sees that each limit of the box can be.
func checkLimits(c *checker, field string, box *Sandbox) {
	size := func(key, value string, least int64) {
		n, err := ByteSize(value)
		switch {
		case err != nil:
			c.fail(field+"."+key, "%v", err)
		case strings.TrimSpace(value) != "" && n < least:
			c.fail(field+"."+key, "must be at least %s", sizeText(least))
		}
	}
	size("memory", box.Memory, 64<<20)
	size("output_bytes", box.OutputBytes, 1<<10)
	size("file_bytes", box.FileBytes, 4<<10)
	count := func(key string, value *int64, least, most int64) {
		if value != nil && (*value < least || *value > most) {
			c.fail(field+"."+key, "must be %d to %d", least, most)
		}
	}
	count("pids", box.PIDs, 48, 1<<22)
	count("open_files", box.OpenFiles, 64, 1<<20)
	if box.CPUs != nil && (!(*box.CPUs >= 0.01) || *box.CPUs > 1024) {
		c.fail(field+".cpus", "must be 0.01 to 1024")
	}
}

// room sees that what a pack stores fits into what it asks for.
func (b *blockers) room() {
	const field = "version.filesystem.max_workspace_bytes"
	l := b.BoxLimits()
	if l.WorkspaceBytes > maxSize {
		b.add(field, "must be at most %d", int64(maxSize))
		return
	}
	if l.MemoryBytes > 0 && l.WorkspaceBytes > workspaceOf(l.MemoryBytes) {
		b.add(field, "is more than %d%% of the sandbox's memory, which the workspace is part of: raise version.sandbox.memory to %s, or lower this to %d",
			workspaceShare, sizeText(memoryFor(l.WorkspaceBytes)), workspaceOf(l.MemoryBytes))
	}
	space := l.WorkspaceBytes
	if l.MemoryBytes > 0 && space == 0 {
		space = workspaceOf(l.MemoryBytes)
	}
	if b.Asks() || space == 0 && l.FileBytes == 0 {
		return
	}
	for i, set := range b.InputSets {
		for j, c := range set.Cases {
			b.roomFor(fmt.Sprintf("input_sets[%d].cases[%d]", i, j), c, space, l.FileBytes)
		}
	}
}

func (b *blockers) roomFor(field string, c Case, space, file int64) {
	sum := int64(0)
	for _, f := range b.staged(c) {
		size := int64(len(f.Data))
		sum += size
		if file > 0 && size > file {
			b.add(field, "%s has %d bytes, more than version.sandbox.file_bytes permits a file", quote(f.Path), size)
		}
	}
	if space > 0 && sum > space {
		b.add(field, "its files have %d bytes, and the workspace holds %d: raise version.filesystem.max_workspace_bytes or version.sandbox.memory", sum, space)
	}
}
