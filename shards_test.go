package main_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	godiff "github.com/google/go-cmp/cmp"
)

// shardCases are how many cases the pack of these tests has.
var shardCases = rounds(14, 44)

// shardedPack has cases that some agents fail and some make invalid, and a judge
// that ranks the agents of each.
func shardedPack(rank bool) string {
	var b strings.Builder
	b.WriteString(`pack: {slug: sharded, name: Sharded, family: shards}
version:
  number: 1
  execution_mode: prompt_eval
  evaluation_spec:
    name: sharded
    version_number: 1
    judge_mode: `)
	if rank {
		b.WriteString("hybrid\n    llm_judges: [{key: better, mode: n_wise, model: scripted/judge.yaml, prompt: \"Which is better?\", context_from: [final_output]}]\n")
	} else {
		b.WriteString("deterministic\n")
	}
	b.WriteString("    validators: [{key: right, type: exact_match, target: final_output, expected_from: case.expectations.sum}]\n    pricing:\n      models:\n")
	for _, agent := range []string{"right", "sloppy", "flaky"} {
		fmt.Fprintf(&b, "        - {provider_key: scripted, provider_model_id: %s.yaml, input_cost_per_million_tokens: 0.1, output_cost_per_million_tokens: 0.7}\n", agent)
	}
	better := ""
	if rank {
		better = ", {key: better, source: llm_judge, judge_key: better}"
	}
	b.WriteString("    scorecard: {dimensions: [correctness, {key: latency, source: latency, better_direction: lower, normalization: {target: 5, max: 200}}, {key: cost, source: cost, better_direction: lower, normalization: {target: 0.000001, max: 0.0001}}" + better + "], pass_threshold: 0.7}\n")
	b.WriteString("challenges: [{key: add, title: Add, category: math, difficulty: easy, instructions: \"What is {{n}}?\"}]\ninput_sets:\n  - key: default\n    name: Default\n    cases:\n")
	for i := range shardCases {
		fmt.Fprintf(&b, "      - {challenge_key: add, case_key: c%02d, payload: {n: \"%d\"}, expectations: [{key: sum, kind: text, value: \"%d\"}]}\n", i, i, i)
	}
	return b.String()
}

// shardedAgent answers each case; every wrong-th is wrong, every down-th is an
// error of its provider. Long answers become blobs.
func shardedAgent(wrong, down int) string {
	var b strings.Builder
	b.WriteString("cases:\n")
	for i := range shardCases {
		text := fmt.Sprint(i)
		if wrong > 0 && i%wrong == 1 {
			text = "no idea " + strings.Repeat("what this is, ", 400)
		}
		if down > 0 && i%down == 2 {
			fmt.Fprintf(&b, "  c%02d: [{error: {code: unavailable, message: down}}]\n", i)
			continue
		}
		fmt.Fprintf(&b, "  c%02d: [{text: %q, usage: {input_tokens: %d, output_tokens: %d}, delay_ms: %d}]\n", i, text, 10+i, 1+i%3, 5+i)
	}
	return b.String()
}

func newShards(t *testing.T, rank bool) program {
	t.Helper()
	p := newProgram(t)
	p.write(t, "pack.yaml", shardedPack(rank))
	p.write(t, "right.yaml", shardedAgent(0, 0))
	p.write(t, "sloppy.yaml", shardedAgent(5, 0))
	p.write(t, "flaky.yaml", shardedAgent(7, 9))
	p.write(t, "judge.yaml", `judges:
  - when: {user: "Which is better"}
    replies: [{text: '{"ranking": ["A", "B", "C"], "reasoning": "so"}', usage: {input_tokens: 300, output_tokens: 30}, delay_ms: 3}]
`)
	return p
}

// at is the same program with a home of its own.
func (p program) at(home string) program {
	p.env = append(slices.Clone(p.env), "AGENTCLASH_HOME="+filepath.Join(p.dir, home))
	return p
}

func (p program) try(t *testing.T, args ...string) (out string, status int) {
	t.Helper()
	b, err := p.command(context.WithoutCancel(t.Context()), args...).CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if failed != nil {
		status = failed.ExitCode()
	}
	return string(b), status
}

func (p program) startSharded(t *testing.T, more ...string) {
	t.Helper()
	p.must(t, append([]string{"eval", "start", "--pack", "pack.yaml", "--model", "scripted/right.yaml", "--model", "scripted/sloppy.yaml",
		"--model", "scripted/flaky.yaml", "--repetitions", "2", "--seed", "7", "--max-wait", "0s", "--quiet"}, more...)...)
}

var shardedAgents = []string{"right", "sloppy", "flaky"}

