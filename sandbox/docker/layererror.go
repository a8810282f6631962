package docker

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/agentclash/agentclash/sandbox/guest"
	"github.com/agentclash/agentclash/sandbox/guestbox"
)

// unlocated is how apt-get says that it knows no such package.
var unlocated = regexp.MustCompile(`(?m)^E: (?:Unable to locate package|Package|Couldn't find any package by (?:glob|regex)) '?([a-z0-9.+-]+?)'?(?: has no installation candidate)?$`)

// explain says why packages could not be installed, and what to do.
func (w *workshop) explain(what string, limit time.Duration, r guest.Result) error {
	said := w.clean(string(r.Stdout.Head) + string(r.Stdout.Tail) + "\n" + string(r.Stderr.Head) + string(r.Stderr.Tail))
	says := func(any ...string) bool {
		for _, s := range any {
			if strings.Contains(said, s) {
				return true
			}
		}
		return false
	}
	ref := w.layer.base.ref
	switch m := unlocated.FindStringSubmatch(said); {
	case r.StartError != "":
		return imageError("%q has no apt-get (%s), so no packages can be installed in it; name an image made from Debian or Ubuntu, or one that has the packages", ref, r.StartError)
	case r.TimedOut:
		return imageError("%s packages for %q took longer than %s: %s; try again, or make an image that has them", what, ref, limit, lastError(said))
	case r.OutOfMemory:
		return imageError("%s packages for %q took more than %d MiB of memory; make an image that has them", what, ref, buildMemory>>20)
	case says("No space left on device", "You don't have enough free space"):
		return imageError("the engine's disk is full while %s packages for %q: %s; make room (docker system df shows what takes it)", what, ref, lastError(said))
	case m != nil:
		return unknownPackage(m[1], ref)
	case says("Temporary failure resolving", "Could not resolve", "Could not connect", "Cannot initiate the connection", "Network is unreachable", "Connection timed out", "Connection failed"):
		return imageError("the sources of packages of %q cannot be reached: %s; containers need a network to install packages (see whether docker run --rm %s apt-get update works, and set HTTP_PROXY where there is a proxy)", ref, lastError(said), ref)
	}
	return imageError("%s packages for %q failed with exit status %d: %s", what, ref, r.ExitCode, lastError(said))
}

func unknownPackage(name, ref string) error {
	return imageError("the sources of packages of %q have no package %q; look for its name in that release (docker run --rm %s sh -c 'apt-get update -qq && apt-cache search %s')", ref, name, ref, name)
}

// clean takes what the build was told in confidence out of what it says.
func (w *workshop) clean(s string) string {
	for _, secret := range w.secret {
		s = strings.ReplaceAll(s, secret, "[proxy]")
		if _, host, ok := strings.Cut(secret, "@"); ok {
			credentials := strings.TrimSuffix(secret, "@"+host)
			if _, after, ok := strings.Cut(credentials, "://"); ok {
				credentials = after
			}
			s = strings.ReplaceAll(s, credentials, "[proxy]")
			if _, password, ok := strings.Cut(credentials, ":"); ok && password != "" {
				s = strings.ReplaceAll(s, password, "[proxy]")
			}
		}
	}
	return s
}

// lastError is the line that says most: the last of apt's errors, else the last
// there is.
func lastError(said string) string {
	last := ""
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "E: ") || line != "" && !strings.HasPrefix(last, "E: ") {
			last = line
		}
	}
	return fmt.Sprintf("%q", guestbox.Tame(last))
}
