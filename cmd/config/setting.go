package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/agnivade/levenshtein"

	"github.com/agentclash/agentclash/engine/plan"
)

// The keys of the settings.
const (
	Workspace   = "default_workspace"
	Output      = "output"
	Color       = "color"
	Sandbox     = "sandbox"
	Image       = "image"
	Concurrency = "concurrency"
	SecretStore = "secret_store"

	TrustedHosts = "trusted_hosts"
)

// Setting is one thing that can be set.
type Setting struct {
	Key     string // in the user's file, and what config get and set take
	Project string // in the project's file; "" where only the user decides
	Flag    string // "" for none
	Env     string // "" for none
	Default string // "" for nothing
	Doc     string
	Want    string // the values it takes, as an error says it

	valid    func(string) bool
	envMeans string // what the variable stands for once it is set at all; "" for its value
}

// Settings are all there are, in the order in which they are listed.
func Settings() []Setting {
	return []Setting{
		{Key: Workspace, Project: "workspace", Flag: "--workspace", Env: "AGENTCLASH_WORKSPACE", Default: "default",
			Doc:  "workspace that runs, packs, deployments and secrets belong to",
			Want: "a name on one line, of at most 200 bytes", valid: oneLine},
		oneOf(Setting{Key: Output, Flag: "--output", Env: "AGENTCLASH_OUTPUT", Default: "table", Doc: "how results are printed"},
			"table", "json", "yaml"),
		oneOf(Setting{Key: Color, Flag: "--no-color", Env: "NO_COLOR", envMeans: "never", Default: "auto", Doc: "colour on terminals"},
			"auto", "never"),
		oneOf(Setting{Key: Sandbox, Project: Sandbox, Flag: "--sandbox", Env: "SANDBOX_PROVIDER", Default: "auto", Doc: "what sandboxes are made with"},
			"auto", "docker", "scratch", "e2b"),
		{Key: Image, Project: Image, Env: "AGENTCLASH_IMAGE", Default: "python:3.12-slim",
			Doc: "Docker image of packs that name none", Want: "the name of an image, or builtin", valid: oneWord},
		{Key: Concurrency, Project: Concurrency, Flag: "--concurrency", Env: "AGENTCLASH_CONCURRENCY", Default: "0",
			Doc: "trials at once; 0 lets the plan decide", Want: fmt.Sprintf("a number from 0 to %d", plan.MaxConcurrency), valid: trialsAtOnce},
		oneOf(Setting{Key: SecretStore, Env: "AGENTCLASH_SECRET_STORE", Default: "auto", Doc: "where secret set keeps values"},
			"auto", "keychain", "file"),
		{Key: TrustedHosts, Env: "AGENTCLASH_TRUSTED_HOSTS", Doc: "hosts that a repository's deployments may send secrets to",
			Want: "hosts with commas between them, such as llm.example.com or 10.0.0.5:8000", valid: hostList},
	}
}

func oneOf(s Setting, words ...string) Setting {
	last := len(words) - 1
	s.Want = strings.Join(words[:last], ", ") + " or " + words[last]
	s.valid = func(v string) bool { return slices.Contains(words, v) }
	return s
}

func oneLine(v string) bool {
	return strings.TrimSpace(v) != "" && len(v) <= 200 && !strings.ContainsFunc(v, unicode.IsControl)
}

// ValidWorkspace says whether a name is one for a workspace that is made by its
// name: letters, digits, dots, hyphens and underscores, at most 100 bytes. Those
// that came to be by being used may have others.
func ValidWorkspace(name string) bool {
	return name != "" && len(name) <= 100 && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r)
	})
}

func oneWord(v string) bool {
	return v != "" && len(v) <= 512 && !strings.ContainsFunc(v, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

// Hosts are those of a list of hosts, in small letters.
func Hosts(list string) []string {
	var hosts []string
	for _, h := range strings.Split(list, ",") {
		if h = strings.ToLower(strings.TrimSpace(h)); h != "" {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

func hostList(v string) bool {
	return len(v) <= 4096 && !strings.ContainsAny(v, `/\@*?"'`) && !slices.ContainsFunc(Hosts(v), func(h string) bool { return !oneWord(h) })
}

func trialsAtOnce(v string) bool {
	n, err := strconv.Atoi(v)
	return err == nil && n >= 0 && n <= plan.MaxConcurrency
}

// Check refuses a value that the setting does not take. At is where it stands:
// a flag, a variable, a line of a file, or the key.
func (s Setting) Check(at, value string) error {
	if s.valid(value) {
		return nil
	}
	return fmt.Errorf("%s must be %s, not %q", at, s.Want, value)
}

// hosted are the keys of the hosted service's tool. They mean nothing here, and
// are no mistake in a file that both read.
var hosted = []string{"workspace_id", "org_id", "api_url", "default_org", "baseline_bookmarks"}

// Hosted says whether a key is one that only the hosted service has.
func Hosted(key string) bool { return slices.Contains(hosted, key) }

// Find is the setting of a key, as either file names it.
func Find(key string) (Setting, bool) {
	for _, s := range Settings() {
		if s.Key == key || s.Project == key {
			return s, true
		}
	}
	return Setting{}, false
}

// Near is the known key that is most like a mistyped one, "" for none.
func Near(key string) string {
	var keys []string
	for _, s := range Settings() {
		keys = append(keys, s.Key)
	}
	return Nearest(key, keys)
}

// Nearest is the name that is most like a mistyped one, "" when none is.
func Nearest(word string, known []string) string {
	best, least := "", min(4, len(word)/2+1)
	for _, k := range known {
		if d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}
