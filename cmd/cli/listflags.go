package cli

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentclash/agentclash/cmd/view"
)

// A page of a list that grows with every run: how long it is, and how long it may be
// asked to be.
const (
	pageRows = 20
	maxRows  = 100
)

// ListOptions say which part of a list is shown.
type ListOptions struct {
	Limit, Offset int
	All           bool

	paged bool // a page unless all is asked for
}

// AddFlags adds --limit, --offset and --all to a list that is shown whole unless a
// limit is set.
func (o *ListOptions) AddFlags(f *pflag.FlagSet) {
	f.IntVar(&o.Limit, "limit", 0, "how many (0: all)")
	f.IntVar(&o.Offset, "offset", 0, "how many to leave out")
	f.BoolVar(&o.All, "all", false, "all of them, which is the default")
}

// AddPageFlags adds them to a list of which a page is shown unless --all is given.
func (o *ListOptions) AddPageFlags(f *pflag.FlagSet) {
	o.paged = true
	f.IntVar(&o.Limit, "limit", 0, "how many, at most 100 (0: 20)")
	f.IntVar(&o.Offset, "offset", 0, "how many to leave out")
	f.BoolVar(&o.All, "all", false, "all of them")
}

// Check refuses what is no part of a list.
func (o *ListOptions) Check() error {
	if o.Limit < 0 || o.Offset < 0 {
		return Usage("--limit and --offset must not be negative")
	}
	if o.All && o.Limit > 0 {
		return Usage("--all and --limit say two things: choose one")
	}
	if o.paged && o.Limit > maxRows {
		return Usage("--limit must be 0 to %d", maxRows).Hint("--all shows all of them")
	}
	return nil
}

// Rows is how many are wanted at most, 0 for all.
func (o *ListOptions) Rows() int {
	if o.paged && o.Limit == 0 && !o.All {
		return pageRows
	}
	return o.Limit
}

// PageOf is a part of a list that is in memory.
func PageOf[T any](list []T, o ListOptions) view.Page[T] {
	from := min(o.Offset, len(list))
	to := len(list)
	if rows := o.Rows(); rows > 0 {
		to = min(from+rows, to)
	}
	return PageFrom(list[from:to], len(list), o)
}

// PageFrom is a part of a list as the store gives it for o's rows and offset.
func PageFrom[T any](items []T, total int, o ListOptions) view.Page[T] {
	limit := o.Rows()
	if limit == 0 {
		limit = total
	}
	return view.Page[T]{Items: items, Total: total, Limit: limit, Offset: o.Offset, HasMore: o.Offset+len(items) < total}
}

// List makes a command the list of what read returns, which is all of it: the flags
// choose a part. Empty is said in place of a list with nothing in it, "" for nothing.
func List[T any](a *App, c *cobra.Command, empty string, read func(ctx context.Context, args []string) ([]T, error),
	show func(io.Writer, view.Page[T], view.Options) error) *cobra.Command {
	var part ListOptions
	part.AddFlags(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := cmp.Or(part.Check(), a.CheckWorkspace(c.Context())); err != nil {
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
			a.Say("showing %d to %d of %d; next: --offset %d, or --all", page.Offset+1, last, page.Total, last)
		}
		return show(w, page, o)
	})
}
