package scoring

// finding is what a validator found out.
type finding struct {
	state  State
	pass   bool
	score  float64
	reason string
	cause  cause
	detail any // evidence, a small struct
	// lack names what the agent never produced, whatever the verdict; absent is
	// that of a verdict which is no pass.
	lack, absent string
	// settled says that the rest of a capture that was cut could not change it.
	settled  bool
	expected *string
	actual   *string
	// at is the event to look at; nil is the one that the target names.
	at *Source
}

// matcher prepares the comparison with an expected text; its error says why
// the expected text makes no sense. It may be used by several trials at once.
type matcher func(expected string) (comparison, error)

// comparison judges the agent's text.
type comparison func(actual string) finding

// inspector judges evidence that is not a text.
type inspector func(t *trial, v *validator) finding

// judged is a comparison's verdict; the reason is given for a failure only.
func judged(pass bool, reason string) finding {
	if pass {
		return finding{state: Available, pass: true, score: 1}
	}
	return finding{state: Available, reason: clipTo(reason, maxReason)}
}

// senseless is a text that the validator cannot read. Who made the text is at
// fault, and by default that is the agent.
func senseless(reason string) finding {
	return finding{state: Errored, cause: causeAgent, reason: clipTo(reason, maxReason)}
}

// authors is a finding that the pack's author must mend, whoever made the text.
func authors(f finding) finding {
	f.cause = causePack
	return f
}

func (f finding) with(detail any) finding {
	f.detail = detail
	return f
}
