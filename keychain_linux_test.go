package main_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
)

// The names of the Secret Service, as freedesktop.org's specification has them.
const (
	secretsName = "org.freedesktop.secrets"
	secretsPath = dbus.ObjectPath("/org/freedesktop/secrets")
	secretsPart = "org.freedesktop.Secret."
)

// secretService is a Secret Service on a bus of the test's own. It keeps what it
// is given in memory.
type secretService struct {
	conn  *dbus.Conn
	mu    sync.Mutex
	items map[dbus.ObjectPath]*secretItem
	made  int
	// locked, unless nil, is the keychain waiting for a person: it says that it was asked,
	// and answers once it is unlocked.
	asked, locked chan struct{}
}

type secretItem struct {
	service    *secretService
	path       dbus.ObjectPath
	attributes map[string]string
	secret     wireSecret
}

type wireSecret struct {
	Session     dbus.ObjectPath
	Parameters  []byte
	Value       []byte
	ContentType string
}

func (s *secretService) OpenSession(string, dbus.Variant) (dbus.Variant, dbus.ObjectPath, *dbus.Error) {
	return dbus.MakeVariant(""), secretsPath + "/session/1", nil
}

func (s *secretService) Unlock(what []dbus.ObjectPath) ([]dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	return what, "/", nil
}

// Close is a session's.
func (s *secretService) Close() *dbus.Error { return nil }

func (s *secretService) SearchItems(wanted map[string]string) ([]dbus.ObjectPath, *dbus.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []dbus.ObjectPath{}
	for path, item := range s.items {
		if maps.Equal(item.attributes, wanted) {
			found = append(found, path)
		}
	}
	return found, nil
}

func (s *secretService) CreateItem(properties map[string]dbus.Variant, secret wireSecret, _ bool) (dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	var attributes map[string]string
	if err := properties[secretsPart+"Item.Attributes"].Store(&attributes); err != nil {
		return "/", "/", dbus.MakeFailedError(err)
	}
	if s.locked != nil {
		s.asked <- struct{}{}
		<-s.locked
	}
	same, _ := s.SearchItems(attributes)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range same {
		s.items[path].secret = secret
		return path, "/", nil
	}
	s.made++
	item := &secretItem{service: s, path: secretsPath + dbus.ObjectPath(fmt.Sprintf("/collection/login/%d", s.made)), attributes: attributes, secret: secret}
	s.items[item.path] = item
	if err := s.conn.Export(item, item.path, secretsPart+"Item"); err != nil {
		return "/", "/", dbus.MakeFailedError(err)
	}
	return item.path, "/", nil
}

func (i *secretItem) GetSecret(dbus.ObjectPath) (wireSecret, *dbus.Error) {
	i.service.mu.Lock()
	defer i.service.mu.Unlock()
	return i.secret, nil
}

func (i *secretItem) Delete() (dbus.ObjectPath, *dbus.Error) {
	i.service.mu.Lock()
	defer i.service.mu.Unlock()
	delete(i.service.items, i.path)
	return "/", nil
}

// values are what is kept now.
func (s *secretService) values() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, item := range s.items {
		list = append(list, string(item.secret.Value))
	}
	return list
}

// sessionBus starts a bus of the test's own, and returns its address.
func sessionBus(t *testing.T) string {
	t.Helper()
	daemon, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("no dbus-daemon")
	}
	c := exec.CommandContext(t.Context(), daemon, "--session", "--nofork", "--print-address", "--address=unix:dir="+t.TempDir())
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

