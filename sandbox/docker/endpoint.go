package docker

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// endpoint is where an engine may answer.
type endpoint struct {
	host   string // unix:///path, tcp://host:port, ssh://host, npipe:////./pipe/name
	source string // who said so, for people
	tls    *tls.Config
}

// endpoints lists where to look for the engine, best first. Whoever was told
// where it is looks nowhere else; otherwise the default socket comes first and
// then the places where the usual desktop engines put theirs.
func (o Options) endpoints() ([]endpoint, error) {
	env := o.Getenv
	if env == nil {
		env = func(string) string { return "" }
	}
	home := env("HOME")
	if home == "" {
		home = env("USERPROFILE")
	}
	config := env("DOCKER_CONFIG")
	if config == "" {
		config = filepath.Join(home, ".docker")
	}
	if o.Host != "" {
		return one(named(o.Host, "the address given", env, config))
	}
	if h := env("DOCKER_HOST"); h != "" {
		return one(named(h, "DOCKER_HOST", env, config))
	}
	name, source := env("DOCKER_CONTEXT"), "DOCKER_CONTEXT"
	if name == "" {
		name, source = currentContext(config), filepath.Join(config, "config.json")
	}
	if name != "" && name != "default" {
		return one(ofContext(config, name, source))
	}
	return defaults(home, env("XDG_RUNTIME_DIR")), nil
}

func one(e endpoint, err error) ([]endpoint, error) {
	if err != nil {
		return nil, err
	}
	return []endpoint{e}, nil
}

func defaults(home, runtimeDir string) []endpoint {
	if runtime.GOOS == "windows" {
		return []endpoint{{host: "npipe:////./pipe/docker_engine", source: "the default pipe"}}
	}
	all := []endpoint{{host: "unix:///var/run/docker.sock", source: "the default socket"}}
	if home != "" {
		for _, s := range []string{".docker/run/docker.sock", ".colima/default/docker.sock", ".rd/docker.sock", ".orbstack/run/docker.sock"} {
			all = append(all, endpoint{host: "unix://" + filepath.Join(home, s), source: "a usual place"})
		}
	}
	if runtimeDir != "" {
		for _, s := range []string{"docker.sock", "podman/podman.sock"} {
			all = append(all, endpoint{host: "unix://" + filepath.Join(runtimeDir, s), source: "a usual place"})
		}
	}
	return all
}

// named is an endpoint given by its address. TLS is asked for by the variables
// that the docker command knows.
func named(host, source string, env func(string) string, config string) (endpoint, error) {
	e := endpoint{host: host, source: source}
	u, err := url.Parse(host)
	if err != nil || u.Scheme == "" {
		return e, fmt.Errorf("%s: %q is no address of an engine: use unix://, tcp://, ssh:// or npipe://", source, host)
	}
	verify, certs := env("DOCKER_TLS_VERIFY"), env("DOCKER_CERT_PATH")
	if u.Scheme != "tcp" || verify == "" && certs == "" {
		return e, nil
	}
	if certs == "" {
		certs = config
	}
	if e.tls, err = loadTLS(certs, verify == ""); err != nil {
		return e, fmt.Errorf("%s: %w", source, err)
	}
	return e, nil
}

// currentContext is what "docker context use" has set; "" for nothing.
func currentContext(config string) string {
	b, err := os.ReadFile(filepath.Join(config, "config.json"))
	if err != nil {
		return ""
	}
	var c struct {
		CurrentContext string `json:"currentContext"`
	}
	if json.Unmarshal(b, &c) != nil {
		return ""
	}
	return c.CurrentContext
}

// ofContext reads a context of the docker command. Its files stand in a
// directory that is named by the hash of the context's name.
func ofContext(config, name, source string) (endpoint, error) {
	sum := sha256.Sum256([]byte(name))
	dir := hex.EncodeToString(sum[:])
	e := endpoint{source: fmt.Sprintf("the Docker context %q", name)}
	b, err := os.ReadFile(filepath.Join(config, "contexts", "meta", dir, "meta.json"))
	if errors.Is(err, os.ErrNotExist) {
		return e, fmt.Errorf("%s names the Docker context %q, which does not exist: see docker context ls", source, name)
	}
	if err != nil {
		return e, fmt.Errorf("read the Docker context %q: %w", name, err)
	}
	var meta struct {
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	if err := json.Unmarshal(b, &meta); err != nil {
		return e, fmt.Errorf("read the Docker context %q: %w", name, err)
	}
	e.host = meta.Endpoints["docker"].Host
	if u, err := url.Parse(e.host); err != nil || u.Scheme == "" {
		return e, fmt.Errorf("the Docker context %q names no engine", name)
	}
	certs := filepath.Join(config, "contexts", "tls", dir, "docker")
	if _, err := os.Stat(certs); err == nil && strings.HasPrefix(e.host, "tcp://") {
		if e.tls, err = loadTLS(certs, meta.Endpoints["docker"].SkipTLSVerify); err != nil {
			return e, fmt.Errorf("the Docker context %q: %w", name, err)
		}
	}
	return e, nil
}

// loadTLS reads ca.pem, cert.pem and key.pem, as far as they exist.
func loadTLS(dir string, skipVerify bool) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: skipVerify}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err == nil {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("%s holds no certificate", filepath.Join(dir, "ca.pem"))
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err == nil {
		c.Certificates = []tls.Certificate{pair}
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the client certificate in %s: %w", dir, err)
	}
	return c, nil
}
