package scoring

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// part is the turns that a transcript reference means.
func (t *trial) part(r reference) []Turn {
	turns := t.ev.Turns
	switch r.key {
	case transcriptLast:
		return turns[max(len(turns)-r.last, 0):]
	case transcriptMismatch:
		i := slices.IndexFunc(turns, func(turn Turn) bool { return turn.Mismatched })
		if i < 0 {
			return nil
		}
		return turns[i:]
	}
	return turns
}

// transcript resolves a conversation, or a part of it: a line for each thing
// that was said, with the number of its turn.
func (t *trial) transcript(r reference) resolved {
	if len(t.ev.Turns) == 0 {
		return t.noTurns()
	}
	turns := t.part(r)
	if len(turns) == 0 {
		return missing(causeNone, "no turn of the conversation is a mismatch")
	}
	var lines []string
	for _, turn := range turns {
		for _, said := range [...]struct{ who, text string }{{"user", turn.User}, {"assistant", turn.Assistant}} {
			if strings.TrimSpace(said.text) != "" {
				lines = append(lines, fmt.Sprintf("%s[%d]: %s", said.who, turn.Index, said.text))
			}
		}
	}
	return found(strings.Join(lines, "\n"))
}

// turnExpectations resolves to how each turn compared with what it expected,
// as JSON.
func (t *trial) turnExpectations(reference) resolved {
	if len(t.ev.Turns) == 0 {
		return t.noTurns()
	}
	type expectation struct {
		Index    int64  `json:"turn_index"`
		PhaseID  string `json:"phase_id,omitempty"`
		Mismatch bool   `json:"mismatch"`
	}
	list := make([]expectation, len(t.ev.Turns))
	for i, turn := range t.ev.Turns {
		list[i] = expectation{turn.Index, turn.PhaseID, turn.Mismatched}
	}
	b, err := json.Marshal(list)
	if err != nil {
		return unreadable("write the turns: %v", err)
	}
	return found(string(b))
}

// noTurns: a trial that ended regularly without a conversation was never meant
// to have one.
func (t *trial) noTurns() resolved {
	if !t.ended() {
		return missing(causeAgent, "there was no conversation")
	}
	return missing(causePack, "there was no conversation: only trials of the mode multi_turn have turns")
}
