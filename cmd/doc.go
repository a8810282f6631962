// Package cmd puts the command tree together and runs one command line.
//
// The rooms below hold the commands, a file for each verb: flags, what is asked of the
// rooms that decide, and a view of the answer. layers_test.go says who may import whom.
package cmd
