package web

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// guarded lets a request through that may be one of this machine's own browser, and
// says in the headers of every answer what a browser may do with it.
func guarded(port int, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		switch {
		case !loopback(r.Host, port):
			refuse(w, http.StatusMisdirectedRequest, "this server answers at http://127.0.0.1:"+strconv.Itoa(port)+" only")
		case foreign(r, port):
			refuse(w, http.StatusForbidden, "this server does not answer other sites")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "this server only shows: GET and HEAD")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// loopback says whether a host is a name of this machine for itself, with our port.
func loopback(host string, port int) bool {
	name, digits, err := net.SplitHostPort(host)
	if err != nil {
		name, digits = strings.Trim(host, "[]"), "80"
	}
	if digits != strconv.Itoa(port) {
		return false
	}
	return strings.EqualFold(name, "localhost") || name == "127.0.0.1" || name == "::1"
}

// foreign says whether a page of another site has sent the request. A link from one
// to a page here is followed: a browser shows it, and the other site sees nothing.
func foreign(r *http.Request, port int) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err != nil || u.Scheme != "http" || !loopback(u.Host, port)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(why + "\n")) // who has gone needs no answer
}
