package wire

import (
	"cmp"
	"time"
)

// Limits bound what a server may do to us. Zero fields take DefaultLimits'.
type Limits struct {
	// Idle is the longest silence: before the reply's headers, and between two
	// pieces of its body. Keep-alive comments count as pieces. Passing it is a
	// Timeout.
	Idle time.Duration
	// StreamBytes bounds a whole stream as it is on the wire, ReplyBytes the
	// text, tool calls and state assembled from it, ArgumentBytes the arguments
	// of one tool call. Passing one is a MalformedResponse.
	StreamBytes   int64
	ReplyBytes    int64
	ArgumentBytes int64
}

// DefaultLimits are 5 minutes of silence, a stream of 64 MiB, a reply of 4 MiB,
// which is several times what models write at most, and arguments of 4 MiB. Each
// byte of a reply is in memory about ten times while it is passed on and kept.
func DefaultLimits() Limits {
	return Limits{Idle: 5 * time.Minute, StreamBytes: 64 << 20, ReplyBytes: 4 << 20, ArgumentBytes: 4 << 20}
}

func (l Limits) orDefaults() Limits {
	d := DefaultLimits()
	return Limits{
		Idle:          cmp.Or(l.Idle, d.Idle),
		StreamBytes:   cmp.Or(l.StreamBytes, d.StreamBytes),
		ReplyBytes:    cmp.Or(l.ReplyBytes, d.ReplyBytes),
		ArgumentBytes: cmp.Or(l.ArgumentBytes, d.ArgumentBytes),
	}
}
