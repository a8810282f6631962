package docker

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/agentclash/agentclash/sandbox"
)

const (
	// diskLow is how much must be free on the engine's disk for nothing to be
	// said: images are of this size.
	diskLow = 1 << 30
	// diskFull is how much must be free for anything to be tried: the guest, and
	// some room for what the engine writes for each container.
	diskFull = 128 * mib
)

// freeSpace is what to do about a full disk of the engine's.
const freeSpace = "see what takes it (docker system df) and free some (agentclash sandbox gc, docker system prune)"

// locate finds out whether the engine keeps its images and containers on a disk
// of this machine: it says where they are, but not how much is free there, and
// of one elsewhere nothing more can be known.
func (e *Engine) locate(name, dir string) {
	host, err := os.Hostname()
	if err != nil || host != name || dir == "" || !strings.HasPrefix(e.Host, "unix://") {
		return
	}
	if free, _, err := space(dir); err == nil {
		e.Dir, e.DiskFreeBytes = dir, free
	}
}

// LowOnDisk tells whether its disk, where it is of this machine, is nearly full.
func (e Engine) LowOnDisk() bool { return e.Dir != "" && e.DiskFreeBytes < diskLow }

// checkDisk refuses to go on with a full disk, and says once of one that is
// nearly full.
func (p *Provider) checkDisk() error {
	if p.engine.Dir == "" {
		return nil
	}
	free, all, err := space(p.engine.Dir)
	switch {
	case err != nil || free >= diskLow:
		return nil // what cannot be known is the engine's to say
	case free < diskFull:
		return &sandbox.BoxError{Kind: sandbox.Engine, Err: fmt.Errorf("the engine's disk is full: %d of %d MiB are free at %s, and %d are needed; %s",
			free/mib, all/mib, p.engine.Dir, int64(diskFull/mib), freeSpace)}
	}
	p.lowDisk.Do(func() {
		p.o.progress(fmt.Sprintf("note: the engine's disk is nearly full: %d of %d MiB are free at %s; %s", free/mib, all/mib, p.engine.Dir, freeSpace))
	})
	return nil
}

// errDiskFull is the engine's disk, never a box's: nothing that a box writes is
// on a disk.
var errDiskFull = errors.New("the engine's disk is full: " + freeSpace)

// explainDisk adds to an engine's error what to do, where that is known.
func explainDisk(err error) error {
	if err != nil && strings.Contains(err.Error(), "no space left on device") && !errors.Is(err, errDiskFull) {
		return fmt.Errorf("%w (%w)", errDiskFull, err)
	}
	return err
}
