package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/cmd/tui/tuitest"
)

// settingCase is how to see which value of a setting a command really uses. Values are
// those of the flag, the variable, the project's file and the user's file, "" where there is
// none of it; next to one another they differ in what is seen.
type settingCase struct {
	values  [4]string
	builtIn string // what is seen where nobody has set it
	see     func(p program, t *testing.T, flag []string) string
	seen    map[string]string // of a value, where it is not the value itself
}

var levels = []config.Source{config.Flag, config.Environment, config.Project, config.User}

// TestPrecedence sets every setting at every place at once and takes away one after the
// other, the strongest first: what counts is the strongest that is left, and config list
// tells that one.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	cases := settingCases(t)
	for _, s := range config.Settings() {
		c, ok := cases[s.Key]
		if !ok {
			t.Errorf("nothing tries the setting %s", s.Key)
			continue
		}
		for i, there := range []bool{s.Flag != "", s.Env != "", s.Project != "", true} {
			if there != (c.values[i] != "") {
				t.Errorf("%s has a value in %s: %v", s.Key, levels[i], !there)
			}
		}
		t.Run(s.Key, func(t *testing.T) {
			t.Parallel()
			for strongest := range len(levels) + 1 {
				if strongest < len(levels) && c.values[strongest] == "" {
					continue
				}
				wins := config.BuiltIn
				want := c.builtIn
				if strongest < len(levels) {
					wins = levels[strongest]
					want = c.values[strongest]
					if seen, other := c.seen[want]; other {
						want = seen
					}
				}
				p, flag := c.at(t, s, strongest)
				if got := c.see(p, t, flag); got != want {
					t.Errorf("set by %s and what is below: got %q, want %q", wins, got, want)
				}
				if wins != config.Flag { // which is of one command
					c.told(p, t, s, wins, strongest)
				}
			}
		})
	}
}

// at is a program with the setting in all places from one level down.
func (c settingCase) at(t *testing.T, s config.Setting, strongest int) (p program, flag []string) {
	t.Helper()
	p = newProgram(t)
	p.env = slices.DeleteFunc(p.env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "NO_COLOR" || name == "CI" || name == "DBUS_SESSION_BUS_ADDRESS" || name == "E2B_API_KEY"
	})
	p.env = append(p.env, "TERM=xterm", "CI=", "DOCKER_HOST=unix:///no-engine.sock")
	if err := os.MkdirAll(filepath.Join(p.dir, "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	for level, value := range c.values {
		if value == "" || level < strongest {
			continue
		}
		switch levels[level] {
		case config.Flag:
			flag = []string{s.Flag + "=" + value}
			if s.Key == config.Color {
				flag = []string{s.Flag}
			}
		case config.Environment:
			p.env = append(p.env, s.Env+"="+value)
		case config.Project:
			p.write(t, ".agentclash.yaml", s.Project+": "+value+"\n")
		case config.User:
			p.write(t, "home/config.yaml", s.Key+": "+value+"\n")
		}
	}
	return p, flag
}

// told holds what config list says against the source that wins.
func (c settingCase) told(p program, t *testing.T, s config.Setting, wins config.Source, strongest int) {
	t.Helper()
	out, err := p.command(t.Context(), "config", "list", "--origin", "--json").Output()
	var doc struct {
		Items []struct{ Key, Value, Source, At string }
	}
	if err == nil {
		err = json.Unmarshal(out, &doc)
	}
	if err != nil {
		t.Fatalf("config list: %v: %s", err, out)
	}
	want, at := s.Default, ""
	switch wins {
	case config.Environment:
		at = s.Env
	case config.Project:
		at = filepath.Join(p.dir, ".agentclash.yaml") + ":1"
	case config.User:
		at = filepath.Join(p.dir, "home", "config.yaml") + ":1"
	}
	if wins != config.BuiltIn {
		want = c.values[strongest]
	}
	if s.Key == config.Color && wins == config.Environment {
		want = "never" // whatever is in NO_COLOR
	}
	for _, item := range doc.Items {
		if item.Key == s.Key {
			if item.Value != want || item.Source != string(wins) || item.At != at {
				t.Errorf("config list tells %+v, want %q by %s at %q", item, want, wins, at)
			}
			return
		}
	}
	t.Errorf("config list does not tell %s", s.Key)
}

