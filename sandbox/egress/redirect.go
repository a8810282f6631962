package egress

import (
	"net/http"
	"net/url"
	"strings"
)

// kept are the headers that a redirect to another origin still gets: they say
// what the caller would like to read, and nothing about who it is.
var kept = []string{"Accept", "Accept-Language", "User-Agent"}

// redirect makes the request that a response asks for; nil when it asks for
// none.
func redirect(req *http.Request, resp *http.Response, hasBody bool) (*http.Request, error) {
	location := resp.Header.Get("Location")
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	if location == "" {
		return nil, nil
	}
	ref, err := url.Parse(location)
	if err != nil {
		return nil, failed(PhaseRedirect, "the server redirects to what is no url")
	}
	to, err := parseURL(req.URL.ResolveReference(ref).String())
	if err != nil {
		return nil, &RequestError{PhaseRedirect, err}
	}
	next := req.Clone(req.Context())
	next.URL, next.Host = to, to.Host
	same := sameOrigin(to, req.URL)
	if resp.StatusCode == http.StatusSeeOther || resp.StatusCode < http.StatusSeeOther && req.Method == http.MethodPost {
		if req.Method != http.MethodHead {
			next.Method = http.MethodGet
		}
	} else if hasBody && !same {
		return nil, failed(PhaseRedirect, "the server asks to send the body to another host, %q; send it there if that is meant", clip(to.Host))
	}
	if next.Method != req.Method {
		next.Header.Del("Content-Type")
	}
	if !same {
		next.Header = http.Header{}
		for _, name := range kept {
			if v := req.Header.Values(name); len(v) > 0 {
				next.Header[name] = v
			}
		}
	}
	return next, nil
}

func clip(s string) string { return s[:min(len(s), maxHost)] }

// sameOrigin tells whether two addresses are one server to the caller: scheme,
// host and port.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}
