package turn

import (
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// loopAt is how often an agent must do the same thing to be in a loop.
const loopAt = 3

// Looping says whether an agent goes round in circles: it made the same tool call,
// or gave the same answer, three times in the conversation so far.
func Looping(calls []scoring.ToolCall, turns []scoring.Turn) (looping bool, why string) {
	made := map[string]int{}
	for _, c := range calls {
		signature := c.Name + " " + c.Arguments
		if made[signature]++; made[signature] == loopAt {
			return true, fmt.Sprintf("the same call of %s was made %d times", c.Name, loopAt)
		}
	}
	said := map[string]int{}
	for _, t := range turns {
		text := strings.TrimSpace(t.Assistant)
		if text == "" {
			continue
		}
		if said[text]++; said[text] == loopAt {
			return true, fmt.Sprintf("the same answer was given %d times", loopAt)
		}
	}
	return false, fmt.Sprintf("no call and no answer came %d times", loopAt)
}
