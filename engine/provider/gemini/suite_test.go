package gemini_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/gemini"
	"github.com/agentclash/agentclash/engine/provider/providertest"
	"github.com/agentclash/agentclash/engine/provider/vendortest"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

var update = flag.Bool("update", false, "rewrite golden files")

func subject() vendortest.Subject {
	return vendortest.Subject{Dialect: vendortest.Gemini(), New: func(o wire.Options) (provider.Client, error) { return gemini.New(o) }}
}

func TestSuite(t *testing.T) { vendortest.Run(t, subject()) }

// What is sent is what the vendor's own types say: nothing of it is a field that
// they do not have, and written again by them it is the same.
func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	req := vendortest.FullRequest()
	req.Sampling.Seed, req.Sampling.Stop = new(int64(7)), []string{"END"}
	body := vendortest.Golden(t, subject(), req, "request.golden.json", *update)
	var vendor struct {
		System   *genai.Content          `json:"systemInstruction"`
		Contents []*genai.Content        `json:"contents"`
		Tools    []*genai.Tool           `json:"tools"`
		Config   *genai.GenerationConfig `json:"generationConfig"`
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&vendor); err != nil {
		t.Fatalf("the vendor's types cannot read it: %v", err)
	}
	again, err := json.Marshal(vendor)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(anything(t, body), anything(t, again)); diff != "" {
		t.Errorf("as the vendor's types write it (-ours +theirs):\n%s", diff)
	}
	names := []string{}
	for _, p := range vendor.Contents[2].Parts {
		names = append(names, p.FunctionResponse.Name)
	}
	if diff := cmp.Diff([]string{"calc", "calc"}, names); diff != "" {
		t.Errorf("results by the function's name, in one content (-want +got):\n%s", diff)
	}
}

