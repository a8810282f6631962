package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zalando/go-keyring"

	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/engine/filelock"
)

const keychainService = "agentclash"

// How long a secret may be. Shorter values cannot be redacted without blackening
// innocent text.
const (
	MinSecretBytes = 8
	MaxSecretBytes = 64 << 10
)

// SecretName is what a secret may be called.
var SecretName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// secretStore keeps the values behind workspace-secret:// references: in the
// system's keychain where there is one, else in a file only its owner can
// read. The file always holds the names and times.
type secretStore struct {
	File         string
	keychain     bool // is asked
	keychainOnly bool // the file is no substitute
	now          func() time.Time
}

// SecretEntry is one secret as the file holds it. Value is empty when the
// keychain has it.
type SecretEntry struct {
	Workspace string    `json:"workspace"`
	Key       string    `json:"key"`
	Value     string    `json:"value,omitempty"`
	Bytes     []byte    `json:"value_base64,omitempty"` // in place of Value, where JSON would change it
	Keychain  bool      `json:"keychain,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// OpenSecrets finds where secrets are kept; nothing is read so far.
func (a *App) OpenSecrets() (*secretStore, error) {
	home, err := a.Home()
	if err != nil {
		return nil, err
	}
	s := &secretStore{File: filepath.Join(home, "secrets.json"), now: a.Process.Now}
	kind, err := a.Setting(config.SecretStore, nil)
	if err != nil {
		return nil, err
	}
	switch kind.Value {
	case "keychain":
		s.keychain, s.keychainOnly = true, true
	case "auto":
		// a Linux machine without a session bus has no keychain to ask
		s.keychain = runtime.GOOS == "darwin" || runtime.GOOS == "windows" || a.Process.Getenv("DBUS_SESSION_BUS_ADDRESS") != ""
	}
	return s, nil
}

func (s *secretStore) read() ([]SecretEntry, error) {
	b, err := os.ReadFile(s.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the secrets: %w", err)
	}
	var entries []SecretEntry
	if err := json.Unmarshal(b, &entries); err != nil {
		return nil, fmt.Errorf("read the secrets: %s: %w", s.File, err)
	}
	return entries, nil
}

// write replaces the file at once, so that a crash leaves the old or the new.
func (s *secretStore) write(entries []SecretEntry) error {
	b, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		return fmt.Errorf("write the secrets: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(s.File), 0o700); err != nil {
		return fmt.Errorf("write the secrets: %w", err)
	}
	file, err := Followed(s.File) // what a link leads to must not keep the old values
	if err != nil {
		return fmt.Errorf("write the secrets: %w", err)
	}
	err = Replace(file, 0o600, writing(b))
	if err != nil {
		return fmt.Errorf("write the secrets: %w", err)
	}
	return nil
}

func (s *secretStore) find(entries []SecretEntry, workspace, key string) int {
	return slices.IndexFunc(entries, func(e SecretEntry) bool { return e.Workspace == workspace && e.Key == key })
}

// The places where a value is kept.
const (
	inKeychain = "keychain"
	inFile     = "file"
)

// Set keeps a value and returns where. Whoever asked for the keychain gets it or
// an error; otherwise a keychain that does not take a value is none, and why is
// said. While a keychain is asked, which may take as long as a person does, only this
// one secret is held.
func (s *secretStore) Set(ctx context.Context, workspace, key, value string) (where string, why error, err error) {
	if err := CheckSecret(key, value); err != nil {
		return "", nil, err
	}
	release, err := s.holdKey(ctx, workspace, key)
	if err != nil {
		return "", nil, err
	}
	defer release()
	now := s.now().UTC()
	e := SecretEntry{Workspace: workspace, Key: key, Value: value, CreatedAt: now, UpdatedAt: now}
	if s.keychain {
		_, why = answered(ctx, func() (struct{}, error) {
			return struct{}{}, keyring.Set(keychainService, keychainAccount(workspace, key), value)
		})
		if ended := context.Cause(ctx); ended != nil && why != nil {
			return "", nil, ended
		}
		if why != nil && s.keychainOnly {
			return "", nil, &Failure{Status: StatusError, Code: "command_failed", Err: fmt.Errorf("keep secret %s in the keychain: %w", key, why)}
		}
		if e.Keychain = why == nil; e.Keychain {
			e.Value = ""
		}
	}
	if !utf8.ValidString(e.Value) {
		e.Value, e.Bytes = "", []byte(e.Value)
	}
	var stale bool
	err = s.change(ctx, func(entries []SecretEntry) []SecretEntry {
		i := s.find(entries, workspace, key)
		if i < 0 {
			return append(entries, e)
		}
		e.CreatedAt = entries[i].CreatedAt
		stale = entries[i].Keychain && !e.Keychain
		entries[i] = e
		return entries
	})
	if err == nil && stale { // the old value must not outlive the new one
		_, _ = answered(ctx, func() (struct{}, error) { // it is read no more either way
			return struct{}{}, keyring.Delete(keychainService, keychainAccount(workspace, key))
		})
	}
	return e.Place(), why, err
}

// CheckSecret refuses a value that cannot be kept, or kept out of what is written.
func CheckSecret(key, value string) error {
	switch {
	case !SecretName.MatchString(key):
		return Usage("that is no name for a secret: letters, digits and _, not starting with a digit, at most 128")
	case value == "":
		return Usage("the value of %s is empty", key).Hint("printf %%s \"$VALUE\" | agentclash secret set %s", key)
	case len(value) > MaxSecretBytes:
		return Usage("the value of %s is longer than %d bytes, the most that a secret may have", key, MaxSecretBytes)
	case len(value) < MinSecretBytes:
		return Usage("the value of %s has %d bytes: %d to %d are allowed, so that it can be kept out of every log", key, len(value), MinSecretBytes, MaxSecretBytes)
	}
	return nil
}

// holdKey keeps other processes from changing one secret meanwhile.
func (s *secretStore) holdKey(ctx context.Context, workspace, key string) (release func(), err error) {
	of := sha256.Sum256([]byte(keychainAccount(workspace, key)))
	return s.hold(ctx, s.File+"."+hex.EncodeToString(of[:8]))
}

// change rewrites the file of secrets. It is held for no longer than that takes, and
// what a keychain has done by now is noted also when the command is being ended.
func (s *secretStore) change(ctx context.Context, f func([]SecretEntry) []SecretEntry) error {
	release, err := s.hold(context.WithoutCancel(ctx), s.File)
	if err != nil {
		return err
	}
	defer release()
	entries, err := s.read()
	if err != nil {
		return err
	}
	return s.write(f(entries))
}

func (s *secretStore) hold(ctx context.Context, file string) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("write the secrets: %w", err)
	}
	if release, err = filelock.Hold(ctx, file); err != nil {
		return nil, fmt.Errorf("write the secrets: %w", err)
	}
	return release, nil
}

// kept is the value that the file has.
func (e SecretEntry) kept() string {
	if e.Bytes != nil {
		return string(e.Bytes)
	}
	return e.Value
}

// Place is where the value of an entry is kept.
func (e SecretEntry) Place() string {
	if e.Keychain {
		return inKeychain
	}
	return inFile
}

// Get returns a secret's value; ok is false when there is none.
func (s *secretStore) Get(workspace, key string) (value string, ok bool, err error) {
	entries, err := s.read()
	if err != nil {
		return "", false, err
	}
	i := s.find(entries, workspace, key)
	if i < 0 {
		return "", false, nil
	}
	if !entries[i].Keychain {
		return entries[i].kept(), true, nil
	}
	value, err = fromKeychain(workspace, key)
	if err != nil {
		return "", false, fmt.Errorf("read secret %s from the keychain: %w", key, err)
	}
	return value, true, nil
}

// Values are all secrets of all workspaces.
func (s *secretStore) Values() ([]string, error) {
	entries, err := s.read()
	if err != nil {
		return nil, err
	}
	var values []string
	for _, e := range entries {
		value := e.kept()
		if e.Keychain {
			if value, err = fromKeychain(e.Workspace, e.Key); errors.Is(err, keyring.ErrNotFound) {
				continue // somebody else took it out
			}
			if err != nil {
				return nil, fmt.Errorf("read secret %s from the keychain: %w", e.Key, err)
			}
		}
		values = append(values, value)
	}
	return values, nil
}

// Delete forgets a secret; found is false when there is none.
func (s *secretStore) Delete(ctx context.Context, workspace, key string) (found bool, err error) {
	release, err := s.holdKey(ctx, workspace, key)
	if err != nil {
		return false, err
	}
	defer release()
	entries, err := s.read()
	if err != nil {
		return false, err
	}
	i := s.find(entries, workspace, key)
	if i < 0 {
		return false, nil
	}
	if entries[i].Keychain {
		_, err := answered(ctx, func() (struct{}, error) {
			return struct{}{}, keyring.Delete(keychainService, keychainAccount(workspace, key))
		})
		if err != nil && !errors.Is(err, keyring.ErrNotFound) {
			return false, fmt.Errorf("delete secret %s from the keychain: %w", key, err)
		}
	}
	return true, s.change(ctx, func(entries []SecretEntry) []SecretEntry {
		return slices.DeleteFunc(entries, func(e SecretEntry) bool { return e.Workspace == workspace && e.Key == key })
	})
}

func (s *secretStore) List(workspace string) ([]SecretEntry, error) {
	entries, err := s.read()
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e SecretEntry) bool { return e.Workspace != workspace })
	slices.SortFunc(entries, func(a, b SecretEntry) int { return strings.Compare(a.Key, b.Key) })
	return entries, nil
}

// keychainPatience is how long a keychain may take. A person may have to unlock it.
const keychainPatience = 2 * time.Minute

// answered is what a keychain says, unless the command ends before. What it has done
// counts, whatever ends.
func answered[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	value, err := patiently(ctx.Done(), ask)
	if errors.Is(err, errEnded) {
		err = context.Cause(ctx)
	}
	return value, err
}

var errEnded = errors.New("the command ends")

// patiently is what a keychain says, unless it says nothing: some wait for a window
// that nobody sees.
func patiently[T any](ended <-chan struct{}, ask func() (T, error)) (value T, err error) {
	came := make(chan struct{})
	var said T
	var failed error
	go func() {
		defer close(came)
		said, failed = ask()
	}()
	select {
	case <-came:
		return said, failed
	case <-ended:
		err = errEnded
	case <-time.After(keychainPatience):
		err = fmt.Errorf("the keychain has not answered for up to %s: unlock it, or choose the file with AGENTCLASH_SECRET_STORE=file", keychainPatience)
	}
	select { // both may have come to pass
	case <-came:
		return said, failed
	default:
		return value, err
	}
}

func fromKeychain(workspace, key string) (string, error) {
	return patiently(nil, func() (string, error) {
		return keyring.Get(keychainService, keychainAccount(workspace, key))
	})
}

func keychainAccount(workspace, key string) string { return workspace + "/" + key }
