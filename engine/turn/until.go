package turn

import "strings"

// The conditions of until.
const (
	untilMaxTurns  = "max_turns"
	untilAssistant = "assistant_emitted:"
	untilUser      = "user_token:"
)

// untilHolds says whether all conditions hold after a turn. Blank ones are left
// out; none at all never hold, and neither does one that is not known.
func untilHolds(conditions []string, e Exchange, atCap bool) bool {
	any := false
	for _, c := range conditions {
		if c = strings.TrimSpace(c); c == "" {
			continue
		}
		any = true
		if !holds(c, e, atCap) {
			return false
		}
	}
	return any
}

func holds(condition string, e Exchange, atCap bool) bool {
	if token, ok := strings.CutPrefix(condition, untilAssistant); ok {
		return says(e.Assistant, token)
	}
	if token, ok := strings.CutPrefix(condition, untilUser); ok {
		return says(e.User, token)
	}
	return condition == untilMaxTurns && atCap
}

// says looks for a token, whatever the case of its letters. There is no empty one.
func says(text, token string) bool {
	token = strings.ToLower(strings.TrimSpace(token))
	return token != "" && strings.Contains(strings.ToLower(text), token)
}
