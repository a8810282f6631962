package main_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/provider/openai/openaitest"
)

// TestBudgetOutlivesKills ends a run with a budget by kill -9 at moments drawn by
// chance and resumes it, again and again. What the server asks for never passes
// the budget: what a dead process had set aside counts as spent.
func TestBudgetOutlivesKills(t *testing.T) {
	t.Parallel()
	const budget = 0.5
	for seed := range uint64(rounds(1, 10)) {
		draw, moments := rand.New(rand.NewPCG(seed, 4)), rand.New(rand.NewPCG(seed, 5))
		var mu sync.Mutex
		usd, asked := 0.0, 0
		server := openaitest.NewFunc(t, func(openaitest.Request) openaitest.Reply {
			mu.Lock()
			defer mu.Unlock()
			asked++
			out := draw.Int64N(1001)
			usd += float64(out) * 10 / 1e6
			r := openaitest.Text("done")
			r.Usage = &openaitest.Usage{Prompt: 0, Completion: out, Total: out}
			r.Delay = 20 * time.Millisecond
			return r
		})
		p := newProgram(t)
		p.write(t, "pack.yaml", strings.Replace(hundredCases("prompt_eval"), "    scorecard:",
			"    pricing: {models: [{provider_key: openai, provider_model_id: m, input_cost_per_million_tokens: 1, output_cost_per_million_tokens: 10}]}\n    scorecard:", 1))
		p.must(t, "deployment", "create", "--name", "d", "--model", "openai/m", "--base-url", server.URL, "--max-output-tokens", "1000")
		args := []string{"eval", "start", "--pack", "pack.yaml", "--deployment", "d", "--name", "run", "--repetitions", "3", "--budget-usd", fmt.Sprint(budget), "--quiet"}
		for range 5 {
			c := p.command(t.Context(), args...)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			before := asked
			mu.Unlock()
			over := make(chan struct{})
			go func() { defer close(over); _ = c.Wait() }()
			asks := func() bool {
				mu.Lock()
				defer mu.Unlock()
				return asked > before
			}
			for goesOn := true; goesOn && !asks(); {
				select {
				case <-over:
					goesOn = false
				case <-time.After(5 * time.Millisecond):
				}
			}
			time.Sleep(time.Duration(moments.IntN(250)) * time.Millisecond) // the moment of the kill
			_ = c.Process.Kill()
			<-over
			args = []string{"run", "resume", "run", "--quiet"}
		}
		out, err := p.command(t.Context(), args...).CombinedOutput()
		if ended := (*exec.ExitError)(nil); !errors.As(err, &ended) || ended.ExitCode() != 31 || !strings.Contains(string(out), "budget") {
			t.Errorf("seed %d: got %v: %s", seed, err, out)
		}
		mu.Lock()
		if usd > budget || usd < budget/4 {
			t.Errorf("seed %d: the server asks for %g of %g dollars", seed, usd, budget)
		}
		t.Logf("seed %d: %g of %g dollars", seed, usd, budget)
		mu.Unlock()
	}
}
