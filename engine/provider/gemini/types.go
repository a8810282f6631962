package gemini

// What the wire calls the two sides.
const (
	roleUser  = "user"
	roleModel = "model"
)

type instruction struct {
	Parts []*textOrCall `json:"parts"`
}

// textOrCall is a part: one of its fields is set.
type textOrCall struct {
	Text             string            `json:"text,omitempty"`
	FunctionCall     *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
}

type functionCall struct {
	ID   string         `json:"id,omitempty"`
	Name string         `json:"name"`
	Args map[string]any `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string         `json:"id,omitempty"`
	Name     string         `json:"name"`
	Response map[string]any `json:"response"`
}

type generationConfig struct {
	MaxOutputTokens int32           `json:"maxOutputTokens,omitempty"`
	Temperature     *float64        `json:"temperature,omitempty"`
	TopP            *float64        `json:"topP,omitempty"`
	Seed            *int32          `json:"seed,omitempty"`
	StopSequences   []string        `json:"stopSequences,omitempty"`
	Thinking        *thinkingConfig `json:"thinkingConfig,omitempty"`
}

type thinkingConfig struct {
	Budget *int32 `json:"thinkingBudget,omitempty"`
	Level  string `json:"thinkingLevel,omitempty"`
}

type usageMetadata struct {
	Prompt        int64 `json:"promptTokenCount"`
	ToolUsePrompt int64 `json:"toolUsePromptTokenCount"`
	Cached        int64 `json:"cachedContentTokenCount"`
	Candidates    int64 `json:"candidatesTokenCount"`
	Thoughts      int64 `json:"thoughtsTokenCount"`
	Total         int64 `json:"totalTokenCount"`
}
