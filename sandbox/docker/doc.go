// Package docker opens boxes as containers of a Docker engine: one hardened
// container for each box, its first process our guest, one attached stream
// between the two.
//
// It decides which engine that is, which image, what the container may do, how
// it comes and goes, and what it means when one is found dead. What happens
// inside, and how it is asked for, is sandbox/guest's business.
//
// # What holds for every container
//
// There is no interface but lo, no capability, no way to gain privileges, the
// engine's seccomp filter, a read-only root, and limits on memory, processors,
// processes and open files. What can be written is memory of a fixed size. None
// of it can be switched off, and all of it is checked from inside before a box
// is handed out.
//
// A container lives as long as its stream: its guest ends when the stream
// does, so nothing is left when this process dies, however it dies. What was
// created and never started carries labels, by which [Provider.Reap] finds it.
//
// # Boxes that are ready, and boxes that wait
//
// [Provider.Warm] starts boxes before they are opened. They are boxes like any
// other, their trial's name on them, and are handed out once; one that nobody
// opens ends after ten minutes, which are added to its lifetime.
//
// A box is opened when its limit of memory fits beside those of all boxes on the
// engine, other processes' included, into 80 % of what the engine has. Who comes
// first is first. Boxes that are only ready make room; a process with no box is
// not kept waiting by others. Nobody holds one box while waiting for another, so
// that whoever waits goes on when a trial ends, anywhere.
//
// An engine that fails is given pauses, and half as much to do at once (see
// gate). The start of a box is tried again; what is done in a box never is.
package docker