// bareRun is all that a run came to, without ids, dates and machine facts.
func (p program) bareRun(t *testing.T, run string) map[string]any {
	t.Helper()
	all := map[string]any{}
	ids, trials := map[string]string{}, map[string]string{}
	for _, agent := range shardedAgents {
		var card map[string]any
		p.query(t, &card, "eval", "scorecard", run, "--agent", agent)
		all["scorecard "+agent] = card
		c := card["candidate"].(map[string]any)
		ids[c["run_agent_id"].(string)] = agent
		for _, one := range card["scorecard"].(map[string]any)["trials"].([]any) {
			trial := one.(map[string]any)
			trials[fmt.Sprint(agent, trial["case_key"], trial["repetition"])] = trial["trial_id"].(string)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(trials)) {
		if !strings.Contains(key, "c00") && !strings.Contains(key, "c02") { // each is a process of its own
			continue
		}
		var replay any
		p.query(t, &replay, "replay", "get", trials[key])
		all["replay "+key] = replay
	}
	var ranking any
	p.query(t, &ranking, "run", "ranking", run)
	all["ranking"] = ranking
	for _, e := range p.events(t, run) {
		key := fmt.Sprintf("events of %s %v %v", ids[fmt.Sprint(e["run_agent_id"])], e["case_key"], e["repetition"])
		if e["trial_id"] == nil {
			key = "facts of the run"
			delete(e, "sequence_number")
			if payload, ok := e["payload"].(map[string]any); ok {
				delete(payload, "run_name")
			}
		}
		list, _ := all[key].([]any)
		all[key] = append(list, e)
	}
	return bare(all).(map[string]any)
}

func (p program) events(t *testing.T, run string) []map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(p.must(t, "run", "events", run, "--json")))
	var list []map[string]any
	for dec.More() {
		var e map[string]any
		if err := dec.Decode(&e); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// bare takes ids and dates out of a document, and sorts its lists.
func bare(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			switch {
			case strings.HasSuffix(key, "_id") && key != "question_id", strings.HasSuffix(key, "_at"), key == "run_name", key == "name" && v["pack"] != nil:
				delete(v, key)
			default:
				v[key] = bare(inner)
			}
		}
	case []any:
		for i := range v {
			v[i] = bare(v[i])
		}
		slices.SortStableFunc(v, func(a, b any) int { return cmp.Compare(jsonText(a), jsonText(b)) })
	}
	return v
}

func jsonText(v any) string {
	b, _ := json.Marshal(v) //nolint:errchkjson // it was decoded from JSON
	return string(b)
}

// TestShardsMergeIntoTheWholeRun cuts a run into eight, each in a home of its own,
// and puts it together from files, from a store, and in any order.
func TestShardsMergeIntoTheWholeRun(t *testing.T) {
	t.Parallel()
	for name, rank := range map[string]bool{"scored": false, "ranked": true} {
		if !rank && rounds(0, 1) == 0 {
			continue // what is ranked is scored as well
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newShards(t, rank)
			single := p.at("single")
			single.startSharded(t, "--name", "whole")
			want := single.bareRun(t, "whole")
			if n := len(want["facts of the run"].([]any)); rank && n < shardCases {
				t.Fatalf("only %d facts of the run: nothing was ranked", n)
			}
			flaky := want["scorecard flaky"].(map[string]any)["scorecard"].(map[string]any)
			if flaky["failed_trials"] == 0.0 || flaky["invalid_trials"] == 0.0 || len(want) < 2*3*shardCases {
				t.Fatalf("%v failed, %v invalid, %d documents: there is too little to compare", flaky["failed_trials"], flaky["invalid_trials"], len(want))
			}
			var files, names []string
			together := p.at("together")
			for i := 1; i <= 8; i++ {
				shard, file := fmt.Sprintf("%d/8", i), fmt.Sprintf("shard-%d.acb", i)
				alone := p.at("alone-" + fmt.Sprint(i))
				alone.startSharded(t, "--shard", shard)
				alone.must(t, "run", "export", "latest", file)
				together.startSharded(t, "--shard", shard, "--name", "part-"+fmt.Sprint(i))
				files, names = append(files, file), append(names, "part-"+fmt.Sprint(i))
			}
			slices.Reverse(files)
			merged := p.at("merged")
			merged.must(t, append([]string{"run", "merge", "--name", "again"}, files...)...)
			if diff := godiff.Diff(want, merged.bareRun(t, "again")); diff != "" {
				t.Errorf("merged from files (-whole +merged):\n%s", diff)
			}
			together.must(t, append([]string{"run", "merge", "--name", "again"}, names...)...)
			if diff := godiff.Diff(want, together.bareRun(t, "again")); diff != "" {
				t.Errorf("merged from a store (-whole +merged):\n%s", diff)
			}
			var r struct {
				MergedFrom []struct{ Shard string } `json:"merged_from"`
				Status     string
			}
			merged.query(t, &r, "run", "get", "again")
			if len(r.MergedFrom) != 8 || r.MergedFrom[2].Shard != "3/8" || r.Status != "completed" {
				t.Errorf("got %+v", r)
			}
			var d struct{ Rescored, Flipped, Changed int }
			merged.query(t, &d, "eval", "rescore", "again")
			if d.Rescored == 0 || d.Flipped+d.Changed != 0 {
				t.Errorf("rescored: got %+v", d)
			}
		})
	}
}

