// Package manual describes a tree of commands to machines and to readers: the
// document of `agentclash schema`, and one page for each command of the first level.
//
// It decides what of a command is told and in which form. What the commands are, which
// statuses and codes there are, is the caller's.
package manual
