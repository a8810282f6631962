package scoring

func (s Spec) Unsupported() []Problem { return nil }
