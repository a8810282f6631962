package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/agentclash/agentclash/pack"
)

// testImage is what `make sandbox-image` makes: a shell and Python.
const testImage = "agentclash/sandbox:local"

// TestCatalogForReal has the doctor examine every pack of the catalogue through
// the real engine, native ones in containers: the reference agent passes every
// case, no cheating agent passes any but the one whose answer it was told, and
// every changed validator is noticed.
func TestCatalogForReal(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	image := hasTestImage(t)
	for _, entry := range pack.Catalog() {
		t.Run(entry.Slug, func(t *testing.T) {
			t.Parallel()
			if entry.Mode == pack.Native && !image {
				t.Skipf("no engine has the image %s: make sandbox-image", testImage)
			}
			p.examine(t, entry)
		})
	}
}

func (p program) examine(t *testing.T, entry pack.CatalogEntry) {
	t.Helper()
	args := []string{"challenge-pack", "doctor", "builtin:" + entry.Slug, "--json"}
	if entry.Mode == pack.Native {
		args = append(args, "--image", testImage)
	}
	out, err := p.command(t.Context(), args...).Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	var d struct {
		Agents   []string
		Findings []struct{ Severity, Code, Message string }
		Cases    []struct {
			Case   string `json:"case_key"`
			Trials []struct {
				Agent, Outcome, Reason string
				Own                    bool `json:"own_answer"`
			}
		}
	}
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if err != nil || len(d.Findings) > 0 || len(d.Cases) != entry.Cases || len(d.Agents) < 5 {
		t.Errorf("got %v, %d of %d cases, agents %v: %+v", err, len(d.Cases), entry.Cases, d.Agents, d.Findings)
	}
	for _, c := range d.Cases {
		for _, trial := range c.Trials {
			want := "failed"
			if trial.Agent == "reference" || trial.Own {
				want = "passed"
			}
			if trial.Outcome != want {
				t.Errorf("%s, agent %s: got %s (%s), want %s", c.Case, trial.Agent, trial.Outcome, trial.Reason, want)
			}
		}
	}
}

// hasTestImage asks the engine of the tests; where one is demanded, so is the
// image.
func hasTestImage(t *testing.T) bool {
	t.Helper()
	if !dockerAnswers(t) {
		return false
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket())
	}}}
	defer client.CloseIdleConnections()
	res, err := client.Get("http://engine/images/" + testImage + "/json")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK && os.Getenv("AGENTCLASH_REQUIRE_DOCKER") != "" {
		t.Fatalf("AGENTCLASH_REQUIRE_DOCKER is set and the engine has no image %s: make sandbox-image", testImage)
	}
	return res.StatusCode == http.StatusOK
}
