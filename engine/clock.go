package engine

import "time"

// clock dates one attempt's events. With recorded replies (scripts, replays)
// it stands still except for the durations they carry, so that the same run
// has the same times twice.
type clock struct {
	now      func() time.Time
	recorded bool
	at       time.Time
}

func newClock(now func() time.Time, recorded bool) *clock {
	return &clock{now: now, recorded: recorded, at: now().UTC()}
}

// Now is the attempt's time.
func (c *clock) Now() time.Time {
	if c.recorded {
		return c.at
	}
	return c.now().UTC()
}

// pass lets recorded time go by; real time needs no help.
func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }
