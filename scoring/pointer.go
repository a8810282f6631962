package scoring

// at is the event that evidence keeps under a name, nil when there is none.
func (t *trial) at(name string) *Source {
	s, ok := t.ev.Sources[name]
	if !ok || s.Sequence <= 0 {
		return nil
	}
	return &s
}

// in is at, and says which member of the event was read.
func (t *trial) in(name, field string) *Source {
	s := t.at(name)
	if s != nil {
		s.FieldPath = field
	}
	return s
}

// atCall is the event of a tool call of the trace.
func (t *trial) atCall(i int) *Source {
	if i < 0 || i >= len(t.ev.ToolCalls) || t.ev.ToolCalls[i].Sequence <= 0 {
		return nil
	}
	c := t.ev.ToolCalls[i]
	return &Source{Kind: KindToolCall, Sequence: c.Sequence, EventType: c.EventType, FieldPath: toolCalls}
}

// source is the event that best explains what a validator judged; nil for what
// comes with the case.
func (t *trial) source(v *validator) *Source {
	switch {
	case v.Type == CodeExecution:
		return t.at(AtCode(v.Key))
	case v.target.kind == refOutput:
		return t.at(AtFinalOutput)
	case v.target.kind == refFile:
		return t.at(AtFile(v.target.key))
	case v.target.kind == refTranscript, v.target.kind == refTurns:
		return t.atTurn(v.target)
	}
	return nil
}

// atTurn is the first mismatch of a conversation that is read from there, else
// its last event.
func (t *trial) atTurn(r reference) *Source {
	turns := t.part(r)
	if len(turns) == 0 {
		return nil
	}
	s := turns[len(turns)-1].Source
	if r.key == transcriptMismatch {
		s = turns[0].Source
	}
	if s.Sequence <= 0 {
		return nil
	}
	s.FieldPath = clipTo(r.text, maxReason)
	return &s
}

// weakest is the index of the lowest score, the first of several; -1 for none.
func weakest[T any](list []T, score func(T) *float64) int {
	at := -1
	for i, item := range list {
		if s := score(item); s != nil && (at < 0 || *s < *score(list[at])) {
			at = i
		}
	}
	return at
}
