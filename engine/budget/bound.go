package budget

import "github.com/agentclash/agentclash/engine/provider"

// What providers add to what they are sent, in tokens: to a conversation, to
// each message, to a set of tools and to each tool. These are more than any of
// the known ones adds.
const (
	slackConversation = 64
	slackMessage      = 16
	slackTools        = 1024
	slackTool         = 32
)

// MostInput is the most tokens that a request's input can come to. Tokenizers of
// bytes make at most one token of each.
func MostInput(req provider.Request) int64 {
	n := int64(slackConversation) + most(req.Messages)
	if len(req.Tools) > 0 {
		n += slackTools
	}
	for _, t := range req.Tools {
		n += slackTool + int64(len(t.Name)+len(t.Description)+len(t.Parameters))
	}
	return n
}

func most(messages []provider.Message) (n int64) {
	for _, m := range messages {
		n += slackMessage + int64(len(m.Content)+len(m.ToolCallID))
		for _, c := range m.ToolCalls {
			// what is no JSON goes out in an object of its own
			n += slackTool + int64(len(c.ID)+len(c.Name)+len(c.Arguments))
		}
	}
	return n
}

// Conversation knows what the provider has said that a conversation came to so
// far, which is less than its bytes. Its zero value knows nothing.
type Conversation struct {
	messages int   // that are known: those of the last request, and its reply
	tokens   int64 // of them all
}

// MostInput is the most that a request's input can come to which goes on with
// the conversation: what is known of its beginning, and what is new by its bytes.
func (c Conversation) MostInput(req provider.Request) int64 {
	bytes := MostInput(req)
	n := len(req.Messages)
	if c.messages == 0 || c.messages > n || req.Messages[c.messages-1].Role != provider.Assistant {
		return bytes
	}
	return min(bytes, plus(c.tokens, slackConversation+most(req.Messages[c.messages:])))
}

// Heard takes down what a request of the conversation came to, with its reply.
// Its messages must be the beginning of the next request's, and its reply the
// message after them.
func (c *Conversation) Heard(req provider.Request, u *provider.Usage) {
	*c = Conversation{}
	if u == nil || u.Input <= 0 || u.Output < 0 {
		return
	}
	c.messages, c.tokens = len(req.Messages)+1, plus(plus(u.Input, u.Output), slackMessage)
}
