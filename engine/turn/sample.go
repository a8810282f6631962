package turn

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/agentclash/agentclash/pack"
)

// Trial names a trial by what stays the same when a run is made again.
type Trial struct {
	Seed        int64 // the plan's
	Agent, Case string
	Repetition  int
}

// Sampled says whether people are to look at a trial's conversation. It is drawn
// by the trial's name, so that another run of the same plan draws the same trials.
func Sampled(c *pack.Calibration, t Trial) bool {
	if c == nil || !c.Enabled {
		return false
	}
	h := fnv.New32a()
	var word [8]byte
	write := func(n int64) {
		binary.LittleEndian.PutUint64(word[:], uint64(n))
		_, _ = h.Write(word[:]) // a hash never fails to write
	}
	write(t.Seed)
	for _, name := range []string{t.Agent, t.Case} {
		write(int64(len(name)))
		_, _ = h.Write([]byte(name))
	}
	write(int64(t.Repetition))
	return float64(h.Sum32()%10_000) < c.SampleRate*10_000
}
