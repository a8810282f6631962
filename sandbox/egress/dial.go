package egress

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// Resolver finds the addresses of a name; [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Decision is what was decided about one connection.
type Decision struct {
	Via  string // who wanted it: ViaTool or ViaProxy
	Host string // as it was asked for, at most 253 bytes of it
	Port uint16 // 0 for one that is none
	// Path is what an http address that a program asked the proxy for has after
	// its host, at most 2 KiB of it. What goes through a CONNECT is not seen.
	Path    string
	Address netip.Addr
	Allowed bool
	Reason  Reason
}

// Who wants a connection.
const (
	ViaTool  = "http_request"
	ViaProxy = "proxy" // a program in the box
)

// Limits bound what one Dialer does. Zero fields take the defaults in
// parentheses.
type Limits struct {
	Open        int           // connections at once (64)
	Connections int           // connections in all, refused ones too (10,000)
	Bytes       int64         // in both directions together (4 GiB)
	Connect     time.Duration // to resolve a name and connect (15 s)
	Idle        time.Duration // silence that ends a connection (2 minutes)
}

func (l Limits) withDefaults() Limits {
	if l.Open <= 0 {
		l.Open = 64
	}
	if l.Connections <= 0 {
		l.Connections = 10_000
	}
	if l.Bytes <= 0 {
		l.Bytes = 4 << 30
	}
	if l.Connect <= 0 {
		l.Connect = 15 * time.Second
	}
	if l.Idle <= 0 {
		l.Idle = 2 * time.Minute
	}
	return l
}

// Options are what a Dialer is made with.
type Options struct {
	Policy   Policy
	Resolver Resolver // nil: this machine's
	Limits   Limits
	// Decided hears of every decision, from several goroutines and before the
	// connection is made; nil: nobody does. After a limit on connections is
	// reached it hears of that once.
	Decided func(Decision)
	// Roots are whom servers' certificates must come from; nil: whom this
	// machine trusts.
	Roots *x509.CertPool
}

// Dialer makes the connections of one trial. It is safe for concurrent use.
type Dialer struct {
	o      Options
	net    net.Dialer
	open   chan struct{}
	client map[string]*http.Transport // by who wants the connection

	mu   sync.Mutex
	used Used
	said bool // that there were too many connections
}

// Used is what a Dialer has done so far.
type Used struct {
	Allowed, Refused int
	Sent, Received   int64
}

// New makes a dialer.
func New(o Options) *Dialer {
	o.Limits = o.Limits.withDefaults()
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	d := &Dialer{o: o, open: make(chan struct{}, o.Limits.Open), client: map[string]*http.Transport{}}
	for _, via := range []string{ViaTool, ViaProxy} {
		d.client[via] = d.transport(via)
	}
	return d
}

// Used counts what went through the dialer.
func (d *Dialer) Used() Used {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used
}

// Refused is the error of a destination that is not permitted.
type Refused struct {
	Host    string
	Address netip.Addr // when it was known
	Reason  Reason
}

func (e *Refused) Error() string {
	at := strconv.Quote(e.Host)
	if e.Address.IsValid() && e.Address.String() != e.Host {
		at += " (" + e.Address.String() + ")"
	}
	return fmt.Sprintf("the network policy refuses %s: %s", at, e.Reason.text())
}

func (r Reason) text() string {
	switch r {
	case NoNetwork:
		return "this pack does not permit network access"
	case NotListed:
		return "it is not in the pack's network_allowlist"
	case BadHost:
		return "it is neither a host name nor an address"
	case BadPort:
		return "its port is not a number from 1 to 65535"
	case BadRequest:
		return "the request is none that can be sent"
	case BadAddress:
		return "the address is not in its usual form"
	case Unspecified, Multicast:
		return "it names no single host (" + string(r) + ")"
	case TooMany:
		return "the trial has made too many connections"
	case TooMuch:
		return "the trial has sent and received too much"
	}
	return "the address is not public (" + string(r) + "), and the pack's network_allowlist does not name it"
}

// resolveError is of a name without an address.
type resolveError struct {
	host string
	err  error
}

func (e *resolveError) Error() string {
	why := "no such host"
	var dns *net.DNSError
	if errors.As(e.err, &dns) && dns.Err != "" {
		why = dns.Err // without the name server's address
	}
	return fmt.Sprintf("find the address of %q: %s", e.host, why)
}

func (e *resolveError) Unwrap() error { return e.err }

// connectError is of a destination that is permitted and does not answer.
type connectError struct {
	host string
	err  error
}

