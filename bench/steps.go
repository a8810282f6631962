//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// startUp is what every command pays.
func (b bench) startUp() error {
	s, err := b.time(4*b.rounds, "a", b.bin, "version")
	if err != nil {
		return err
	}
	row("agentclash version", s, "20 ms, 45 MB")
	if info, err := os.Stat(b.bin); err == nil {
		fmt.Printf("%-58s %12s %10.1f  %s\n", "the binary, stripped", "", float64(info.Size())/1e6, "70 MB")
	}
	docker, err := exec.LookPath("docker")
	if err != nil {
		return nil // nothing to compare with
	}
	d, err := b.time(4*b.rounds, "a", docker, "--version")
	if err != nil {
		return err
	}
	ratio("agentclash version / docker --version", s.wall, d.wall, "1.5x")
	return nil
}

// validate is the pre-commit hook: one typical pack, and a thousand.
func (b bench) validate() error {
	if err := b.write("typical.yaml", packOf("prompt_eval", 20)); err != nil {
		return err
	}
	s, err := b.time(4*b.rounds, "a", b.bin, "challenge-pack", "validate", "typical.yaml")
	if err != nil {
		return err
	}
	row("challenge-pack validate, 20 cases", s, "50 ms")
	start, err := b.time(4*b.rounds, "a", b.bin, "version")
	if err != nil {
		return err
	}
	ratio("the same / agentclash version", s.wall, start.wall, "")
	for i := range 1000 {
		if err := b.write(fmt.Sprintf("many/p%04d.yaml", i), packOf("prompt_eval", 5)); err != nil {
			return err
		}
	}
	s, err = b.time(b.rounds, "a", b.bin, "challenge-pack", "validate", "many", "--quiet")
	if err != nil {
		return err
	}
	row("challenge-pack validate, 1,000 packs in one call", s, "2 s")
	ratio("the same / agentclash version", s.wall, start.wall, "")
	return nil
}

const (
	cases = 20_000
	// events of one prompt_eval trial, from trial.queued to trial.finished
	eventsPerTrial = 10
)

// manyCases is the scripted run of 20,000 cases, stored.
func (b bench) manyCases() error {
	if err := b.write("big.yaml", packOf("prompt_eval", cases)); err != nil {
		return err
	}
	if err := b.write("echo.yaml", "default: [{echo: true, usage: {input_tokens: 10, output_tokens: 5}}]\n"); err != nil {
		return err
	}
	s, err := b.time(b.rounds, "big", b.bin, "eval", "start", "--pack", "big.yaml", "--model", "scripted/echo.yaml", "--quiet")
	if err != nil {
		return err
	}
	row(fmt.Sprintf("eval start, %d prompt_eval cases, stored", cases), s, "4 s, 150 MB")
	return nil
}

// largeEvents is how many events the store of largeStore has at least.
const largeEvents = 1_000_000

// decisions are what is decided from the store alone.
var decisions = [][]string{
	{"run", "list"}, {"run", "failures", "next"}, {"run", "ranking", "next"}, {"eval", "scorecard", "next"},
	{"baseline", "show"}, {"compare", "latest"}, {"compare", "runs", "--baseline", "base", "--candidate", "next"},
	{"compare", "gate", "--baseline", "base", "--candidate", "next"}, {"release-gate", "list"},
}

// largeStore reads small results out of the store that manyCases has filled.
func (b bench) largeStore() error {
	events := (b.rounds + 1) * cases * eventsPerTrial
	for ; events < largeEvents; events += cases * eventsPerTrial {
		if _, err := b.once("big", b.bin, "eval", "start", "--pack", "big.yaml", "--model", "scripted/echo.yaml", "--quiet"); err != nil {
			return err
		}
	}
	if err := b.write("small.yaml", strings.Replace(packOf("prompt_eval", 20), "slug: bench", "slug: small", 1)); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"eval", "start", "--pack", "small.yaml", "--model", "scripted/echo.yaml", "--name", "base", "--quiet"},
		{"eval", "start", "--pack", "small.yaml", "--model", "scripted/echo.yaml", "--name", "next", "--quiet"},
		{"baseline", "set", "base"},
	} {
		if _, err := b.once("big", b.bin, args...); err != nil {
			return err
		}
	}
	start, err := b.time(4*b.rounds, "a", b.bin, "version")
	if err != nil {
		return err
	}
	for _, args := range decisions {
		s, err := b.time(4*b.rounds, "big", b.bin, args...)
		if err != nil {
			return err
		}
		row(fmt.Sprintf("%s, on a store with %d events", strings.Join(args, " "), events), s, "100 ms")
		ratio("the same / agentclash version", s.wall, start.wall, "")
	}
	return nil
}

