package guest

// Subcommand is the word that makes the product's binary a guest: the first
// argument of a box's first process. What follows it is for [Main].
const Subcommand = "sandbox-agent"

// The exit statuses of a guest. They are part of the evidence when a box is
// found dead: the last line on its standard error says the same in words.
const (
	ExitEOF      = 0  // its input ended: the host is done, or gone
	ExitUsage    = 64 // unknown arguments, or not on Linux
	ExitProtocol = 65 // a frame broke the protocol
	ExitIdle     = 66 // the host was silent for the idle time
	ExitDeadline = 67 // its lifetime was over
	ExitNoHello  = 68 // nobody greeted it in time
)
