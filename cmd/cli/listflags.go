package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"
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

// List makes a command the list of what read returns, which is all of it: the flags
// choose a part. Empty is said in place of a list with nothing in it, "" for nothing.
func List[T any](a *App, c *cobra.Command, empty string, read func(ctx context.Context, args []string) ([]T, error),
	show func(io.Writer, view.Page[T], view.Options) error) *cobra.Command {
	var part ListOptions
	part.AddFlags(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := part.Check(); err != nil {
			return err
		}
		list, err := read(c.Context(), args)
		if err != nil {
			return err
		}
		return PrintPage(a, PageOf(list, part), empty, show)
	}
	return c
}

// PrintPage prints a part of a list and says how the list goes on, or of an empty
// one what makes it longer.
func PrintPage[T any](a *App, page view.Page[T], empty string, show func(io.Writer, view.Page[T], view.Options) error) error {
	return a.Print(page, func(w io.Writer, o view.Options) error {
		if page.Total == 0 && empty != "" {
			a.Say("! %s", empty)
		}
		if last := page.Offset + len(page.Items); page.HasMore {
			a.Say("showing %d to %d of %d; next: --offset %d", page.Offset+1, last, page.Total, last)
		}
		return show(w, page, o)
	})
}
