package cli

import (
	"github.com/spf13/pflag"

	"github.com/agentclash/agentclash/cmd/view"
)

// ListOptions say which part of a list is shown: all of it unless a limit is set.
type ListOptions struct {
	Limit, Offset int
	All           bool
}

// AddFlags adds --limit, --offset and --all.
func (o *ListOptions) AddFlags(f *pflag.FlagSet) {
	f.IntVar(&o.Limit, "limit", 0, "how many (0: all)")
	f.IntVar(&o.Offset, "offset", 0, "how many to leave out")
	f.BoolVar(&o.All, "all", false, "all of them, which is the default")
}

// Check refuses what is no part of a list.
func (o *ListOptions) Check() error {
	if o.Limit < 0 || o.Offset < 0 {
		return Usage("--limit and --offset must not be negative")
	}
	if o.All && o.Limit > 0 {
		return Usage("--all and --limit say two things: choose one")
	}
	return nil
}

// PageOf is a part of a list that is in memory.
func PageOf[T any](list []T, o ListOptions) view.Page[T] {
	from := min(o.Offset, len(list))
	to := len(list)
	if o.Limit > 0 {
		to = min(from+o.Limit, to)
	}
	limit := o.Limit
	if limit == 0 {
		limit = len(list)
	}
	return view.Page[T]{Items: list[from:to], Total: len(list), Limit: limit, Offset: o.Offset, HasMore: to < len(list)}
}
