package guestbox

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentclash/agentclash/sandbox"
)

// The labels that tell whose a box is, and how long it may be.
const (
	LabelOwner   = "dev.agentclash.owner"
	LabelHost    = "dev.agentclash.host"
	LabelRun     = "dev.agentclash.run"
	LabelTrial   = "dev.agentclash.trial"
	LabelAgent   = "dev.agentclash.agent"
	LabelCase    = "dev.agentclash.case"
	LabelExpires = "dev.agentclash.expires" // see Expiry
)

const (
	// maxLabel bounds what packs and people put into a label.
	maxLabel = 256
	// expiryGrace is how long a box may outlive its lifetime before someone other
	// than its owner removes it: clocks of two machines differ.
	expiryGrace = time.Minute
)

// Owner is the process that boxes belong to. Process names it for as long as it
// lives, Host the machine it runs on. Alive tells whether the process of an
// owner of this machine still runs; when nil, every owner counts as alive.
type Owner struct {
	Process, Host string
	Alive         func(owner string) bool
}

// Labels are those of something of the owner's that is to be gone at ends.
func (o Owner) Labels(ends time.Time) map[string]string {
	return map[string]string{LabelOwner: o.Process, LabelHost: o.Host, LabelExpires: Expiry(ends)}
}

// Has tells from labels whether something is this owner's.
func (o Owner) Has(labels map[string]string) bool {
	return labels[LabelOwner] == o.Process && labels[LabelHost] == o.Host
}

// Abandoned tells from labels whether nobody looks after something: its process
// on this machine is dead, or its time is over.
func (o Owner) Abandoned(labels map[string]string, now time.Time) bool {
	if o.Has(labels) {
		return false
	}
	if labels[LabelHost] == o.Host && o.Alive != nil && !o.Alive(labels[LabelOwner]) {
		return true
	}
	expires, err := strconv.ParseInt(labels[LabelExpires], 10, 64)
	return err == nil && now.After(time.Unix(expires, 0).Add(expiryGrace))
}

// Expiry is the value of LabelExpires: unix seconds.
func Expiry(ends time.Time) string { return strconv.FormatInt(ends.Unix(), 10) }

// TrialLabels say for people what a box is for.
func TrialLabels(l sandbox.Labels) map[string]string {
	return map[string]string{LabelRun: Tame(l.RunID), LabelTrial: Tame(l.TrialID), LabelAgent: Tame(l.Agent), LabelCase: Tame(l.Case)}
}

// Tame makes a label's value, or a line for people, of a text from outside.
func Tame(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return -1
		}
		return r
	}, s)
	if len(s) > maxLabel {
		s = strings.ToValidUTF8(s[:maxLabel], "")
	}
	return s
}

// CheckEnv refuses variables that no environment can hold, with
// [sandbox.ErrSpec].
func CheckEnv(env map[string]string) error {
	for k, v := range env {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(v, "\x00") {
			return fmt.Errorf("%w: environment variable %q: a name holds no '=' and neither part a NUL byte", sandbox.ErrSpec, Tame(k))
		}
	}
	return nil
}
