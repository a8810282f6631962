package guest

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killPatience bounds the wait for a killed command to be gone, with room to
	// report within the host's own patience.
	killPatience = 1500 * time.Millisecond
	// quiescePatience is the same for a whole box.
	quiescePatience = 8 * time.Second
	// killRounds is how often a growing command is hunted process by process
	// before everything in the box is killed at once.
	killRounds = 5
)

// end kills everything the command started: its group, what carries its mark,
// and, when no other command runs, all that was not there before it. A tree
// that grows faster than it is cut ends with all of the box.
func (s *server) end(r *running) {
	s.reaper.killGroup(r.p)
	alone := s.alone(r)
	seen := map[int]uint64{}
	for range killRounds {
		living, err := s.family.living()
		if err != nil {
			break // what cannot be seen is killed with all the rest
		}
		fresh := 0
		for _, p := range living {
			if seen[p.pid] == p.start && p.start != 0 || !r.owns(p, alone) {
				continue
			}
			seen[p.pid] = p.start
			_ = unix.Kill(p.pid, unix.SIGKILL)
			fresh++
		}
		if fresh == 0 {
			s.awaitGone(seen)
			return
		}
	}
	s.family.killAll(killPatience)
}

// awaitGone waits until the killed processes have let go of what they held.
func (s *server) awaitGone(killed map[int]uint64) {
	deadline := time.Now().Add(killPatience)
	for pid, start := range killed {
		for time.Now().Before(deadline) {
			if p, ok := readProc(pid); !ok || p.start != start || p.dead() {
				break
			}
			time.Sleep(500 * time.Microsecond)
		}
	}
}

// owns tells whether a process belongs to the command.
func (r *running) owns(p proc, alone bool) bool {
	if p.session == r.p.pid || p.group == r.p.pid {
		return true
	}
	if alone && (!r.before[p.pid] || p.start > r.began) {
		return true
	}
	return marked(p.pid, []byte(r.mark))
}

// alone tells whether no other command runs.
func (s *server) alone(r *running) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c.exec != nil && c.exec != r {
			return false
		}
	}
	return true
}
