package cli

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Proxy is what a variable says of the proxy for addresses of a scheme.
type Proxy struct {
	Variable string   // "" where none is set
	URL      *url.URL // without name and password; nil where the address goes by none
}

// ProxyFor is the proxy that a request to an address goes by. What is no address of a
// proxy is refused here, where it can be named: Go would look for a host of some name in it.
func (a *App) ProxyFor(address string) (Proxy, error) {
	to, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return Proxy{}, Usage("%q is no address", address)
	}
	p := Proxy{}
	name := strings.ToUpper(to.Scheme) + "_PROXY"
	for _, variable := range []string{name, strings.ToLower(name)} { // in the order of net/http
		if p.Variable == "" && a.Process.Getenv(variable) != "" {
			p.Variable = variable
		}
	}
	if p.Variable == "" {
		return p, nil
	}
	u, err := http.ProxyFromEnvironment(&http.Request{URL: to})
	if err == nil && u == nil {
		return p, nil // NO_PROXY, or this machine
	}
	if err != nil || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) ||
		u.Hostname() == "" || strings.ContainsAny(u.Host, " /") || strings.HasSuffix(u.Host, ":") || strings.Trim(u.Path, "/") != "" {
		// its value may hold a password
		return p, BadConfig("%s is no address of a proxy", p.Variable).Hint("export %s=http://HOST:PORT, or unset %[1]s", p.Variable)
	}
	p.URL = &url.URL{Scheme: u.Scheme, Host: u.Host}
	return p, nil
}