// largeRuns compares two runs of as many cases, each tried twice, and lets the
// trials of an earlier run stand for those of one in which nothing changed.
func (b bench) largeRuns() error {
	for name, chances := range map[string][2]float64{"left": {0.9, 0.1}, "right": {0.88, 0.12}} {
		draw := fmt.Sprintf("draw:\n  - {p: %g, replies: [{echo: true}]}\n  - {p: %g, replies: [{text: nothing}]}\n", chances[0], chances[1])
		if err := b.write(name+".yaml", draw); err != nil {
			return err
		}
		_, err := b.once("twice", b.bin, "eval", "start", "--pack", "big.yaml", "--model", "scripted/"+name+".yaml", "--name", name, "--repetitions", "2", "--quiet")
		if err != nil {
			return err
		}
	}
	for _, large := range []struct {
		what, home string
		args       []string
	}{
		{fmt.Sprintf("compare runs, %d cases tried twice on each side", cases), "twice", []string{"compare", "runs", "--baseline", "left", "--candidate", "right"}},
		{fmt.Sprintf("eval start --affected, %d trials, nothing changed", cases), "big", []string{"eval", "start", "--pack", "big.yaml", "--model", "scripted/echo.yaml", "--affected", "--quiet"}},
	} {
		s, err := b.time(b.rounds, large.home, b.bin, large.args...)
		if err != nil {
			return err
		}
		row(large.what, s, "")
	}
	return nil
}

const rescored = 5000

// rescore scores a stored run again: by its own pack, and by one whose
// expectations are others, so that every verdict flips.
func (b bench) rescore() error {
	if err := b.write("run.yaml", packOf("prompt_eval", rescored)); err != nil {
		return err
	}
	if err := b.write("changed.yaml", strings.ReplaceAll(packOf("prompt_eval", rescored), "value: word", "value: other")); err != nil {
		return err
	}
	if _, err := b.once("rescore", b.bin, "eval", "start", "--pack", "run.yaml", "--model", "scripted/echo.yaml", "--quiet"); err != nil {
		return err
	}
	for _, by := range []struct {
		what string
		args []string
	}{
		{"by its own pack", nil},
		{"by another", []string{"--pack", "changed.yaml"}},
	} {
		s, err := b.time(b.rounds, "rescore", b.bin, append([]string{"eval", "rescore", "latest", "--quiet"}, by.args...)...)
		if err != nil {
			return err
		}
		row(fmt.Sprintf("eval rescore of %d trials %s, stored", rescored, by.what), s, "2 s")
	}
	return nil
}

// packOf is a pack with n cases of one `contains` each.
func packOf(mode string, n int) string {
	var s strings.Builder
	fmt.Fprintf(&s, `pack: {slug: bench, name: Bench, family: bench}
version:
  number: 1
  execution_mode: %s
  evaluation_spec:
    name: bench
    version_number: 1
    judge_mode: deterministic
    validators: [{key: has, type: contains, target: final_output, expected_from: case.expectations.word}]
    scorecard: {dimensions: [correctness], pass_threshold: 1}
challenges: [{key: c, title: C, category: bench, difficulty: easy, instructions: "Say {{word}}."}]
input_sets:
  - key: default
    name: Default
    cases:
`, mode)
	for i := range n {
		fmt.Fprintf(&s, "      - {challenge_key: c, case_key: case-%05d, payload: {word: word-%d}, expectations: [{key: word, kind: text, value: word-%d}]}\n", i, i, i)
	}
	return s.String()
}
