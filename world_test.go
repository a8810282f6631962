package main_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/provider/openai/openaitest"
)

// world is a machine on which agentclash is in use, as testdata/world/prepare.sh makes
// it: a project in a git repository, with packs, deployments, runs and all that belongs
// to them in the store.
type world struct {
	dir string // of home, project and user
	env []string
}

// newWorld makes a world in which nothing has been done yet.
func newWorld(t *testing.T) world {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere a process cannot be told by SSL_CERT_FILE whom to trust")
	}
	for _, needed := range []string{"bash", "git"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skip(needed + " is not installed")
		}
	}
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	w := world{dir: filepath.Join(t.TempDir(), "world")}
	must(t, os.CopyFS(w.dir, os.DirFS("testdata/world")))
	must(t, os.MkdirAll(filepath.Join(w.dir, "user", ".zfunc"), 0o755))
	must(t, os.Chmod(filepath.Join(w.dir, "bin", "pass"), 0o755))
	models := modelServer(t)
	proxy, trusted := vendorProxy(t, models)
	lab := httptest.NewServer(models)
	t.Cleanup(lab.Close)
	w.env = []string{
		"PATH=" + filepath.Dir(bin) + ":" + mustAbs(t, "testdata/world/bin") + ":" + os.Getenv("PATH"),
		"TMPDIR=" + os.TempDir(), "TERM=dumb", "LANG=C.UTF-8", "TZ=UTC", "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"),
		"HTTPS_PROXY=" + proxy, "SSL_CERT_FILE=" + trusted, "LAB=" + lab.URL, "COLLECTOR=" + newCollector(t).URL,
		"OPENAI_API_KEY=sk-of-the-world-0123456789", "OPENROUTER_API_KEY=sk-or-of-the-world-0123456789", "TEAM_OPENAI_KEY=sk-team-0123456789",
		"AGENTCLASH_SECRET_STORE=file", "AGENTCLASH_GUEST=" + bin, "GORACE=atexit_sleep_ms=0",
		"GIT_AUTHOR_NAME=dev", "GIT_AUTHOR_EMAIL=dev@example.com", "GIT_COMMITTER_NAME=dev", "GIT_COMMITTER_EMAIL=dev@example.com", "GIT_CONFIG_NOSYSTEM=1",
	}
	return w
}

// preparedWorld makes the world that others are copies of.
func preparedWorld(t *testing.T) world {
	t.Helper()
	w := newWorld(t)
	if said := w.run(t, "sh ../prepare.sh", ""); said.status != 0 {
		t.Fatalf("prepare.sh ended with %d\n%s%s", said.status, said.out, said.err)
	}
	return w
}

// copy is the same world once more, for what changes it.
func (w world) copy(t *testing.T) world {
	t.Helper()
	to := filepath.Join(t.TempDir(), "world")
	if out, err := exec.Command("cp", "-Rp", w.dir, to).CombinedOutput(); err != nil {
		t.Fatalf("copy the world: %v\n%s", err, out)
	}
	return world{dir: to, env: w.env}
}

// reply is what a line said, and how it ended.
type reply struct {
	out, err string
	status   int
}

// command is a script for bash in the project's directory.
func (w world) command(ctx context.Context, script string) *exec.Cmd {
	c := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-c", script)
	c.Dir = filepath.Join(w.dir, "project")
	c.Env = append([]string{"WORLD=" + w.dir, "HOME=" + filepath.Join(w.dir, "user"), "AGENTCLASH_HOME=" + filepath.Join(w.dir, "home")}, w.env...)
	c.WaitDelay = time.Second
	return c
}

// run runs a script to its end. One that never ends is named by its failure.
func (w world) run(t *testing.T, script, stdin string) reply {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	var out, talk bytes.Buffer
	c := w.command(ctx, script)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &talk
	err := c.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatalf("%s: %v\n%s%s", script, err, out.String(), talk.String())
	}
	return reply{out: out.String(), err: talk.String(), status: c.ProcessState.ExitCode()}
}

// modelServer speaks OpenAI's wire format: it knows the reviews of the world's pack, and
// which models there are.
func modelServer(t *testing.T) http.Handler {
	t.Helper()
	chat := openaitest.NewFunc(t, func(r openaitest.Request) openaitest.Reply {
		answer := openaitest.Text("mixed")
		switch asked := *r.Decoded.Messages[len(r.Decoded.Messages)-1].Content; {
		case strings.Contains(asked, "arithmetic"):
			answer = openaitest.Text("positive")
		case strings.Contains(asked, "refund"):
			answer = openaitest.Text("negative")
		}
		answer.Usage = &openaitest.Usage{Prompt: 60, Completion: 2, Total: 62}
		return answer
	})
	at, err := url.Parse(chat.URL)
	must(t, err)
	at.Path = ""
	forward := httputil.NewSingleHostReverseProxy(at)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/v1/models") {
			fmt.Fprint(w, `{"data":[{"id":"gpt-4.1-mini"},{"id":"qwen/qwen3","pricing":{"prompt":"0.000001","completion":"0.000002"}}]}`)
			return
		}
		forward.ServeHTTP(w, r)
	})
}

// vendorProxy leads every https request to a handler, whatever host was meant, so that
// examples with a vendor's model can be run as they stand. It returns its address and
// the file of the certificate to trust.
func vendorProxy(t *testing.T, vendor http.Handler) (address, trusted string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"api.openai.com", "openrouter.ai"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	trusted = filepath.Join(t.TempDir(), "trusted.pem")
	must(t, os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	behind := httptest.NewUnstartedServer(vendor)
	behind.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	behind.StartTLS()
	t.Cleanup(behind.Close)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT is known here", http.StatusMethodNotAllowed)
			return
		}
		inside, err := net.Dial("tcp", behind.Listener.Addr().String())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		outside, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		join(outside, inside)
	}))
	t.Cleanup(front.Close)
	return front.URL, trusted
}

// join lets two connections talk with each other until one of them has ended.
func join(outside, inside net.Conn) {
	if _, err := io.WriteString(outside, "HTTP/1.1 200 OK\r\n\r\n"); err == nil {
		go func() {
			_, _ = io.Copy(inside, outside) // ends with the other direction
			_ = inside.Close()
		}()
		_, _ = io.Copy(outside, inside)
	}
	_ = inside.Close()
	_ = outside.Close()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
