package tui

// SetDraw replaces what a screen paints, so that a test can make it go wrong.
func (s *Screen) SetDraw(draw func(State, Frame) string) { s.draw = draw }

// Break makes the next fact go wrong.
func (s *Screen) Break() { s.state.lane, s.state.Lanes = map[string]int{"agent0": 1}, nil }

// Snapshot is the state as it is drawn.
func (s *State) Snapshot() State { return s.snapshot() }

// Watch has a transcript kept.
func (s *State) Watch(trialID string) { s.watch(trialID) }
