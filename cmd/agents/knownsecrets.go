package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/engine/redact"
	"github.com/agentclash/agentclash/store"
)

// KnownSecrets are the secrets of this machine that may have come near a run.
type KnownSecrets struct {
	all  *redact.Redactor
	each []knownSecret
}

type knownSecret struct{ name, value string }

// Where plans and packs say that a secret is to be found.
var (
	envReference    = regexp.MustCompile(`env://([A-Za-z_][A-Za-z0-9_]*)`)
	secretReference = regexp.MustCompile(`(?:secret://|secrets\.)([A-Za-z_][A-Za-z0-9_]*)`)
)

// MachineSecrets are what the secret store holds, and what stands in the variables
// that keys are looked for in.
func MachineSecrets(a *cli.App) ([]knownSecret, error) {
	kept, err := a.OpenSecrets()
	if err != nil {
		return nil, err
	}
	values, err := kept.Values()
	if err != nil {
		return nil, err
	}
	var list []knownSecret
	for _, v := range values {
		list = append(list, knownSecret{"a workspace secret", strings.TrimSpace(v)})
	}
	names := []string{"E2B_API_KEY"}
	for _, s := range Servers() {
		names = append(names, s.KeyVar)
	}
	return append(list, variables(a, names)...), nil
}

// variables are the values of those that are set, each once.
func variables(a *cli.App, names []string) (list []knownSecret) {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name != "" && a.Process.Getenv(name) != "" {
			list = append(list, knownSecret{"the value of " + name, strings.TrimSpace(a.Process.Getenv(name))})
		}
	}
	return list
}

// ValuesOf are the secrets alone.
func ValuesOf(list []knownSecret) []string {
	values := make([]string, len(list))
	for i, s := range list {
		values[i] = s.value
	}
	return values
}

// SecretsOf gathers the machine's secrets, and what the run and the accounts
// refer to.
func SecretsOf(ctx context.Context, a *cli.App, db *store.DB, r store.Run) (KnownSecrets, error) {
	machine, err := MachineSecrets(a)
	if err != nil {
		return KnownSecrets{}, err
	}
	texts, err := referring(ctx, db, r)
	if err != nil {
		return KnownSecrets{}, err
	}
	var names []string
	for _, text := range texts {
		for _, m := range envReference.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		for _, m := range secretReference.FindAllStringSubmatch(text, -1) {
			names = append(names, "AGENTCLASH_SECRET_"+m[1])
		}
	}
	var k KnownSecrets
	for _, s := range append(machine, variables(a, names)...) {
		k.add(s.name, s.value)
	}
	k.all = redact.New(ValuesOf(k.each))
	return k, nil
}

// referring are the texts that may say where a secret of the run is found.
func referring(ctx context.Context, db *store.DB, r store.Run) ([]string, error) {
	planned, err := db.Plan(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	s, err := db.Snapshot(ctx, r.PackID)
	if err != nil {
		return nil, err
	}
	accounts, err := db.Accounts(ctx, r.Workspace)
	if err != nil {
		return nil, err
	}
	texts := []string{string(s.Manifest)}
	for _, refers := range []any{planned, accounts} {
		text, err := json.Marshal(refers) // whole, with what is behind pointers
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

func (k *KnownSecrets) add(name, value string) {
	if value = strings.TrimSpace(value); len(value) >= redact.MinBytes {
		k.each = append(k.each, knownSecret{name, value})
	}
}

// Inspect refuses a text with a secret in it, however that is written. What it
// says has the secret's name alone.
func (k KnownSecrets) Inspect(place string, content []byte) error {
	if len(k.each) == 0 || !k.all.Finds(content) {
		return nil
	}
	name := "a secret of this machine"
	for _, s := range k.each {
		if redact.New([]string{s.value}).Finds(content) {
			name = s.name
			break
		}
	}
	return (&cli.Failure{Status: cli.StatusError, Code: "secret_found", Err: fmt.Errorf("nothing was exported: %s is in %s", name, k.all.Text(place))}).
		Hint("the run was recorded without knowing it as a secret: replace the secret where it is used, and keep the run to yourself")
}
