package tui

// SetDraw replaces what a screen paints, so that a test can make it go wrong.
func (s *Screen) SetDraw(draw func(State, Frame) string) { s.draw = draw }
