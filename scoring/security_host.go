package scoring

import (
	"regexp"
	"strings"
)

// hostRule is a host as the block names it: * is every host, *.x.org is x.org and
// all below it, and any other * stands for characters without a dot.
type hostRule struct {
	exact, suffix string
	all           bool
	glob          *regexp.Regexp
}

func newHostRule(rule string) hostRule {
	rule = bareHost(rule)
	rest, below := strings.CutPrefix(rule, "*.")
	switch {
	case rule == "*":
		return hostRule{all: true}
	case below && rest != "" && !strings.Contains(rest, "*"):
		return hostRule{suffix: rest}
	case strings.Contains(rule, "*"):
		parts := strings.Split(rule, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		return hostRule{glob: regexp.MustCompile("^" + strings.Join(parts, "[^.]+") + "$")}
	}
	return hostRule{exact: rule}
}

func (r hostRule) matches(host string) bool {
	host = bareHost(host)
	switch {
	case r.all:
		return true
	case r.suffix != "":
		return host == r.suffix || strings.HasSuffix(host, "."+r.suffix)
	case r.glob != nil:
		return r.glob.MatchString(host)
	}
	return host == r.exact
}

// bareHost is a host in lower case, without a port and the dot of the root.
func bareHost(host string) string {
	host = strings.ToLower(strings.TrimSpace(host))
	if rest, ok := strings.CutPrefix(host, "["); ok {
		host, _, _ = strings.Cut(rest, "]")
	} else if strings.Count(host, ":") == 1 {
		host, _, _ = strings.Cut(host, ":")
	}
	return strings.TrimSuffix(host, ".")
}
