// Package turn decides what comes next in a conversation between an agent and
// the users that a pack's user_simulator describes: which phase and turn, with
// which message, whether the reply was what was expected, and when it all ends.
//
// It asks nobody and waits for nothing: whoever runs a conversation asks [Talk]
// for the next [Move], makes it and reports back. The same reports give the same
// moves, so that a conversation can be gone through again from its events.
package turn