func anything(t *testing.T, doc []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// What the vendor's types write is read.
func TestReplyOfTheVendorsTypes(t *testing.T) {
	t.Parallel()
	doc, err := json.Marshal(genai.GenerateContentResponse{
		ModelVersion: "gemini-test-001",
		Candidates: []*genai.Candidate{{FinishReason: genai.FinishReasonStop, Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{
			{Text: "hm", Thought: true}, {Text: "look"}, {FunctionCall: &genai.FunctionCall{ID: "f1", Name: "read", Args: map[string]any{"path": "a"}}, ThoughtSignature: []byte("sealed")},
		}}}},
		UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 10, CandidatesTokenCount: 5, ThoughtsTokenCount: 7, CachedContentTokenCount: 4, ToolUsePromptTokenCount: 3, TotalTokenCount: 25},
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := ask(t, vendortest.Reply{Raw: []string{"data: " + string(doc) + "\n\n"}})
	if err != nil {
		t.Fatal(err)
	}
	res.TTFT, res.Elapsed, res.State = 0, 0, nil
	want := provider.Response{Model: "gemini-test-001", Text: "look", Finish: provider.FinishToolCalls,
		ToolCalls: []provider.ToolCall{{ID: "f1", Name: "read", Arguments: json.RawMessage(`{"path":"a"}`)}},
		Usage:     &provider.Usage{Input: 13, Output: 12, Total: 25, CacheRead: 4, Reasoning: 7}}
	if diff := cmp.Diff(want, res); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func ask(t *testing.T, r vendortest.Reply) (provider.Response, error) {
	t.Helper()
	c, err := gemini.New(wire.Options{BaseURL: vendortest.New(t, vendortest.Gemini(), r).URL})
	if err != nil {
		t.Fatal(err)
	}
	return c.Complete(t.Context(), providertest.Ask(t), nil)
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for reason, want := range map[genai.FinishReason]provider.FinishReason{
		genai.FinishReasonStop: provider.FinishStop, genai.FinishReasonMaxTokens: provider.FinishMaxTokens,
		genai.FinishReasonSafety: provider.FinishContentFilter, genai.FinishReasonRecitation: provider.FinishContentFilter,
		genai.FinishReasonBlocklist: provider.FinishContentFilter, genai.FinishReasonProhibitedContent: provider.FinishContentFilter,
		genai.FinishReasonSPII: provider.FinishContentFilter, genai.FinishReasonImageSafety: provider.FinishContentFilter,
		genai.FinishReasonMalformedFunctionCall: provider.FinishOther, genai.FinishReasonOther: provider.FinishOther, "NOVEL": provider.FinishOther,
	} {
		res, err := ask(t, vendortest.Reply{Raw: []string{`data: {"candidates":[{"finishReason":"` + string(reason) + `"}]}` + "\n\n"}})
		if err != nil || res.Finish != want {
			t.Errorf("%s: got %q, %v; want %q", reason, res.Finish, err, want)
		}
	}
	res, err := ask(t, vendortest.Reply{Raw: []string{`data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9}}` + "\n\n"}})
	if err != nil || res.Finish != provider.FinishContentFilter || res.Usage == nil || res.Usage.Input != 9 {
		t.Errorf("a blocked prompt: got %+v, %v", res, err)
	}
	if _, err := ask(t, vendortest.Reply{Raw: []string{`data: {"candidates":[{"index":1,"finishReason":"STOP"}]}` + "\n\n"}}); provider.CodeOf(err) != provider.MalformedResponse {
		t.Errorf("a second candidate: got %v", err)
	}
}

// The same function twice in one reply, and again in the next: their ids differ,
// and the vendor is not told ids that it did not give.
func TestIdsOfOurs(t *testing.T) {
	t.Parallel()
	server := vendortest.New(t, vendortest.Gemini(), vendortest.Reply{Calls: []vendortest.Call{{Name: "look", Arguments: `{}`}, {Name: "look", Arguments: `{}`}}})
	c, err := gemini.New(wire.Options{BaseURL: server.URL + "/v1beta"})
	if err != nil {
		t.Fatal(err)
	}
	req, seen := providertest.Ask(t), map[string]bool{}
	for call := range 3 {
		req.Ref.Call = call
		res, err := c.Complete(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, provider.Message{Role: provider.Assistant, ToolCalls: res.ToolCalls})
		for _, call := range res.ToolCalls {
			seen[call.ID] = true
			req.Messages = append(req.Messages, provider.Message{Role: provider.ToolRole, ToolCallID: call.ID, Content: "x"})
		}
	}
	if len(seen) != 6 {
		t.Errorf("got ids %v, want 6 different ones", seen)
	}
	for _, r := range server.Requests() {
		if strings.Contains(string(r.Body), `"id"`) {
			t.Errorf("an id of ours was sent: %s", r.Body)
		}
	}
}

func TestRequestsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	server := vendortest.New(t, vendortest.Gemini(), vendortest.Text("ok"))
	c, err := gemini.New(wire.Options{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*provider.Request){
		"no model":            func(r *provider.Request) { r.Model = "" },
		"takes 32 bits":       func(r *provider.Request) { r.Sampling.Seed = new(int64(1 << 40)) },
		"at most 5 sequences": func(r *provider.Request) { r.Sampling.Stop = make([]string, 6) },
		"takes 0 to 2":        func(r *provider.Request) { r.Sampling.Temperature = new(2.5) },
		`not "xhigh"`:         func(r *provider.Request) { r.Sampling.ReasoningEffort = "xhigh" },
		"says anything":       func(r *provider.Request) { r.Messages = r.Messages[:1] },
		"does not have": func(r *provider.Request) {
			r.Messages = append(r.Messages, provider.Message{Role: provider.ToolRole, ToolCallID: "?"})
		},
		"not a JSON object": func(r *provider.Request) { r.Tools[0].Parameters = json.RawMessage("7") },
		"max_output_tokens": func(r *provider.Request) { r.Sampling.MaxOutputTokens = 1 << 40 },
	} {
		req := providertest.Ask(t)
		change(&req)
		if _, err := c.Complete(t.Context(), req, nil); provider.CodeOf(err) != provider.InvalidRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
	if n := len(server.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// Schemas keep what the vendor takes, at every depth.
func TestSchemas(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{}`: ``, `{"type":"object"}`: ``, `{"type":"object","properties":{},"additionalProperties":false}`: ``,
		`{"$schema":"x","type":"object","properties":{"a":{"type":"string","$comment":"c","const":"x"}},"required":["a","b"],"not":{}}`:                   `{"type":"object","properties":{"a":{"type":"string","enum":["x"]}},"required":["a"]}`,
		`{"properties":{"a":{"oneOf":[{"type":"string"},{"type":"array","items":{"type":"integer","multipleOf":2}}]}}}`:                                   `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}]}}}`,
		`{"properties":{"a":{"type":["integer","null"]},"b":{"type":["string","integer"]}}}`:                                                              `{"type":"object","properties":{"a":{"type":"integer","nullable":true},"b":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
		`{"properties":{"a":{"enum":[1,2]},"b":{"enum":["x"]},"c":true,"d":{"type":"string","format":"uri"},"e":{"type":"string","format":"date-time"}}}`: `{"type":"object","properties":{"a":{},"b":{"type":"string","enum":["x"]},"c":{},"d":{"type":"string"},"e":{"type":"string","format":"date-time"}}}`,
		`{"properties":{"a":{"type":"object","properties":{"b":{"type":"array"}},"patternProperties":{"x":{}}}}}`:                                         `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"array","items":{"type":"string"}}}}}}`,
		strings.Repeat(`{"properties":{"a":`, 500) + `{"type":"string"}` + strings.Repeat(`}}`, 500):                                                      `deep`,
	} {
		server := vendortest.New(t, vendortest.Gemini(), vendortest.Text("ok"))
		c, err := gemini.New(wire.Options{BaseURL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		req := providertest.Ask(t)
		req.Tools = []provider.Tool{{Name: "x", Parameters: json.RawMessage(schema)}}
		if _, err := c.Complete(t.Context(), req, nil); err != nil {
			t.Errorf("%.80s: %v", schema, err)
			continue
		}
		var body struct {
			Tools []struct {
				Functions []struct {
					Parameters json.RawMessage `json:"parameters"`
				} `json:"functionDeclarations"`
			} `json:"tools"`
		}
		if err := json.Unmarshal(server.Requests()[0].Body, &body); err != nil {
			t.Fatal(err)
		}
		got := body.Tools[0].Functions[0].Parameters
		switch {
		case want == "deep":
			if n := strings.Count(string(got), "properties"); n < 60 || n > 70 {
				t.Errorf("a deep schema: got %d levels", n)
			}
		case want == "" || len(got) == 0:
			if string(got) != want {
				t.Errorf("%s: got %s, want %q", schema, got, want)
			}
		default:
			if diff := cmp.Diff(anything(t, []byte(want)), anything(t, got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", schema, diff)
			}
		}
	}
}
