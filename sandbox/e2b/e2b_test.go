package e2b_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/e2b"
	"github.com/agentclash/agentclash/sandbox/e2b/e2btest"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
)

// agent builds the small guest once per test process.
var agent = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "agentclash-e2b")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "agent")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, "../guest/internal/agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the guest: %w\n%s", err, out)
	}
	return os.ReadFile(bin)
})

// packed is the small guest, compressed once per test process.
var packed = e2b.Packing(func(string) ([]byte, error) { return agent() })

// options are those of a provider that speaks to a server of the test's.
func options(s *e2btest.Server) e2b.Options {
	return e2b.Options{
		Key: e2btest.Key, Template: e2btest.Template, BaseURL: s.URL, SandboxURL: s.URL, Timeout: 10 * time.Second,
		Guest: func(string) ([]byte, error) { return agent() }, Owner: "owner", HostID: "host", Alive: func(string) bool { return true },
	}
}

func open(t testing.TB, o e2b.Options) *e2b.Provider {
	t.Helper()
	p, err := e2b.New(o)
	if err != nil {
		t.Fatal(err)
	}
	p.SharePacked(packed)
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		if err := p.Close(ctx); err != nil {
			t.Errorf("close the provider: %v", err)
		}
	})
	return p
}

// TestContract runs the port's suite in machines that run programs for real.
func TestContract(t *testing.T) {
	e2btest.Need(t)
	s := e2btest.New(t)
	_, err := exec.LookPath("python3")
	c := sandboxtest.Capabilities{Process: true, Tools: err == nil}
	if raceDetector && os.Getenv("AGENTCLASH_SLOW") != "1" {
		c.BigBytes = 3 << 20 // JSON of more, four times over, takes it as long as all the rest
	}
	sandboxtest.Run(t, func(t *testing.T) sandbox.Provider { return open(t, options(s)) }, c)
}
