package egress

import (
	"bufio"
	"net/netip"
	"os"
	"strings"
	"testing"
)

// vectors reads the lines of a file in testdata that are not comments.
func vectors(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := strings.TrimSpace(s.Text()); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if len(lines) < 20 {
		t.Fatalf("%s: %d cases, which cannot be all", name, len(lines))
	}
	return lines
}

func policy(t *testing.T, list ...string) Policy {
	t.Helper()
	p, err := NewPolicy(list, []netip.Addr{netip.MustParseAddr("198.41.0.4"), netip.MustParseAddr("10.1.2.3")})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, line := range vectors(t, "addresses.txt") {
		f := strings.Split(line, ";")
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		if len(f) != 4 {
			t.Fatalf("%q: want four parts", line)
		}
		var list []string
		if f[0] != "-" {
			list = strings.Split(f[0], ",")
		}
		reason, ok := policy(t, list...).Judge(netip.MustParseAddr(f[1]))
		if got := map[bool]string{true: "permitted", false: "refused"}[ok]; got != f[2] || string(reason) != f[3] {
			t.Errorf("%s: got %s, %s", line, got, reason)
		}
	}
}

func TestNoAccessPermitsNothing(t *testing.T) {
	t.Parallel()
	for _, a := range []string{"1.1.1.1", "127.0.0.1", "2606:4700::1"} {
		if reason, ok := (Policy{}).Judge(netip.MustParseAddr(a)); ok || reason != NoNetwork {
			t.Errorf("%s: got %v, %s", a, ok, reason)
		}
	}
	if _, ok := policy(t).Judge(netip.Addr{}); ok {
		t.Error("no address is permitted")
	}
	for _, entry := range []string{"", "10.0.0.1", "example.com", "10.0.0.0/33", "fe80::%eth0/64", " 10.0.0.0/8"} {
		if _, err := NewPolicy([]string{entry}, nil); err == nil {
			t.Errorf("allowlist entry %q: got no error", entry)
		}
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	for _, line := range vectors(t, "hosts.txt") {
		host, want, _ := strings.Cut(line, " -> ")
		addr, name, bad := parseHost(host)
		got := string(bad)
		switch {
		case addr.IsValid():
			got = "address " + addr.String()
		case name != "":
			got = "name " + name
		}
		if got != want {
			t.Errorf("%s: got %s", line, got)
		}
	}
	for _, host := range []string{"", strings.Repeat("a", 254), strings.Repeat("a", 64) + ".example", "a\x00b", "a\nb"} {
		if _, _, bad := parseHost(host); bad != BadHost {
			t.Errorf("%.80q: got %q", host, bad)
		}
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint16{"1": 1, "80": 80, "65535": 65535} {
		if got, ok := parsePort(text); !ok || got != want {
			t.Errorf("%q: got %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "0", "080", "+80", "-1", "65536", "99999", "4294967376", "http", "8 0", "８０", "0x50"} {
		if got, ok := parsePort(text); ok {
			t.Errorf("%q: got %d", text, got)
		}
	}
}

// FuzzHost holds what is read as a host against what any other reader could
// take it for.
func FuzzHost(f *testing.F) {
	for _, seed := range []string{"127.0.0.1", "example.com.", "0x7f.1", "::ffff:7f00:1", "fe80::1%0", "a..b", "①", "2130706433"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		addr, name, bad := parseHost(host)
		n := 0
		for _, is := range []bool{addr.IsValid(), name != "", bad != ""} {
			if is {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("%q is %d things at once: %v, %q, %q", host, n, addr, name, bad)
		}
		if addr.Zone() != "" || strings.ContainsAny(name, "%:/@[]\\ \t\r\n\x00") {
			t.Fatalf("%q: got %v, %q", host, addr, name)
		}
		if _, err := netip.ParseAddr(name); err == nil {
			t.Fatalf("%q: the name %q is an address", host, name)
		}
		if _, again, _ := parseHost(name); name != "" && again != name {
			t.Fatalf("%q: read again, %q is %q", host, name, again)
		}
	})
}