func settingCases(t *testing.T) map[string]settingCase {
	t.Helper()
	return map[string]settingCase{
		config.Workspace: {[4]string{"by-flag", "by-variable", "by-project", "by-user"}, "default", seeWorkspace, nil},
		config.Output: {[4]string{"yaml", "json", "", "yaml"}, "table", func(p program, t *testing.T, flag []string) string {
			t.Helper()
			switch out, _ := p.command(t.Context(), append(flag, "version")...).Output(); {
			case bytes.HasPrefix(out, []byte("{")):
				return "json"
			case bytes.HasPrefix(out, []byte("agentclash ")):
				return "table"
			default:
				return "yaml"
			}
		}, nil},
		config.Color: {[4]string{"never", "1", "", "never"}, "coloured", seeColor, map[string]string{"1": "never"}},
		config.Sandbox: {[4]string{"scratch", "e2b", "docker", "scratch"}, "status 0", seeSandbox,
			map[string]string{"scratch": "status 64", "e2b": "status 77", "docker": "status 69"}},
		config.Image:       {[4]string{"", "image/variable", "image/project", "image/user"}, "python:3.12-slim", seeImage, nil},
		config.Concurrency: {[4]string{"2", "3", "5", "7"}, "32", seeConcurrency, nil},
		config.SecretStore: {[4]string{"", "file", "", "keychain"}, "file", func(p program, t *testing.T, _ []string) string {
			t.Helper()
			c := p.command(t.Context(), "secret", "set", "KEY", "--json", "--query", ".store")
			c.Stdin = strings.NewReader("a-value-of-some-length")
			out, _ := c.Output() // there is no keychain to be had here
			return strings.TrimSpace(string(out))
		}, map[string]string{"keychain": ""}},
		config.TrustedHosts: {[4]string{"", "variable.example.com", "", "user.example.com"}, "", seeTrusted, nil},
	}
}

func seeWorkspace(p program, t *testing.T, flag []string) string {
	t.Helper()
	out, err := p.command(t.Context(), append([]string{"quickstart", "--json", "--query", ".workspace"}, flag...)...).Output()
	if err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(string(out))
}

func seeColor(p program, t *testing.T, flag []string) string {
	t.Helper()
	m := tuitest.Open(t, 80, 24)
	c := p.command(t.Context(), append([]string{"explain"}, flag...)...)
	c.Stdin, c.Stdout, c.Stderr = m.Program, m.Program, m.Program
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Run(); err != nil {
		t.Error(err)
	}
	m.Program.Close()
	<-m.Over
	if strings.Contains(m.Text(), "\x1b[1m") {
		return "coloured"
	}
	return "never"
}

// seeSandbox tells the sandboxes from one another by how each refuses to be had here: an
// image that a directory has no use for, no key, no engine. Without a choice that engine is
// done without.
func seeSandbox(p program, t *testing.T, flag []string) string {
	t.Helper()
	args := []string{"eval", "start", "--pack", "p.yaml", "--model", "scripted/p.reference.yaml", "--quiet", "--image", "x"}
	if out, err := p.command(t.Context(), "challenge-pack", "init", "p.yaml", "--template", "native").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := p.command(t.Context(), append(args, flag...)...)
	_ = c.Run() // the status is looked at
	return fmt.Sprint("status ", c.ProcessState.ExitCode())
}

// seeImage is the image that an engine is asked for.
func seeImage(p program, t *testing.T, _ []string) string {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.47")
		w.Header().Set("Content-Type", "application/json")
		if m := regexp.MustCompile(`/images/(.+)/json$`).FindStringSubmatch(r.URL.Path); m != nil {
			mu.Lock()
			asked = append(asked, m[1])
			mu.Unlock()
		}
		if strings.HasSuffix(r.URL.Path, "/json") {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"message": "no such image"}`)
			return
		}
		fmt.Fprintf(w, `{"ApiVersion": "1.47", "MinAPIVersion": "1.24", "Os": "linux", "OSType": "linux", "Arch": %q, "Architecture": %[1]q}`, runtime.GOARCH)
	}))
	defer engine.Close()
	p.env = append(p.env, "DOCKER_HOST=tcp://"+engine.Listener.Addr().String())
	_ = p.command(t.Context(), "doctor").Run() // which says that there is no such image
	mu.Lock()
	defer mu.Unlock()
	if len(asked) == 0 {
		return "no image was asked for"
	}
	return asked[0]
}

func seeConcurrency(p program, t *testing.T, flag []string) string {
	t.Helper()
	args := []string{"eval", "start", "--pack", "builtin:quickstart", "--model", "scripted/builtin:quickstart-good", "--dry-run", "--json", "--query", ".concurrency"}
	out, err := p.command(t.Context(), append(args, flag...)...).Output()
	if err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(string(out))
}

// seeTrusted are the hosts that a secret may be sent to.
func seeTrusted(p program, t *testing.T, _ []string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(p.dir, ".agentclash"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "KEY=a-value-of-some-length")
	var trusted []string
	for _, host := range []string{"variable.example.com", "user.example.com"} {
		p.write(t, ".agentclash/deployments.yaml", "deployments: [{name: d, model: openai/m, base_url: https://"+host+"/v1, account: env://KEY}]\n")
		c := p.command(t.Context(), "eval", "start", "--pack", "builtin:quickstart", "--deployment", "d", "--dry-run")
		if _ = c.Run(); c.ProcessState.ExitCode() == 0 {
			trusted = append(trusted, host)
		}
	}
	return strings.Join(trusted, ",")
}