func serveSecrets(t *testing.T, address string) *secretService {
	t.Helper()
	conn, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	s := &secretService{conn: conn, items: map[dbus.ObjectPath]*secretItem{}}
	for path, part := range map[dbus.ObjectPath]string{
		secretsPath:                      "Service",
		secretsPath + "/aliases/default": "Collection",
		secretsPath + "/session/1":       "Session",
	} {
		if err := conn.Export(s, path, secretsPart+part); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.RequestName(secretsName, dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLockedKeychain has others change their secrets while one waits for a keychain
// that a person has to unlock.
func TestLockedKeychain(t *testing.T) {
	t.Parallel()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	address, dir := sessionBus(t), t.TempDir()
	service := serveSecrets(t, address)
	service.asked, service.locked = make(chan struct{}), make(chan struct{})
	command := func(stdin string, env []string, args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), bin, args...)
		c.Dir, c.Stdin = dir, strings.NewReader(stdin)
		c.Env = append([]string{"HOME=" + dir, "AGENTCLASH_HOME=" + filepath.Join(dir, "home"), "DBUS_SESSION_BUS_ADDRESS=" + address}, env...)
		return c
	}
	slow := command("sk-slow-value", nil, "secret", "set", "SLOW")
	if err := slow.Start(); err != nil {
		t.Fatal(err)
	}
	<-service.asked
	for _, args := range [][]string{{"secret", "set", "QUICK"}, {"secret", "set", "GONE"}, {"secret", "delete", "GONE"}} {
		if out, err := command("sk-quick-value", []string{"AGENTCLASH_SECRET_STORE=file"}, args...).CombinedOutput(); err != nil {
			t.Errorf("%v while another waits for the keychain: %s%v", args, out, err)
		}
	}
	if out, err := command("sk-other-value", nil, "secret", "set", "SLOW").CombinedOutput(); err == nil || !strings.Contains(string(out), "another process holds the lock") {
		t.Errorf("the same secret was set by two at once: %s%v", out, err)
	}
	close(service.locked)
	if err := slow.Wait(); err != nil {
		t.Error(err)
	}
	out, err := command("", nil, "secret", "list").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "SLOW") || !strings.Contains(string(out), "QUICK") || strings.Contains(string(out), "GONE") {
		t.Errorf("kept are %s%v", out, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "home", ".secrets*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestKeychain keeps, reads and forgets secrets with the real program and the real
// protocol, and a service of the test's own at the other end of it.
func TestKeychain(t *testing.T) {
	t.Parallel()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	address, dir := sessionBus(t), t.TempDir()
	run := func(env, stdin string, args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), bin, args...)
		c.Dir, c.Stdin = dir, strings.NewReader(stdin)
		c.Env = append([]string{"HOME=" + dir, "AGENTCLASH_HOME=" + filepath.Join(dir, "home"), "DBUS_SESSION_BUS_ADDRESS=" + address}, strings.Fields(env)...)
		out, err := c.CombinedOutput()
		return fmt.Sprintf("%s[%v]", out, err)
	}
	expect := func(got string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("said %q, without %q", got, want)
			}
		}
	}
	const first, second = "sk-first-value", "sk-second\xff\x00 value\n"

	// a bus without a service is no keychain: the file takes its place, aloud
	expect(run("", first, "secret", "set", "MY_KEY"), "note: no keychain takes it", "set in the file", "[<nil>]")
	expect(run("AGENTCLASH_SECRET_STORE=keychain", first, "secret", "set", "OTHER_KEY"), "keep secret OTHER_KEY in the keychain", "[exit status 1]")

	service := serveSecrets(t, address)
	expect(run("", second, "secret", "set", "MY_KEY", "--json"), `"store": "keychain"`, "[<nil>]")
	if got := service.values(); len(got) != 1 || got[0] != second {
		t.Errorf("the keychain has %q", got)
	}
	for _, value := range []string{first, "sk-second"} {
		if file, err := os.ReadFile(filepath.Join(dir, "home", "secrets.json")); err != nil || bytes.Contains(file, []byte(value)) {
			t.Errorf("the file has a value: %s, %v", file, err)
		}
	}
	expect(run("", "", "secret", "list"), "MY_KEY", "keychain")

	// it is found where it is needed: the refusal of a key that is missing is gone
	expect(run("", "", "doctor", "--json"), "none found")
	expect(run("", "sk-openai-key", "secret", "set", "OPENAI_API_KEY"), "set in the keychain")
	expect(run("", "", "doctor", "--json"), "openai (keychain)")

	// asked for, the file takes over, and the keychain forgets
	expect(run("AGENTCLASH_SECRET_STORE=file", first, "secret", "set", "MY_KEY"), "set in the file")
	expect(run("AGENTCLASH_SECRET_STORE=file", second, "secret", "set", "BYTES"), "set in the file")
	if file, err := os.ReadFile(filepath.Join(dir, "home", "secrets.json")); err != nil || !bytes.Contains(file, []byte(base64.StdEncoding.EncodeToString([]byte(second)))) {
		t.Errorf("the file does not have the bytes: %s, %v", file, err)
	}
	expect(run("", "", "secret", "delete", "OPENAI_API_KEY"), "deleted")
	if got := service.values(); len(got) != 0 {
		t.Errorf("the keychain still has %q", got)
	}
	expect(run("", "", "secret", "list", "--json"), `"store": "file"`)
}
