package cmd

import (
	"github.com/spf13/pflag"

	"github.com/agentclash/agentclash/cmd/view"
)

// listOptions say which part of a list is shown: all of it unless a limit is set.
type listOptions struct {
	limit, offset int
	all           bool
}

func (o *listOptions) addFlags(f *pflag.FlagSet) {
	f.IntVar(&o.limit, "limit", 0, "how many (0: all)")
	f.IntVar(&o.offset, "offset", 0, "how many to leave out")
	f.BoolVar(&o.all, "all", false, "all of them, which is the default")
}

func (o *listOptions) check() error {
	if o.limit < 0 || o.offset < 0 {
		return usage("--limit and --offset must not be negative")
	}
	if o.all && o.limit > 0 {
		return usage("--all and --limit say two things: choose one")
	}
	return nil
}

// pageOf is a part of a list that is in memory.
func pageOf[T any](list []T, o listOptions) view.Page[T] {
	from := min(o.offset, len(list))
	to := len(list)
	if o.limit > 0 {
		to = min(from+o.limit, to)
	}
	limit := o.limit
	if limit == 0 {
		limit = len(list)
	}
	return view.Page[T]{Items: list[from:to], Total: len(list), Limit: limit, Offset: o.offset, HasMore: to < len(list)}
}
