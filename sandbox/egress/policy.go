package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Policy says which destinations are permitted. The zero Policy permits none.
// It does not change once it is made.
type Policy struct {
	access bool
	list   []netip.Prefix
	own    []netip.Addr // of this machine
}

// NewPolicy gives access: to public addresses, or, when the allowlist is not
// empty, to the address ranges on it, each as 10.0.0.0/8 or fd00::/8. The
// machine's own addresses are those at which more would be reached than the
// world can reach there.
func NewPolicy(allowlist []string, own []netip.Addr) (Policy, error) {
	p := Policy{access: true}
	for _, entry := range allowlist {
		prefix, err := netip.ParsePrefix(entry)
		if err != nil {
			return Policy{}, fmt.Errorf("network_allowlist: %q is not an address range such as 10.0.0.0/8", entry)
		}
		if a := prefix.Addr(); a.Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(a.Unmap(), prefix.Bits()-96)
		}
		p.list = append(p.list, prefix.Masked())
	}
	for _, a := range own {
		p.own = append(p.own, a.Unmap().WithZone(""))
	}
	return p, nil
}

// MachineAddrs are the addresses of this machine's interfaces.
func MachineAddrs() []netip.Addr {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil // what is not public is refused anyway
	}
	var own []netip.Addr
	for _, a := range found {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr())
		}
	}
	return own
}

// Judge says whether an address is permitted, and why.
func (p Policy) Judge(a netip.Addr) (Reason, bool) {
	switch {
	case !p.access:
		return NoNetwork, false
	case !a.IsValid() || a.Zone() != "":
		return BadAddress, false
	}
	a = meant(a)
	b := blockOf(a)
	if b.reason == Public && slices.Contains(p.own, a) {
		b = block{netip.PrefixFrom(a, a.BitLen()), ThisMachine}
	}
	switch {
	case b.never():
		return b.reason, false
	case len(p.list) == 0:
		return b.reason, b.reason == Public
	case slices.ContainsFunc(p.list, func(entry netip.Prefix) bool { return entry.Contains(a) && speaksOf(entry, b) }):
		return Allowlisted, true
	case b.reason == Public:
		return NotListed, false
	}
	return b.reason, false
}

// speaksOf says whether an entry of the allowlist means a block that is not
// public: it has to lie within it. One that is broader says nothing about it.
func speaksOf(entry netip.Prefix, b block) bool {
	return b.reason == Public || entry.Bits() >= b.prefix.Bits() && b.prefix.Contains(entry.Addr())
}

// listed tells whether there is an allowlist.
func (p Policy) listed() bool { return len(p.list) > 0 }

// maxHost is the longest name there is.
const maxHost = 253

// parseHost reads a host as an address or as a name, which comes back in lower
// case and without a dot at its end. What programs disagree about is neither.
func parseHost(host string) (addr netip.Addr, name string, bad Reason) {
	host = strings.TrimSuffix(host, ".")
	if host == "" || len(host) > maxHost {
		return netip.Addr{}, "", BadHost
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return netip.Addr{}, "", BadAddress
		}
		return addr, "", ""
	}
	name = strings.ToLower(host)
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) {
			return netip.Addr{}, "", BadHost
		}
		last = label
	}
	if isNumber(last) {
		return netip.Addr{}, "", BadAddress
	}
	return netip.Addr{}, name, ""
}

func isLabel(s string) bool {
	return s != "" && len(s) <= 63 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// isNumber tells whether some program would take a name's last label for a
// number, and so the name for an address: 2130706433, 0177.1, 0x7f000001.
func isNumber(label string) bool {
	digits, hex := label, false
	if rest, ok := strings.CutPrefix(label, "0x"); ok {
		digits, hex = rest, true
	}
	return !strings.ContainsFunc(digits, func(r rune) bool {
		return (r < '0' || r > '9') && (!hex || r < 'a' || r > 'f')
	})
}
