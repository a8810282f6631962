// Command stats simulates what scoring/stats promises: false alarms, power,
// sizes and coverage over many histories with a fixed seed. It prints the
// tables of bench/README.md and exits 1 when a stated bound is missed.
package main
