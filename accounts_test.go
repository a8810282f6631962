package main_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAccounts tests an account against a server that answers, and one that
// fails in each way, and lists its models. The key is nowhere to be seen.
func TestAccounts(t *testing.T) {
	t.Parallel()
	const key = "sk-account-0123456789"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := new(strings.Builder)
		if _, err := fmt.Fprint(body, r.Header.Get("Authorization")); err != nil || body.String() != "Bearer "+key {
			w.WriteHeader(401)
			fmt.Fprintf(w, `{"error":{"message":"not %s"}}`, body)
			return
		}
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"data":[{"id":"b"},{"id":"a","pricing":{"prompt":"0.000001","completion":"0.000002"}}]}`)
			return
		}
		raw := make([]byte, 1<<16)
		n, _ := r.Body.Read(raw)
		for status, model := range map[int]string{429: `"busy"`, 503: `"down"`, 404: `"unknown"`, 400: `"odd"`} {
			if strings.Contains(string(raw[:n]), model) {
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"error":{"message":"as asked, %s","type":"x"}}`, key)
				return
			}
		}
		if strings.Contains(string(raw[:n]), `"silent"`) {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"OK\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	p := newProgram(t)
	p.env = append(p.env, "GOOD_KEY="+key, "BAD_KEY=sk-wrong-9876543210")
	p.must(t, "infra", "provider-account", "create", "--name", "good", "--provider", "openai", "--base-url", s.URL+"/v1", "--credential", "env://GOOD_KEY")
	p.must(t, "infra", "provider-account", "create", "--name", "bad", "--provider", "openai", "--base-url", s.URL+"/v1", "--credential", "env://BAD_KEY")
	for _, row := range []struct {
		account, model, code string
		status               int
	}{
		{"good", "", "", 0}, {"good", "m", "", 0}, {"bad", "m", "auth", 77}, {"bad", "", "auth", 77}, {"good", "busy", "rate_limit", 75},
		{"good", "down", "unavailable", 75}, {"good", "unknown", "unknown_model", 64}, {"good", "odd", "invalid_request", 64}, {"good", "silent", "timeout", 75},
	} {
		args := []string{"infra", "provider-account", "test", row.account, "--json", "--query", `[.status, .code] | join(" ")`}
		if row.model == "silent" {
			args = append(args, "--timeout-seconds", "1")
		}
		if row.model != "" {
			args = append(args, "--model", row.model)
		}
		out, err := p.command(t.Context(), args...).CombinedOutput()
		status := 0
		if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
			status = ended.ExitCode()
		}
		want := "failed " + row.code
		if row.code == "" {
			want = "passed "
		}
		if status != row.status || strings.Trim(string(out), "\"\n") != want || strings.Contains(string(out), "0123456789") || strings.Contains(string(out), "9876543210") {
			t.Errorf("%s %s: status %d, want %d: %s", row.account, row.model, status, row.status, out)
		}
	}
	var list struct {
		Items []struct {
			ID            string   `json:"id"`
			Input         *float64 `json:"input_cost_per_mtok"`
			PricingSource string   `json:"pricing_source"`
		}
	}
	p.query(t, &list, "infra", "provider-account", "models", "good")
	var got []string
	for _, m := range list.Items {
		got = append(got, m.ID+" "+m.PricingSource)
	}
	if diff := cmp.Diff([]string{"a live", "b unknown"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// a deployment is reached as its account says
	p.must(t, "deployment", "create", "--name", "d", "--model", "openai/m", "--account", "good")
	p.must(t, "eval", "start", "--pack", "builtin:quickstart", "--deployment", "d", "--name", "one", "--quiet")
	var card scorecard
	p.query(t, &card, "eval", "scorecard", "one")
	if len(card.Scorecard.Trials) == 0 || card.Scorecard.Trials[0].Outcome == "invalid" {
		t.Errorf("got %+v", card)
	}
}

// TestDoctorAsksEachAccount only when it is told to, and says what came of it.
func TestDoctorAsksEachAccount(t *testing.T) {
	t.Parallel()
	const key = "sk-doctor-0123456789"
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(401)
			return
		}
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"data":[{"id":"tiny"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"OK\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	p := newProgram(t)
	p.env = append(p.env, "GOOD_KEY="+key, "BAD_KEY=sk-wrong-9876543210", "SANDBOX_PROVIDER=scratch")
	for _, name := range []string{"good", "bad"} {
		p.must(t, "infra", "provider-account", "create", "--name", name, "--provider", "openai", "--base-url", s.URL+"/v1", "--credential", "env://"+strings.ToUpper(name)+"_KEY")
	}
	p.must(t, "doctor")
	if n := asked.Load(); n != 0 {
		t.Errorf("a doctor that was not told to made %d calls", n)
	}
	out, err := p.command(t.Context(), "doctor", "--live", "--json", "--query", `[.checks[] | select(.name == "live") | .metadata.account + " " + .status] | join(", ")`).CombinedOutput()
	ended := (*exec.ExitError)(nil)
	if !errors.As(err, &ended) || ended.ExitCode() != 1 || strings.Trim(string(out), "\"\n") != "bad fail, good ok" {
		t.Errorf("%v: %s", err, out)
	}
	p.must(t, "infra", "provider-account", "delete", "bad")
	if out := p.must(t, "doctor", "--live"); !strings.Contains(string(out), "good: tiny answered in ") || strings.Contains(string(out), "0123456789") {
		t.Errorf("got %s", out)
	}
}
