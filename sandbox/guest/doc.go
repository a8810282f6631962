// Package guest is the program that runs inside a sandbox as its first process,
// the protocol it speaks, and the host's side of that protocol.
//
// It decides how a program is started, watched, bounded and killed in a box,
// how files go in and out, and how both ends survive each other: [Main] is the
// guest, which trusts its host and nothing else in the box; [Client] is the
// host, which trusts nothing it reads. How the two are connected, what the box
// is made of and what a dead one means is the transport's business
// (sandbox/docker): a Client needs an [io.ReadWriteCloser] and nothing more.
//
// # The protocol
//
// One stream carries frames both ways:
//
//	u32 length of the payload, big endian | u8 kind | u32 id | payload
//
// A payload is at most 1 MiB, bulk data goes in chunks of at most 256 KiB.
// Requests and answers are JSON, bulk data is raw. The host names each call
// with an id of its choosing, and many calls share the stream. The guest is
// silent until it has read HELLO, so that a transport may attach late.
//
//	host to guest                          guest to host
//	HELLO    version, idle time            HELLO   facts about the box
//	PING                                   PONG
//	EXEC     a command                     STDOUT, STDERR ..., DONE
//	DATA     its standard input
//	READ     a path and a limit            DATA ..., DONE
//	WRITE    a path, then DATA ...         DONE
//	LIST     a directory                   DATA ..., DONE
//	KILL     ends the call with that id    the call's DONE
//	QUIESCE                                DONE
//	BIND     directories                   DONE
//	PROXY    a port                        DONE
//	                                       OPEN    a program has connected
//	FLOW, GRANT, FIN, END                  FLOW, GRANT, FIN, END
//
// The last two lines are the tunnels: after PROXY, and not before, the guest
// listens on its box's loopback and hands on what programs say there, each
// connection under a number of its own. Neither end sends more than was granted,
// so that a connection nobody reads costs 64 KiB and holds up nothing else. The
// guest understands nothing of what it carries; the host decides where it goes.
//
// BIND prepares for calls that are bound: the kernel keeps their files, their
// programs and all that these start to some directories. A host marks the calls
// it makes for an agent, and leaves its own as they are.
//
// # The life of a guest
//
// It ends, and with it every process of its box, when its input ends, when a
// frame breaks the protocol, when the host has been silent for the idle time
// (10 s before HELLO), and at its deadline. There is nothing to clean up: the
// kernel ends a PID namespace with its first process.
//
// The guest runs on Linux; the host's side compiles and runs everywhere.
package guest
