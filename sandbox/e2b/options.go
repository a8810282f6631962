package e2b

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/agentclash/agentclash/sandbox"
)

// DefaultAPI is the control plane when nothing is said.
const DefaultAPI = "https://api.e2b.app"

const (
	defaultDomain  = "e2b.app"
	defaultTimeout = 30 * time.Second
)

// Options say whose machines, made of what.
type Options struct {
	Key      string // sent to BaseURL alone
	Template string // a template's id or alias
	// BaseURL is the control plane's address, https unless it is on this
	// machine ("https://api.e2b.app").
	BaseURL string
	// SandboxURL is the address of every machine's daemon, for installations
	// that serve all of them under one; "" means a host name for each.
	SandboxURL string
	// Timeout bounds each request but those that last as long as a box (30 s).
	Timeout time.Duration
	// Guest returns the static Linux executable that runs in machines, for
	// amd64.
	Guest func(arch string) ([]byte, error)
	// Owner and HostID name this process and this machine in labels, Alive
	// tells whether an owner of this machine still runs.
	Owner, HostID string
	Alive         func(owner string) bool
	Now           func() time.Time
	Proxy         func(*http.Request) (*url.URL, error)
	// Lease is how long a machine may live without its owner's word (10 min).
	Lease time.Duration
	// RetryAfter is the wait when E2B is over its limit and does not say for
	// how long (15 s).
	RetryAfter time.Duration
}

// settled fills in what is open and refuses what cannot work, all at once.
func (o Options) settled(needTemplate bool) (Options, error) {
	o.BaseURL = strings.TrimRight(cmp.Or(strings.TrimSpace(o.BaseURL), DefaultAPI), "/")
	o.SandboxURL = strings.TrimRight(strings.TrimSpace(o.SandboxURL), "/")
	o.Timeout, o.Lease = cmp.Or(o.Timeout, defaultTimeout), cmp.Or(o.Lease, 10*time.Minute)
	o.RetryAfter = cmp.Or(o.RetryAfter, 15*time.Second)
	o.Key, o.Template = strings.TrimSpace(o.Key), strings.TrimSpace(o.Template)
	if o.Now == nil {
		o.Now = time.Now
	}
	var wrong []error
	if o.Key == "" {
		wrong = append(wrong, fmt.Errorf("%w: set E2B_API_KEY", sandbox.ErrKey))
	} else if strings.ContainsFunc(o.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		wrong = append(wrong, fmt.Errorf("%w: E2B_API_KEY holds what no key holds", sandbox.ErrKey))
	}
	if o.Template == "" && needTemplate {
		wrong = append(wrong, errors.New("no E2B template is named: set E2B_TEMPLATE_ID, or version.sandbox.sandbox_template_id in the pack"))
	}
	if err := checkURL("E2B_API_BASE_URL", o.BaseURL); err != nil {
		wrong = append(wrong, err)
	}
	if o.SandboxURL != "" {
		if err := checkURL("E2B_SANDBOX_URL", o.SandboxURL); err != nil {
			wrong = append(wrong, err)
		}
	}
	if o.Timeout < 0 {
		wrong = append(wrong, errors.New("E2B_REQUEST_TIMEOUT must be positive"))
	}
	return o, errors.Join(wrong...)
}

// checkURL refuses addresses to which a key would go in the clear.
func checkURL(name, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%s is no address such as %s", name, DefaultAPI)
	}
	switch {
	case u.Scheme == "https":
	case u.Scheme == "http" && loopback(u.Hostname()):
	default:
		return fmt.Errorf("%s must be https: a key goes there", name)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Check says what is wrong with the options, nil for nothing. It asks nobody.
func (o Options) Check() error {
	_, err := o.settled(true)
	return err
}

// errLimits refuses limits that no box can have.
func errLimits(l sandbox.Limits) error {
	if l.PIDs < 32 || l.OpenFiles < 64 || l.WorkspaceBytes < 0 || l.OutputBytes < 0 || l.FileBytes < 0 {
		return fmt.Errorf("%w: at least 32 processes and 64 open files; got %d and %d", sandbox.ErrSpec, l.PIDs, l.OpenFiles)
	}
	return nil
}
