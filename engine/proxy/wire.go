package proxy

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
)

// Wire is a vendor's wire format.
type Wire string

// The wire formats.
const (
	OpenAI    Wire = "openai"
	Anthropic Wire = "anthropic"
	Gemini    Wire = "gemini"
)

// WireOf is the format that a provider speaks. All but two speak OpenAI's.
func WireOf(providerKey string) Wire {
	switch providerKey {
	case provider.Anthropic:
		return Anthropic
	case provider.Gemini:
		return Gemini
	}
	return OpenAI
}

// root is the path below which everything here is, one directory a format.
const root = "/agentclash/"

// endpoint is a known address of a format.
type endpoint int

const (
	unknown     endpoint = iota
	chat                 // OpenAI's chat completions
	responses            // OpenAI's Responses
	messages             // Anthropic's
	generate             // Gemini's generateContent and streamGenerateContent
	models               // any format's list of models, or one of them
	unsupported          // known, and not let through
)

// route is where a request goes.
type route struct {
	wire   Wire
	to     endpoint
	model  string // where the path names it
	stream bool   // where the path says it
}

// routeOf reads a request's path, letter by letter: one that is written another
// way than usual (escapes, dots, doubled slashes) is unknown.
func routeOf(u *url.URL) route {
	if u.RawPath != "" || strings.Contains(u.Path, "//") {
		return route{wire: wireIn(u.Path)}
	}
	rest, ok := strings.CutPrefix(u.Path, root)
	if !ok {
		return route{}
	}
	dir, rest, _ := strings.Cut(rest, "/")
	r := route{wire: Wire(dir)}
	switch r.wire {
	case OpenAI:
		r.openAI(strings.TrimPrefix(rest, "v1/"))
	case Anthropic:
		r.anthropic(strings.TrimPrefix(rest, "v1/"))
	case Gemini:
		r.gemini(strings.TrimPrefix(strings.TrimPrefix(rest, "v1beta/"), "v1/"))
	default:
		r.wire = ""
	}
	return r
}

func wireIn(path string) Wire {
	for _, w := range []Wire{Anthropic, Gemini} {
		if strings.HasPrefix(path, root+string(w)) {
			return w
		}
	}
	return OpenAI
}

func (r *route) openAI(rest string) {
	switch rest {
	case "chat/completions":
		r.to = chat
	case "responses":
		r.to = responses
	default:
		r.list(rest)
	}
}

func (r *route) anthropic(rest string) {
	switch rest {
	case "messages":
		r.to = messages
	case "messages/count_tokens":
		r.to = unsupported
	default:
		r.list(rest)
	}
}

func (r *route) gemini(rest string) {
	name, method, called := strings.Cut(rest, ":")
	model, of := strings.CutPrefix(name, "models/")
	switch {
	case !called:
		r.list(rest)
	case !of:
	case method == "generateContent", method == "streamGenerateContent":
		r.to, r.model, r.stream = generate, model, method == "streamGenerateContent"
	case method == "countTokens":
		r.to = unsupported
	}
}

func (r *route) list(rest string) {
	if rest == "models" {
		r.to = models
	} else if model, one := strings.CutPrefix(rest, "models/"); one && model != "" {
		r.to, r.model = models, model
	}
}

// Mine tells whether a request is for the models, and not for whatever else
// answers at the same port: it is below the proxy's own path, and asks this machine
// for it, if it names one at all.
func Mine(r *http.Request) bool {
	if r.Method == http.MethodConnect || !strings.HasPrefix(r.URL.Path, root) {
		return false
	}
	if r.URL.Host == "" {
		return true
	}
	// a client that takes NO_PROXY for nothing asks for our own address by way of us
	host := r.URL.Hostname()
	ip := net.ParseIP(host)
	return r.URL.Scheme == "http" && r.URL.User == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// Variables are what programs look for in their environment to find the proxy at
// a port of their box, with a key that is none. Model is what they are to ask for,
// and wire the format in which it can be asked, "" for all.
func Variables(port int, key, model string, wire Wire) map[string]string {
	at := fmt.Sprintf("http://127.0.0.1:%d%s", port, root)
	env := map[string]string{
		"OPENAI_BASE_URL": at + "openai/v1", "OPENAI_API_BASE": at + "openai/v1", "OPENAI_API_KEY": key,
		"ANTHROPIC_BASE_URL": at + "anthropic", "ANTHROPIC_API_KEY": key,
		"GOOGLE_GEMINI_BASE_URL": at + "gemini", "GEMINI_BASE_URL": at + "gemini", "GEMINI_API_KEY": key, "GOOGLE_API_KEY": key,
		"AGENTCLASH_MODEL": model,
	}
	for w, name := range map[Wire]string{OpenAI: "OPENAI_MODEL", Anthropic: "ANTHROPIC_MODEL", Gemini: "GEMINI_MODEL"} {
		if wire == "" || wire == w {
			env[name] = model
		}
	}
	return env
}
