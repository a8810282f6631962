// Package peers decides when an agent is told how the other agents of its run
// stand on the same case, and in which words.
//
// It is pure: whoever runs agents keeps the standings and asks [Watch] at the start
// of each step. Nothing random is in the words: agents go by their models.
package peers
