package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/agentclash/agentclash/engine/provider/openai/openaitest"
)

// A shownRun is the run that the pictures of the follow screen show. Its models are on
// loopback. What they say, and when, is the same each time: one trial runs after the
// other, a request lets so much time go by, and three trials never come to an end. Keys
// of the screen have the second and the third of these begin.
type shownRun struct {
	stage *stage
	mu    sync.Mutex
	tries map[string]int
	held  chan struct{} // one for each trial that comes to no end
	goOn  chan struct{} // closed when the last one that ends may
}

func newShownRun() *shownRun { return &shownRun{} }

const shownPack = `pack: {slug: release-notes, name: Release notes, family: writing}
version:
  number: 3
  execution_mode: native
  tool_policy: {allowed_tool_kinds: [file]}
  evaluation_spec:
    name: release-notes
    version_number: 3
    judge_mode: deterministic
    post_execution_checks: [{key: notes, type: file_capture, path: /workspace/NOTES.md}]
    validators:
      - {key: heading, type: file_content_match, target: "file:notes", expected_from: "literal:# Release notes", config: {match_mode: contains}}
    pricing:
      models:
        - {provider_key: openai, provider_model_id: large-1, input_cost_per_million_tokens: 3, output_cost_per_million_tokens: 12}
        - {provider_key: openai, provider_model_id: medium-1, input_cost_per_million_tokens: 1, output_cost_per_million_tokens: 4}
        - {provider_key: openai, provider_model_id: small-1, input_cost_per_million_tokens: 0.2, output_cost_per_million_tokens: 0.8}
    scorecard: {dimensions: [correctness], pass_threshold: 1}
challenges:
  - {key: notes, title: Write release notes, category: writing, difficulty: medium, instructions: Read what has changed and write NOTES.md for customers.}
input_sets:
  - key: default
    name: Default
    cases:
`

var shownCases = []string{"checkout-timeout", "refund-policy", "currency-rounding", "api-pagination", "bulk-import", "sso-mapping"}

func (r *shownRun) args(s *stage) []string {
	r.mu.Lock()
	r.stage, r.tries, r.held = s, map[string]int{}, make(chan struct{}, 3)
	r.goOn = make(chan struct{})
	r.mu.Unlock()
	server := openaitest.NewFunc(s.T, r.reply)
	var b strings.Builder
	b.WriteString(shownPack)
	for _, c := range shownCases {
		fmt.Fprintf(&b, "      - {challenge_key: notes, case_key: %s, payload: {topic: %s}}\n", c, c)
	}
	s.write("pack.yaml", b.String())
	for _, size := range []string{"large", "medium", "small"} {
		s.must("deployment", "create", "--name", size, "--model", "openai/"+size+"-1", "--base-url", server.URL)
	}
	return strings.Fields("eval start --pack pack.yaml --deployment large --deployment medium --deployment small --name nightly " +
		"--sandbox scratch --concurrency 1 --retry-invalid 0 --budget-usd 0.5 --follow")
}

// steps have all three trials run that come to no end.
func (r *shownRun) steps() []step {
	held := func() {
		select {
		case <-r.held:
		case <-time.After(patience):
			r.stage.Error("a trial that was to wait did not begin")
		}
	}
	return []step{
		{wait: "concurrency 1", do: held},
		// from here on time goes by for another trial: this one has received all it will
		{wait: "api-pagination#1     large   agent         step 3: model writing", keys: []string{"+"}, do: held},
		{wait: "2 running", keys: []string{"+"}},
		{wait: "concurrency 3", do: func() { close(r.goOn); held() }}, // it is said when that was
		{wait: "3 running", do: func() { r.pass(9 * time.Second) }},
	}
}

func (r *shownRun) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stage.pass(d)
}

// reply is what a model says to a request.
func (r *shownRun) reply(q openaitest.Request) openaitest.Reply {
	asked, turn := "", 0
	for _, m := range q.Decoded.Messages {
		if m.Content != nil {
			asked += *m.Content
		}
		if m.Role == "assistant" {
			turn++
		}
	}
	topic := ""
	for _, c := range shownCases {
		if strings.Contains(asked, c) {
			topic = c
		}
	}
	size := strings.TrimSuffix(q.Decoded.Model, "-1")
	if topic == "api-pagination" && size == "small" {
		<-r.goOn
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stage.pass(time.Duration(2+turn) * time.Second)
	used := &openaitest.Usage{Prompt: int64(1800 + 700*turn + 10*len(topic)), Completion: int64(60 + 90*(turn%2))}
	tool := func(text, name, arguments string) openaitest.Reply {
		return openaitest.Reply{Pieces: []string{text}, ToolCalls: []openaitest.ToolCall{{ID: "call_" + name, Name: name, Arguments: arguments}}, Usage: used}
	}
	heading := "# Release notes"
	switch place := topic + " " + size; {
	case place == "refund-policy small" && turn == 1:
		heading = "# Changes"
	case place == "currency-rounding medium":
		return openaitest.Error(http.StatusServiceUnavailable, "server_error", "", "The server is overloaded or not ready yet.")
	case place == "refund-policy medium" && turn == 0 && r.tries[place] == 0:
		r.tries[place]++
		return openaitest.RateLimited("0.01")
	case place == "api-pagination medium" && turn == 1, place == "bulk-import large":
		r.held <- struct{}{}
		return openaitest.Reply{StallAfter: 1}
	case place == "api-pagination large" && turn == 2:
		r.held <- struct{}{}
		return openaitest.Reply{Pieces: []string{"The notes are written. Before I hand them in, I read them once more as a customer would: " +
			"does the first sentence say what is better, and does anything ask them to change their code? " +
			"Pages are now asked for with a cursor, so the answer to the second is"}, StallAfter: 2}
	}
	title := strings.ReplaceAll(topic, "-", " ")
	switch turn {
	case 0:
		return tool("I will look at what is there first.", "list_files", `{}`)
	case 1:
		return tool("Nothing is there yet. I will write the notes.", "write_file",
			fmt.Sprintf(`{"path":"/workspace/NOTES.md","content":"%s\n\n## Better: %s\n\n- It works the first time you try.\n- Nothing changes in how you set it up.\n"}`, heading, title))
	}
	return tool("", "submit", `{"answer":"NOTES.md is written."}`)
}
