package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/agentclash/agentclash/cmd/report/page"
	"github.com/agentclash/agentclash/cmd/report/page/pagetest"
)

// serving starts agentclash serve and returns its address. It is ended as by Ctrl-C,
// and must end clean.
func serving(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var talk bytes.Buffer
	c.Stderr = &talk
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := c.Wait(); err != nil {
			t.Errorf("serve: %v: %s", err, talk.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, ok := strings.Cut(strings.TrimSpace(line), "Runs are shown at ")
	if err != nil || !ok {
		t.Fatalf("serve says %q: %v: %s", line, err, talk.String())
	}
	return address
}

// TestServe asks a server what a browser asks, and what others might.
func TestServe(t *testing.T) {
	t.Parallel()
	agentclash, home := exampleStore(t)
	attached := map[string]string{}
	for _, visibility := range []string{"workspace", "private"} {
		id, err := agentclash("artifact", "upload", "pack.yaml", "--type", "notes", "--run", "next", "--visibility", visibility, "--json", "--query", ".artifact_id").Output()
		if err != nil {
			t.Fatal(err)
		}
		attached[visibility] = strings.TrimSpace(string(id))
	}
	for range 2 {
		if out, err := agentclash("eval", "start", "--pack", "builtin:quickstart", "--model", "scripted/builtin:quickstart-good", "--name", "twice").CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	readOnly(t, home)
	address := serving(t, agentclash("serve", "--port", "0"))
	ids := map[string]string{}
	for _, name := range []string{"steady", "next"} {
		out, err := agentclash("run", "get", name, "--json", "--query", ".run_id").Output()
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = strings.TrimSpace(string(out))
	}
	out, err := agentclash("eval", "scorecard", "next", "--json", "--query", ".scorecard.trials[1].trial_id").Output()
	if err != nil {
		t.Fatal(err)
	}
	trial := "runs/" + ids["next"] + "/trials/" + strings.TrimSpace(string(out))
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, row := range []struct {
		name, method, path string
		header             map[string]string
		status             int
		want               string
	}{
		{"list", "GET", "", nil, 200, ">steady</bdi>"},
		{"head", "HEAD", "", nil, 200, ""},
		{"search", "GET", "?q=STEA", nil, 200, "1 to 1 of 1"},
		{"search for nothing", "GET", "?q=%3Cimg%3E", nil, 200, "No run has such a name or pack"},
		{"report", "GET", "runs/" + ids["next"], nil, 200, `"served":true`},
		{"report by name", "GET", "runs/next?compare=steady", nil, 200, `"run_agent_label":"steady"`},
		{"file", "GET", "runs/next/report.html", nil, 200, `id="chunk-0"`},
		{"data", "GET", "runs/next/data.json", nil, 200, `"schema_version":1`},
		{"trial", "GET", trial + "?compare=steady", nil, 200, `-# Release notes`},
		{"events", "GET", trial + "/events.jsonl", nil, 200, `"event_type":`},
		{"captured file", "GET", trial + "/files/0", nil, 200, "# Changes"},
		{"artifact", "GET", "runs/next/artifacts/" + attached["workspace"], nil, 200, "pack: {slug: release-notes"},
		{"head of an artifact", "HEAD", "runs/next/artifacts/" + attached["workspace"], nil, 200, ""},
		{"private artifact", "GET", "runs/next/artifacts/" + attached["private"], nil, 404, "not found"},
		{"artifact of another run", "GET", "runs/steady/artifacts/" + attached["workspace"], nil, 404, "not found"},
		{"no such artifact", "GET", "runs/next/artifacts/..%2f..%2fpack.yaml", nil, 404, "not found"},
		{"artifacts of the page", "GET", "runs/next/data.json", nil, 200, `"private":1`},
		{"no such baseline", "GET", trial + "?compare=nobody", nil, 404, "not found"},
		{"no such file", "GET", trial + "/files/7", nil, 404, "not found"},
		{"path as a file", "GET", trial + "/files/..%2f..%2f..%2fetc%2fpasswd", nil, 404, "not found"},
		{"climbing", "GET", "../../../../etc/passwd", nil, 307, "/etc/passwd"}, // a page of ours that there is not
		{"file of the machine", "GET", "etc/passwd", nil, 404, "no such page"},
		{"climbing inside", "GET", "runs/..%2f..%2fetc%2fpasswd", nil, 404, "not found"},
		{"no such run", "GET", "runs/nobody", nil, 404, "not found"},
		{"name of two runs", "GET", "runs/twice", nil, 400, "more than one run"},
		{"baseline with the name of two runs", "GET", "runs/next?compare=twice", nil, 400, "more than one run"},
		{"trial of another run", "GET", strings.Replace(trial, ids["next"], ids["steady"], 1), nil, 404, "not found"},
		{"file as a baseline", "GET", "runs/next?compare=./pack.yaml", nil, 400, "no file is read"},
		{"compared with itself", "GET", "runs/next?compare=next", nil, 400, "itself"},
		{"comparison", "GET", "compare?baseline=steady&candidate=next", nil, 303, ""},
		{"comparison of one", "GET", "compare?baseline=next&candidate=next", nil, 400, "two different runs"},
		{"another host", "GET", "", map[string]string{"Host": "attacker.example"}, 421, "127.0.0.1"},
		{"another host with our port", "GET", "", map[string]string{"Host": "attacker.example" + address[strings.LastIndex(address, ":"):len(address)-1]}, 421, ""},
		{"another port", "GET", "", map[string]string{"Host": "127.0.0.1:1"}, 421, ""},
		{"localhost", "GET", "", map[string]string{"Host": "localhost" + address[strings.LastIndex(address, ":"):len(address)-1]}, 200, ""},
		{"another origin", "GET", "runs/next/data.json", map[string]string{"Origin": "https://attacker.example"}, 403, "other sites"},
		{"no origin", "GET", "runs/next/data.json", map[string]string{"Origin": "null"}, 403, "other sites"},
		{"our origin", "GET", "runs/next/data.json", map[string]string{"Origin": address[:len(address)-1]}, 200, ""},
		{"script of another site", "GET", "runs/next/data.json", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, 403, ""},
		{"frame of another site", "GET", "", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403, ""},
		{"link of another site", "GET", "", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200, ""},
		{"post", "POST", "runs/next", nil, 405, "GET and HEAD"},
		{"delete", "DELETE", "runs/next", nil, 405, "GET and HEAD"},
		{"options", "OPTIONS", "runs/next", map[string]string{"Access-Control-Request-Method": "GET"}, 405, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			q, err := http.NewRequestWithContext(t.Context(), row.method, address+row.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range row.header {
				q.Header.Set(k, v)
			}
			if host := row.header["Host"]; host != "" {
				q.Host = host
			}
			a, err := client.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Body.Close()
			body, err := io.ReadAll(a.Body)
			if err != nil {
				t.Fatal(err)
			}
			if a.StatusCode != row.status || !strings.Contains(string(body), row.want) {
				t.Errorf("status %d, want %d with %q: %.300s", a.StatusCode, row.status, row.want, body)
			}
			h := a.Header
			if h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("headers: %v", h)
			}
			if strings.Contains(row.path, "/artifacts/") && a.StatusCode == 200 && h.Get("Content-Disposition") != `attachment; filename=pack.yaml` {
				t.Errorf("Content-Disposition: %s", h.Get("Content-Disposition"))
			}
			if strings.Contains(row.path, "/files/") && a.StatusCode == 200 && h.Get("Content-Disposition") != `attachment; filename=NOTES.md` {
				t.Errorf("Content-Disposition: %s", h.Get("Content-Disposition"))
			}
		})
	}
	t.Run("unchanged", func(t *testing.T) {
		first, err := client.Get(address + "runs/next/data.json")
		if err != nil {
			t.Fatal(err)
		}
		first.Body.Close()
		q, _ := http.NewRequestWithContext(t.Context(), "GET", address+"runs/next/data.json", nil)
		q.Header.Set("If-None-Match", first.Header.Get("ETag"))
		again, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		again.Body.Close()
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("status %d for the version that is known", again.StatusCode)
		}
	})
}

// readOnly takes away the right to write from a home.
func readOnly(t *testing.T, home string) {
	t.Helper()
	if err := os.Chmod(home, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chmod(home, 0o700); err != nil {
			t.Error(err)
		}
	})
}

