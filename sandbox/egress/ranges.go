package egress

import "net/netip"

// Reason is why a destination is permitted or refused.
type Reason string

// The reasons of what is permitted.
const (
	Public      Reason = "public"    // there is no allowlist, and the address is public
	Allowlisted Reason = "allowlist" // it is on the allowlist
)

// The reasons of what is refused.
const (
	NoNetwork   Reason = "no_network"       // the policy gives no access
	NotListed   Reason = "not_in_allowlist" // there is an allowlist, and it is not on it
	BadHost     Reason = "bad_host"         // neither a name nor an address
	BadPort     Reason = "bad_port"
	BadRequest  Reason = "bad_request" // what was asked for is no request that can be sent
	BadAddress  Reason = "bad_address" // an address in a form that programs read differently
	Unresolved  Reason = "unresolved"  // the name has no address
	Metadata    Reason = "metadata"    // a cloud's metadata service
	Loopback    Reason = "loopback"
	ThisMachine Reason = "this_machine" // a public address of this machine
	Private     Reason = "private"
	LinkLocal   Reason = "link_local"
	Shared      Reason = "shared" // between a carrier's customers
	Reserved    Reason = "reserved"
	Translated  Reason = "translated" // an IPv6 address that stands for an IPv4 one
	Unspecified Reason = "unspecified"
	Multicast   Reason = "multicast"
	TooMany     Reason = "too_many_connections"
	TooMuch     Reason = "too_many_bytes"
)

// block is a part of the address space whose addresses are judged alike.
type block struct {
	prefix netip.Prefix
	reason Reason // Public, or why its addresses are refused
}

// never tells the blocks whose addresses name no single host.
func (b block) never() bool { return b.reason == Unspecified || b.reason == Multicast }

// blocks hold what IANA's registries of special addresses say, and what clouds
// made of it. The most specific block of an address counts. IPv6 is public where
// it is given out for that, and reserved elsewhere.
var blocks = []block{
	{netip.MustParsePrefix("0.0.0.0/0"), Public},
	{netip.MustParsePrefix("0.0.0.0/8"), Unspecified}, // a connection to it is one to this machine
	{netip.MustParsePrefix("10.0.0.0/8"), Private},
	{netip.MustParsePrefix("100.64.0.0/10"), Shared},
	{netip.MustParsePrefix("100.100.100.200/32"), Metadata}, // Alibaba
	{netip.MustParsePrefix("127.0.0.0/8"), Loopback},
	{netip.MustParsePrefix("168.63.129.16/32"), Metadata}, // Azure
	{netip.MustParsePrefix("169.254.0.0/16"), LinkLocal},
	{netip.MustParsePrefix("169.254.169.254/32"), Metadata}, // nearly everybody
	{netip.MustParsePrefix("169.254.170.2/32"), Metadata},   // AWS, for tasks
	{netip.MustParsePrefix("169.254.170.23/32"), Metadata},  // AWS, for pods
	{netip.MustParsePrefix("172.16.0.0/12"), Private},
	{netip.MustParsePrefix("192.0.0.0/24"), Reserved},
	{netip.MustParsePrefix("192.0.0.192/32"), Metadata}, // Oracle
	{netip.MustParsePrefix("192.0.2.0/24"), Reserved},
	{netip.MustParsePrefix("192.88.99.0/24"), Reserved},
	{netip.MustParsePrefix("192.168.0.0/16"), Private},
	{netip.MustParsePrefix("198.18.0.0/15"), Reserved},
	{netip.MustParsePrefix("198.51.100.0/24"), Reserved},
	{netip.MustParsePrefix("203.0.113.0/24"), Reserved},
	{netip.MustParsePrefix("224.0.0.0/4"), Multicast},
	{netip.MustParsePrefix("240.0.0.0/4"), Reserved},
	{netip.MustParsePrefix("255.255.255.255/32"), Multicast},

	{netip.MustParsePrefix("::/0"), Reserved},
	{netip.MustParsePrefix("::/96"), Translated},
	{netip.MustParsePrefix("::/128"), Unspecified},
	{netip.MustParsePrefix("::1/128"), Loopback},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), Translated},
	{netip.MustParsePrefix("64:ff9b:1::/48"), Translated},
	{netip.MustParsePrefix("2000::/3"), Public},
	{netip.MustParsePrefix("2001::/23"), Reserved},
	{netip.MustParsePrefix("2001::/32"), Translated}, // Teredo
	{netip.MustParsePrefix("2001:db8::/32"), Reserved},
	{netip.MustParsePrefix("2002::/16"), Translated}, // 6to4
	{netip.MustParsePrefix("3fff::/20"), Reserved},
	{netip.MustParsePrefix("fc00::/7"), Private},
	{netip.MustParsePrefix("fd00:ec2::254/128"), Metadata}, // AWS
	{netip.MustParsePrefix("fd00:ec2::23/128"), Metadata},  // AWS, for pods
	{netip.MustParsePrefix("fd20:ce::254/128"), Metadata},  // Google
	{netip.MustParsePrefix("fd00:42::42/128"), Metadata},   // Scaleway
	{netip.MustParsePrefix("fe80::/10"), LinkLocal},
	{netip.MustParsePrefix("fe80::a9fe:a9fe/128"), Metadata}, // OpenStack
	{netip.MustParsePrefix("fec0::/10"), Private},
	{netip.MustParsePrefix("ff00::/8"), Multicast},
}

// nat64 is how the addresses begin (64:ff9b::/96) by which networks without IPv4
// reach public servers.
const nat64 = "\x00\x64\xff\x9b\x00\x00\x00\x00\x00\x00\x00\x00"

// meant is the address that a connection to a ends at. One of nat64 ends at the
// IPv4 address that it holds.
func meant(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if b := a.As16(); a.Is6() && string(b[:12]) == nat64 {
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// blockOf is the most specific block of an address.
func blockOf(a netip.Addr) block {
	best := block{reason: Reserved}
	for _, b := range blocks {
		if b.prefix.Contains(a) && (!best.prefix.IsValid() || b.prefix.Bits() > best.prefix.Bits()) {
			best = b
		}
	}
	return best
}
