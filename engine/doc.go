// Package engine turns a plan into trials: it opens boxes, runs the one agent
// loop, captures what the agent left, has it scored, and emits every fact.
//
// It decides when a trial stops and whose fault a failure is. It stores and
// prints nothing (sinks do) and knows no vendor (cmd hands it clients).
package engine
