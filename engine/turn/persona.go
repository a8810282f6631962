package turn

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed prompts/simulator.md
var simulator string

// maxLine is how many bytes of one message a simulated user is shown, and
// maxTranscript of all of them: the newest are kept.
const (
	maxLine       = 16 << 10
	maxTranscript = 128 << 10
)

// MaxPrompt is how many bytes a prompt has at most for a persona and a payload, and
// so how many tokens: no tokenizer makes more of them than that.
func MaxPrompt(persona string, payload map[string]any) (int, error) {
	text, err := Prompt(persona, nil, payload)
	return len(text) + maxTranscript + 5*maxLine, err
}

// Prompt is the one message by which a model is asked for the next words of a
// simulated user. Payload is the case's; what agents must not know is not in it.
func Prompt(persona string, lines []Line, payload map[string]any) (string, error) {
	facts := ""
	if len(payload) > 0 {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(payload); err != nil {
			return "", fmt.Errorf("write the case's payload: %w", err)
		}
		facts = "\nWhat you know (JSON):\n" + b.String()
	}
	return strings.NewReplacer("@PERSONA@", strings.TrimSpace(persona), "@TRANSCRIPT@", transcript(lines), "@FACTS@", facts).
		Replace(strings.TrimSpace(simulator)), nil
}

// transcript has a line for each message, the oldest left out where there are too
// many.
func transcript(lines []Line) string {
	if len(lines) == 0 {
		return "(nothing has been said yet: you begin)"
	}
	room, first := maxTranscript, len(lines)
	said := make([]string, len(lines))
	for i := len(lines) - 1; i >= 0; i-- {
		said[i] = lines[i].Actor + ": " + cut(lines[i].Text)
		if room -= len(said[i]); room < 0 && first < len(lines) {
			break
		}
		first = i
	}
	text := strings.Join(said[first:], "\n")
	if first > 0 {
		text = fmt.Sprintf("(%d earlier messages are left out)\n", first) + text
	}
	return text
}

// cut bounds a message. Its further lines are indented, so that none of them can be
// taken for what somebody else said.
func cut(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "") + " (cut)"
	}
	return strings.NewReplacer("\r\n", "\n    ", "\n", "\n    ", "\r", "\n    ", "\u2028", "\n    ", "\u2029", "\n    ").Replace(text)
}