func (e *connectError) Error() string { return fmt.Sprintf("connect to %q: %v", e.host, e.err) }
func (e *connectError) Unwrap() error { return e.err }

// connect judges a destination and connects to the address that was judged.
func (d *Dialer) connect(ctx context.Context, via, host, port string) (net.Conn, error) {
	p, ok := parsePort(port)
	to := Decision{Via: via, Host: host[:min(len(host), maxHost)], Port: p, Path: pathOf(ctx)}
	if reason := d.count(); reason != "" {
		return nil, d.refuse(to, reason)
	}
	if !ok {
		return nil, d.refuse(to, BadPort)
	}
	ctx, stop := context.WithTimeout(ctx, d.o.Limits.Connect)
	defer stop()
	addrs, err := d.permitted(ctx, to)
	if err != nil {
		return nil, err
	}
	select {
	case d.open <- struct{}{}:
	default:
		return nil, d.refuse(to, TooMany)
	}
	conn, err := d.first(ctx, to, addrs)
	if err != nil {
		<-d.open
		return nil, err
	}
	return d.metered(conn), nil
}

// pathKey is the key of a request's path in its context.
type pathKey struct{}

// maxPath is how many bytes of a path are told.
const maxPath = 2 << 10

func pathOf(ctx context.Context) string {
	p, _ := ctx.Value(pathKey{}).(string)
	return p[:min(len(p), maxPath)]
}

func parsePort(s string) (uint16, bool) {
	if s == "" || len(s) > 5 || s[0] == '+' || s[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 16)
	return uint16(n), err == nil
}

// count takes note of a wish for a connection, and says why it comes too late.
func (d *Dialer) count() Reason {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.used.Allowed+d.used.Refused >= d.o.Limits.Connections:
		return TooMany
	case d.used.Sent+d.used.Received >= d.o.Limits.Bytes:
		return TooMuch
	}
	return ""
}

// permitted finds the addresses of a destination that may be connected to.
func (d *Dialer) permitted(ctx context.Context, to Decision) ([]netip.Addr, error) {
	addr, name, bad := parseHost(to.Host)
	if bad != "" {
		return nil, d.refuse(to, bad)
	}
	if !d.o.Policy.access {
		return nil, d.refuse(to, NoNetwork) // and no name server hears of it
	}
	found := []netip.Addr{addr}
	if name != "" {
		var err error
		if found, err = d.o.Resolver.LookupNetIP(ctx, "ip", name); err != nil || len(found) == 0 {
			if ctx.Err() == nil {
				_ = d.refuse(to, Unresolved)
			}
			return nil, &resolveError{to.Host, errors.Join(err, ctx.Err())}
		}
	}
	var good []netip.Addr
	for _, a := range found {
		to.Address = a.Unmap()
		reason, ok := d.o.Policy.Judge(a)
		switch {
		case ok:
			good = append(good, to.Address)
		case !d.o.Policy.listed(): // a name that leads there is not meant well
			return nil, d.refuse(to, reason)
		case len(good) == 0:
			to.Reason = reason
		}
	}
	if len(good) == 0 {
		return nil, d.refuse(to, to.Reason)
	}
	return good[:min(len(good), maxTried)], nil
}

// maxTried is how many addresses of a name are tried.
const maxTried = 4

// first connects to the first address that answers.
func (d *Dialer) first(ctx context.Context, to Decision, addrs []netip.Addr) (net.Conn, error) {
	var failed error
	for _, a := range addrs {
		to.Address = a
		reason, ok := d.o.Policy.Judge(a)
		if !ok {
			return nil, d.refuse(to, reason)
		}
		to.Allowed, to.Reason = true, reason
		d.decide(to)
		conn, err := d.net.DialContext(ctx, "tcp", netip.AddrPortFrom(a, to.Port).String())
		if err == nil {
			return conn, nil
		}
		failed = err
	}
	return nil, &connectError{to.Host, failed}
}

// refuse states that a destination is not permitted.
func (d *Dialer) refuse(to Decision, reason Reason) error {
	to.Allowed, to.Reason = false, reason
	d.decide(to)
	return &Refused{Host: to.Host, Address: to.Address, Reason: reason}
}

func (d *Dialer) decide(to Decision) {
	d.mu.Lock()
	quiet := d.said && to.Reason == TooMany
	d.said = d.said || to.Reason == TooMany
	if to.Allowed {
		d.used.Allowed++
	} else {
		d.used.Refused++
	}
	d.mu.Unlock()
	if d.o.Decided != nil && !quiet {
		d.o.Decided(to)
	}
}
