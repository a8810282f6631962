package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/agentclash/agentclash/cmd/config"
)

const (
	keychainService = "agentclash"
	minSecretBytes  = 8 // shorter values cannot be redacted without blackening innocent text
	maxSecretBytes  = 64 << 10
)

var secretName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// secretStore keeps the values behind workspace-secret:// references: in the
// system's keychain where there is one, else in a file only its owner can
// read. The file always holds the names and times.
type secretStore struct {
	file     string
	keychain bool
	now      func() time.Time
}

// secretEntry is one secret as the file holds it. Value is empty when the
// keychain has it.
type secretEntry struct {
	Workspace string    `json:"workspace"`
	Key       string    `json:"key"`
	Value     string    `json:"value,omitempty"`
	Keychain  bool      `json:"keychain,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

func (a *app) secretStore() (*secretStore, error) {
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	s := &secretStore{file: filepath.Join(home, "secrets.json"), now: a.p.Now}
	kind, err := a.setting(config.SecretStore, nil)
	if err != nil {
		return nil, err
	}
	switch kind.Value {
	case "keychain":
		s.keychain = true
	case "auto":
		// a Linux machine without a session bus has no keychain to ask
		s.keychain = runtime.GOOS == "darwin" || runtime.GOOS == "windows" || a.p.Getenv("DBUS_SESSION_BUS_ADDRESS") != ""
	}
	return s, nil
}

func (s *secretStore) read() ([]secretEntry, error) {
	b, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the secrets: %w", err)
	}
	var entries []secretEntry
	if err := json.Unmarshal(b, &entries); err != nil {
		return nil, fmt.Errorf("read the secrets: %s: %w", s.file, err)
	}
	return entries, nil
}

// write replaces the file at once, so that a crash leaves the old or the new.
func (s *secretStore) write(entries []secretEntry) error {
	b, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		return fmt.Errorf("write the secrets: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return fmt.Errorf("write the secrets: %w", err)
	}
	err = replace(s.file, 0o600, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	if err != nil {
		return fmt.Errorf("write the secrets: %w", err)
	}
	return nil
}

func (s *secretStore) find(entries []secretEntry, workspace, key string) int {
	return slices.IndexFunc(entries, func(e secretEntry) bool { return e.Workspace == workspace && e.Key == key })
}

func (s *secretStore) set(workspace, key, value string) error {
	if !secretName.MatchString(key) {
		return usage("%q is no name for a secret: letters, digits and _, not starting with a digit, at most 128", key)
	}
	if len(value) < minSecretBytes || len(value) > maxSecretBytes {
		return usage("the value of %s has %d bytes: %d to %d are allowed, so that it can be kept out of every log", key, len(value), minSecretBytes, maxSecretBytes)
	}
	entries, err := s.read()
	if err != nil {
		return err
	}
	now := s.now().UTC()
	e := secretEntry{Workspace: workspace, Key: key, Value: value, CreatedAt: now, UpdatedAt: now}
	if s.keychain && keyring.Set(keychainService, keychainAccount(workspace, key), value) == nil {
		e.Value, e.Keychain = "", true
	}
	if i := s.find(entries, workspace, key); i >= 0 {
		e.CreatedAt = entries[i].CreatedAt
		entries[i] = e
	} else {
		entries = append(entries, e)
	}
	return s.write(entries)
}

// get returns a secret's value; ok is false when there is none.
func (s *secretStore) get(workspace, key string) (value string, ok bool, err error) {
	entries, err := s.read()
	if err != nil {
		return "", false, err
	}
	i := s.find(entries, workspace, key)
	if i < 0 {
		return "", false, nil
	}
	if !entries[i].Keychain {
		return entries[i].Value, true, nil
	}
	value, err = keyring.Get(keychainService, keychainAccount(workspace, key))
	if err != nil {
		return "", false, fmt.Errorf("read secret %s from the keychain: %w", key, err)
	}
	return value, true, nil
}

// values are all secrets of all workspaces.
func (s *secretStore) values() ([]string, error) {
	entries, err := s.read()
	if err != nil {
		return nil, err
	}
	var values []string
	for _, e := range entries {
		if e.Keychain {
			if e.Value, err = keyring.Get(keychainService, keychainAccount(e.Workspace, e.Key)); errors.Is(err, keyring.ErrNotFound) {
				continue // somebody else took it out
			}
			if err != nil {
				return nil, fmt.Errorf("read secret %s from the keychain: %w", e.Key, err)
			}
		}
		values = append(values, e.Value)
	}
	return values, nil
}

func (s *secretStore) delete(workspace, key string) (bool, error) {
	entries, err := s.read()
	if err != nil {
		return false, err
	}
	i := s.find(entries, workspace, key)
	if i < 0 {
		return false, nil
	}
	if entries[i].Keychain {
		if err := keyring.Delete(keychainService, keychainAccount(workspace, key)); err != nil && !errors.Is(err, keyring.ErrNotFound) {
			return false, fmt.Errorf("delete secret %s from the keychain: %w", key, err)
		}
	}
	return true, s.write(slices.Delete(entries, i, i+1))
}

func (s *secretStore) list(workspace string) ([]secretEntry, error) {
	entries, err := s.read()
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e secretEntry) bool { return e.Workspace != workspace })
	slices.SortFunc(entries, func(a, b secretEntry) int { return strings.Compare(a.Key, b.Key) })
	return entries, nil
}

func keychainAccount(workspace, key string) string { return workspace + "/" + key }
