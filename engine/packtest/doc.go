// Package packtest tests a pack's tests: it runs the reference agent and a
// family of cheating agents on every case, changes each validator to see
// whether any case notices, and looks for what in the pack cannot do its work.
//
// It decides what is wrong with a pack that is valid. It stores nothing: facts
// are folded into evidence as they come and forgotten, and changed validators
// are judged on that evidence by scoring alone. The reference agent and the
// sandbox are handed in; the cheats are made here, and see no more than any
// model does.
package packtest
