//go:build unix

// Command bench measures the budgets of the product on this machine: whole
// processes, their time and memory, as ratios where a budget is one. It prints
// a table; bench/README.md records one and says how it was made. It asserts
// nothing: machines differ, and a test that fails on a slow one says nothing.
package main