// A bundle gives the run at home: the same results, wherever it is imported.
func TestBundleIsTheRun(t *testing.T) {
	t.Parallel()
	p := newShards(t, true)
	home := p.at("one")
	home.startSharded(t, "--name", "run")
	home.must(t, "eval", "rescore", "run", "--quiet")
	home.must(t, "run", "export", "run", "run.acb")
	away := p.at("other")
	away.env = append(away.env, "AGENTCLASH_WORKSPACE=elsewhere", "DOCKER_HOST=tcp://127.0.0.1:1")
	away.must(t, "run", "import", "run.acb")
	if diff := godiff.Diff(home.bareRun(t, "run"), away.bareRun(t, "run")); diff != "" {
		t.Errorf("(-home +away):\n%s", diff)
	}
	if a, b := home.must(t, "run", "events", "run", "--json"), away.must(t, "run", "events", "run", "--json"); a != b {
		t.Error("the events differ")
	}
	for _, agent := range shardedAgents {
		args := []string{"eval", "scorecard", "run", "--agent", agent, "--rescoring", "latest", "--json", "--query", ".scorecard"}
		if a, b := home.must(t, args...), away.must(t, args...); a != b {
			t.Errorf("the rescoring of %s differs:\n%s\n%s", agent, a, b)
		}
	}
	var d struct{ Rescored, Flipped, Changed int }
	away.query(t, &d, "eval", "rescore", "run")
	if d.Rescored == 0 || d.Flipped+d.Changed != 0 {
		t.Errorf("rescored: got %+v", d)
	}
	// what was imported is exported the same, but for the new rescoring
	again := p.at("third")
	again.must(t, "run", "import", "run.acb")
	again.must(t, "run", "export", "run", "again.acb")
	a, err := os.ReadFile(filepath.Join(p.dir, "run.acb"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(p.dir, "again.acb"))
	if err != nil || string(a) != string(b) {
		t.Errorf("the bundle of the imported run has %d bytes, the first %d: %v", len(b), len(a), err)
	}
}

// A byte that changed is found before anything is made, and an import that is
// killed leaves nothing, or all.
func TestImportIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	p := newShards(t, false)
	home := p.at("one")
	home.startSharded(t, "--name", "run")
	home.must(t, "run", "export", "run", "run.acb")
	file := []byte(read(t, filepath.Join(p.dir, "run.acb")))
	random := rand.New(rand.NewPCG(7, 7))
	nowhere := p.at("nowhere")
	for range rounds(8, 30) {
		at := random.IntN(len(file))
		changed := slices.Clone(file)
		changed[at] ^= byte(1 + random.IntN(255))
		p.write(t, "changed.acb", string(changed))
		if out, status := nowhere.try(t, "run", "import", "changed.acb"); status != 64 {
			t.Errorf("byte %d of %d changed: status %d\n%s", at, len(file), status, out)
		}
	}
	if _, err := os.Stat(filepath.Join(p.dir, "nowhere")); !os.IsNotExist(err) {
		t.Errorf("a home was made: %v", err)
	}
	killed := p.at("killed")
	for after := time.Duration(0); ; after += time.Duration(rounds(100, 20)) * time.Millisecond {
		c := killed.command(t.Context(), "run", "import", "run.acb")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		_ = c.Process.Kill() // it may have ended
		err := c.Wait()
		var list struct {
			Total int
			Items []struct{ Status string }
		}
		killed.query(t, &list, "run", "list")
		if list.Total == 0 && err != nil {
			continue
		}
		if list.Total != 1 || list.Items[0].Status != "completed" {
			t.Fatalf("killed after %s: got %+v", after, list)
		}
		break
	}
	if diff := godiff.Diff(home.bareRun(t, "run"), killed.bareRun(t, "run")); diff != "" {
		t.Errorf("(-home +killed):\n%s", diff)
	}
}
