package regression

import (
	"fmt"
	"slices"
	"strings"
)

// next says which states follow one of a case's; archived and rejected have none.
func next(status string) []string {
	switch status {
	case Proposed:
		return []string{Active, Archived, Rejected}
	case Active:
		return []string{Muted, Archived}
	case Muted:
		return []string{Active, Archived}
	}
	return nil
}

// CheckMove refuses a change of a case's state that there is not.
func CheckMove(from, to string) error {
	if slices.Contains(next(from), to) {
		return nil
	}
	switch follow := next(from); {
	case from == to:
		return fmt.Errorf("it is %s already", from)
	case len(follow) == 0:
		return fmt.Errorf("it is %s, which is for good", from)
	default:
		return fmt.Errorf("a case that is %s can become %s, not %s", from, strings.Join(follow, " or "), to)
	}
}

// Runs says whether a case of that state is run.
func Runs(status string, includeProposed bool) bool {
	return status == Active || status == Proposed && includeProposed
}
