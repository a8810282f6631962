package docker

import (
	"cmp"
	"time"

	"github.com/agentclash/agentclash/sandbox/guestbox"
)

// The images that are known by name here.
const (
	// DefaultImage is used when no other is asked for.
	DefaultImage = "python:3.12-slim"
	// StandInImage takes the default's place where that one is absent and
	// cannot be pulled. It is made by image/build.sh.
	StandInImage = "agentclash/sandbox:local"
	// BuiltinImage names the image that is part of the product: a shell, a few
	// file commands, and nothing else.
	BuiltinImage = "builtin"
)

// Options are how a provider finds its engine and what it does with it.
type Options struct {
	// Host is the engine's address when it was given by flag. When empty,
	// DOCKER_HOST, DOCKER_CONTEXT, the current context, the default socket and
	// the usual places of desktop engines are tried, in that order.
	Host string
	// Getenv reads the environment; nil is an empty one.
	Getenv func(string) string
	// SSH is the program for ssh:// addresses; "" is ssh.
	SSH string

	// Image is for boxes that name none; "" is DefaultImage.
	Image string
	// NoPull uses what the engine has, and never a registry.
	NoPull bool
	// PullPatience is how long a pull may show no progress; 0 is 2 minutes.
	PullPatience time.Duration
	// User runs boxes as this user, "uid" or "uid:gid"; "" leaves it to the
	// image.
	User string
	// Memory is how many bytes the boxes of this provider may have as their
	// limits together; 0 is 80 % of what the engine has, less what the boxes of
	// other processes may have.
	Memory int64
	// Guest returns the guest's executable for a Linux machine of that
	// architecture (amd64, arm64); it must be static. It is asked for when a box
	// is first opened, and once more when the engine does not have it yet.
	Guest func(arch string) ([]byte, error)

	// Owner names this process for as long as it lives, HostID the machine it
	// runs on. Alive tells whether the process of an owner of this machine still
	// runs; when nil, every owner counts as alive.
	Owner, HostID string
	Alive         func(owner string) bool

	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Progress receives lines for people, such as those of a pull; nil drops
	// them. It may be called from several goroutines.
	Progress func(line string)
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

func (o Options) progress(line string) {
	if o.Progress != nil {
		o.Progress(line)
	}
}

func (o Options) owner() guestbox.Owner {
	return guestbox.Owner{Process: o.Owner, Host: o.HostID, Alive: o.Alive}
}

func (o Options) image() string { return cmp.Or(o.Image, DefaultImage) }

// How long the engine may take. A call that is over its time may still have
// happened: everything that follows one looks before it believes.
const (
	createTime  = 30 * time.Second
	startTime   = 60 * time.Second
	callTime    = 15 * time.Second
	greetTime   = 15 * time.Second
	removeGrace = 2 * time.Second
	deliverTime = 5 * time.Minute // some 60 MB, over whatever line there is
	// dialTime is for a connection to an engine, which is there or not; answerTime
	// for its first answer, which a busy machine may hold up.
	dialTime   = 500 * time.Millisecond
	answerTime = 5 * time.Second
	// sshTime is for the first answer through ssh, which has a handshake of its
	// own.
	sshTime = 15 * time.Second
)
