package main_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// proxied is a proxy that keeps which addresses it was asked for, and reaches none.
type proxied struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newProxied(t *testing.T) *proxied {
	t.Helper()
	p := &proxied{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked = append(p.asked, r.Method+" "+r.Host)
		p.mu.Unlock()
		http.Error(w, "there is no way out", http.StatusBadGateway)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *proxied) took() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.asked = nil }()
	return p.asked
}

const judgedPack = `
pack: {slug: judged, name: Judged, family: demo}
version:
  number: 1
  execution_mode: prompt_eval
  evaluation_spec:
    name: judged
    version_number: 1
    judge_mode: hybrid
    validators: [{key: said, type: contains, target: final_output, expected_from: "literal:day"}]
    llm_judges: [{key: good, mode: assertion, assertion: "It is polite.", model: anthropic/judging}]
    scorecard: {dimensions: [correctness, {key: good, source: llm_judge, judge_key: good, weight: 1}], pass_threshold: 0.5}
challenges: [{key: c, title: C, category: demo, difficulty: easy, instructions: Greet.}]
input_sets: [{key: default, name: Default, cases: [{challenge_key: c, case_key: one, payload: {}}]}]
`

// TestProxies has everything that talks to a network go by the proxy that is set, unless
// NO_PROXY has its host.
func TestProxies(t *testing.T) {
	t.Parallel()
	way := newProxied(t)
	p := newProgram(t)
	p.env = slices.DeleteFunc(p.env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasSuffix(strings.ToUpper(name), "_PROXY")
	})
	p.env = append(p.env, "OPENAI_API_KEY=sk-not-a-key-at-all", "ANTHROPIC_API_KEY=sk-not-a-key-at-all", "GEMINI_API_KEY=sk-not-a-key-at-all",
		"E2B_API_KEY=e2b-not-a-key-at-all", "E2B_TEMPLATE_ID=template", "AGENTCLASH_SECRET_STORE=file")
	p.write(t, "judged.yaml", judgedPack)
	p.write(t, "polite.yaml", "default: [{text: Good day.}]\n")
	p.must(t, "challenge-pack", "init", "native.yaml", "--template", "native")
	p.must(t, "deployment", "create", "--name", "service", "--kind", "http", "--url", "http://agent.invalid/ask")
	p.must(t, "deployment", "create", "--name", "plain", "--model", "openai/m", "--base-url", "http://llm.invalid/v1")
	p.must(t, "eval", "start", "--pack", "builtin:quickstart", "--model", "scripted/builtin:quickstart-good", "--name", "done")

	run := func(args ...string) []string {
		return append([]string{"eval", "start", "--retry-invalid", "0", "--max-wait", "0s", "--quiet"}, args...)
	}
	one := func(args ...string) []string {
		return run(append([]string{"--pack", "builtin:quickstart", "--case", "capital"}, args...)...)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"openai":    {one("--model", "openai/m"), "CONNECT api.openai.com:443"},
		"anthropic": {one("--model", "anthropic/m"), "CONNECT api.anthropic.com:443"},
		"gemini":    {one("--model", "gemini/m"), "CONNECT generativelanguage.googleapis.com:443"},
		"a server":  {one("--deployment", "plain"), "POST llm.invalid"},
		"endpoint":  {one("--deployment", "service"), "POST agent.invalid"},
		"judge":     {run("--pack", "judged.yaml", "--model", "scripted/polite.yaml"), "CONNECT api.anthropic.com:443"},
		"e2b":       {run("--pack", "native.yaml", "--model", "scripted/native.reference.yaml", "--sandbox", "e2b"), "CONNECT api.e2b.app:443"},
		"otlp":      {[]string{"run", "export", "done", "--otlp", "http://collector.invalid:4318"}, "POST collector.invalid:4318"},
		"doctor":    {[]string{"doctor", "--live"}, "CONNECT api.openai.com:443"},
	} {
		env := p.env
		p.env = append(slices.Clone(env), "HTTPS_PROXY="+way.URL, "http_proxy="+way.URL)
		out, _ := p.command(t.Context(), c.args...).CombinedOutput() // nothing can be reached
		if got := way.took(); !slices.Contains(got, c.want) {
			t.Errorf("%s: the proxy was asked for %q, not for %q:\n%s", name, got, c.want, out)
		}
		if strings.Contains(c.want, ".invalid") { // which nobody has: a vendor's own would be called directly
			p.env = append(p.env, "NO_PROXY=.invalid")
			_ = p.command(t.Context(), c.args...).Run() // it fails, too
			if got := way.took(); len(got) > 0 {
				t.Errorf("%s: the proxy was asked for %q, which NO_PROXY has", name, got)
			}
		}
		p.env = env
	}
}

// TestWrongProxies refuses what is no address of a proxy before anything is sent, and
// shows none of it: there may be a password in it.
func TestWrongProxies(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.env = append(p.env, "OPENAI_API_KEY=sk-not-a-key-at-all", "AGENTCLASH_SECRET_STORE=file", "NO_PROXY=", "no_proxy=", "HTTPS_PROXY=", "HTTP_PROXY=", "http_proxy=")
	for _, wrong := range []string{"://hunter22", "http://user:hunter22@[::1", "ftp://hunter22:1", "nonsense hunter22", "http://hunter22/path"} {
		for _, args := range [][]string{
			{"eval", "start", "--pack", "builtin:quickstart", "--model", "openai/m"},
			{"doctor"},
		} {
			c := p.command(t.Context(), args...)
			c.Env = append(slices.Clone(p.env), "HTTPS_PROXY="+wrong)
			out, _ := c.CombinedOutput() // the status is looked at
			if !strings.Contains(string(out), "HTTPS_PROXY is no address of a proxy") || !strings.Contains(string(out), "unset HTTPS_PROXY") ||
				strings.Contains(string(out), "hunter22") || args[0] == "eval" && c.ProcessState.ExitCode() != 64 {
				t.Errorf("%s with %q: %s", args[0], wrong, out)
			}
		}
	}
	c := p.command(t.Context(), "doctor")
	c.Env = append(slices.Clone(p.env), "https_proxy=user:hunter22@127.0.0.1:3128")
	if out, _ := c.Output(); !strings.Contains(string(out), "https_proxy: http://127.0.0.1:3128") || strings.Contains(string(out), "hunter22") {
		t.Errorf("doctor said %s", out)
	}
	c = p.command(t.Context(), "eval", "start", "--pack", "builtin:quickstart", "--case", "capital", "--model", "openai/m", "--retry-invalid", "0", "--max-wait", "0s")
	c.Env = append(slices.Clone(p.env), "HTTPS_PROXY=http://127.0.0.1:1")
	if out, _ := c.CombinedOutput(); !strings.Contains(string(out), "the proxy that HTTPS_PROXY names cannot be reached: dial tcp 127.0.0.1:1") {
		t.Errorf("with a proxy that is not there: %s", out)
	}
	// who asks nobody is not held up
	c = p.command(t.Context(), "eval", "start", "--pack", "builtin:quickstart", "--model", "scripted/builtin:quickstart-good", "--quiet")
	c.Env = append(slices.Clone(p.env), "HTTPS_PROXY=://")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
