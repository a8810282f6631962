package provider

import "time"

// NewPace is a pace of an account of its own.
func NewPace(provider string, most int, now func() time.Time) *Pace {
	return (&account{}).pace(provider, most, now)
}
