package scoring

// Lookup is the text that an evidence reference, such as
// case.expectations.answer, stands for in the evidence. ok is false when it is
// no reference or there is nothing to be had.
func Lookup(ref string, ev Evidence) (text string, ok bool) {
	r, err := parseReference(ref)
	if err != nil {
		return "", false
	}
	found := (&trial{ev: ev}).resolve(r)
	return found.text, found.state == Available
}