// TestServeInBrowser follows a run that another process executes.
func TestServeInBrowser(t *testing.T) {
	t.Parallel()
	w := openBrowser(t)
	agentclash, _ := exampleStore(t)
	address := serving(t, agentclash("serve", "--port", "0"))

	w.do(chromedp.Navigate(address), chromedp.WaitVisible("table", chromedp.ByQuery))
	is(w, `document.querySelectorAll('tbody tr').length`, 2)
	w.do(chromedp.Click(`form[action="/compare"] button`, chromedp.ByQuery), chromedp.WaitReady("html[data-ready]", chromedp.ByQuery))
	is(w, `document.querySelector('h1').textContent`, "next")
	is(w, `document.querySelector('#comparison h3').textContent`, "next against steady of steady")
	w.do(chromedp.Evaluate(`[...document.querySelectorAll('table.grid td a')].find((a) => a.textContent === 'cart-merge').click()`, nil), chromedp.WaitVisible(`.trialbody[data-ready]`, chromedp.ByQuery))
	is(w, `[...document.querySelectorAll('.diff .add')].some((e) => e.textContent === '+# Changes')`, true)

	dir := t.TempDir()
	script := "cases:\n"
	pack, err := os.ReadFile(filepath.Join("testdata", "report", "pack.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"checkout-timeout", "dark-mode"} {
		script += "  " + name + ":\n    - {tool_calls: [{name: submit, arguments: {answer: NOTES.md}}]}\n"
	}
	script += "default:\n  - {delay_ms: 3000, tool_calls: [{name: submit, arguments: {answer: late}}]}\n"
	for name, text := range map[string]string{"slow.yaml": script, "pack.yaml": string(pack), "judge.yaml": "judges: [{text: '{\"score\": 3}'}]\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := agentclash("eval", "start", "--pack", "pack.yaml", "--model", "scripted/slow.yaml", "--name", "slow", "--sandbox", "scratch", "--concurrency", "4", "--quiet",
		"--case", "checkout-timeout", "--case", "dark-mode", "--case", "csv-export", "--case", "sso-mapping")
	run.Dir = dir
	var talk bytes.Buffer
	run.Stderr = &talk
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	// the run is in the store before its first trial begins
	for range 600 {
		out, err := agentclash("run", "get", "slow", "--json", "--query", ".status").Output()
		if err == nil && strings.TrimSpace(string(out)) == "running" {
			break
		}
	}
	w.visit(address + "runs/slow")
	is(w, `document.querySelector('#badge') !== null`, true)
	w.await(`document.querySelector('#badge').textContent === 'ended: completed'`)
	is(w, `document.querySelector('table.grid').getAttribute('aria-rowcount')`, "5")
	is(w, `[...document.querySelectorAll('table.grid td .status')].every((e) => ['passed', 'failed'].includes(e.dataset.status))`, true)
	if err := run.Wait(); err != nil {
		t.Fatalf("%v: %s", err, talk.String())
	}
	w.alone(address)
}

// TestLargeReportInBrowser opens reports of many trials. How long that takes is
// logged; no test asserts a time.
func TestLargeReportInBrowser(t *testing.T) {
	t.Parallel()
	w := openBrowser(t)
	for name, r := range map[string]page.Report{
		"200 trials":    pagetest.Talkative(pagetest.Run(200, 30), 16<<10),
		"10,000 trials": pagetest.Talkative(pagetest.Run(10_000, 1), 200),
		"hostile":       pagetest.Hostile(pagetest.Run(3, 2)),
	} {
		file := filepath.Join(t.TempDir(), "r.html")
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		left, err := page.Write(f, r)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil || f.Close() != nil || info.Size() > page.MaxPage {
			t.Fatalf("%s: %d bytes: %v", name, info.Size(), err)
		}
		w.visit("file://" + file)
		t.Logf("%s: %d bytes, interactive %s ms after the page was asked for; left out: %v", name, info.Size(), eval[string](w, `document.documentElement.dataset.ready`), left.Lines())
		if n := eval[int](w, `document.querySelectorAll('table.grid tbody tr[data-i]').length`); n > 60 {
			t.Errorf("%s: %d rows are in the document", name, n)
		}
		w.do(chromedp.Evaluate(`document.getElementById('grid').scrollTop = 1e9`, nil))
		w.await(`document.querySelector('table.grid tbody tr[aria-rowindex="` + eval[string](w, `document.querySelector('table.grid').getAttribute('aria-rowcount')`) + `"]') !== null`)
		w.do(chromedp.Evaluate(`document.querySelector('table.grid tbody td a').click()`, nil), chromedp.WaitVisible(`.trialbody[data-ready]`, chromedp.ByQuery))
		w.do(chromedp.Evaluate(`document.querySelectorAll('details').forEach((e) => e.open = true)`, nil))
		is(w, `document.querySelectorAll('.step').length > 2`, true)
		if name == "hostile" {
			is(w, `document.querySelectorAll('#dimensions table').length === 3 && document.querySelectorAll('#dimensions tbody tr').length === 3`, true)
			w.await(`[...document.querySelectorAll('.stepbody pre')].some((e) => e.textContent.includes('"__proto__": "` + pagetest.OfNobody + `"'))`) // a step is filled once it is open
			is(w, `document.querySelectorAll('#expected .diff .add, #artifacts td').length > 1`, true)
			is(w, `[...document.querySelectorAll('a, area, form')].every((e) => /^(file:|$)/.test(new URL(e.href || '', location.href).protocol))`, true)
		}
		is(w, `window.pwned === undefined && document.querySelector('img') === null`, true)
		w.alone("file://")
	}
	var text string
	w.do(chromedp.Text("#trialname", &text, chromedp.ByQuery))
	if raw, _ := json.Marshal(text); strings.ContainsAny(text, "\u202e\u2066\x1b") {
		t.Errorf("strange characters are shown as they are: %s", raw)
	}
}
