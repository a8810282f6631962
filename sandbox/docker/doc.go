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
package docker
