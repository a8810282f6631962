// Package evaluation holds the commands that run agents, and those that go on with,
// repeat, join or score again what was run. It puts the engine, the store and the
// screen together.
package evaluation
