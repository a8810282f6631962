package contract

import (
	"fmt"
	"io"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/errcode"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/spf13/cobra"
)

// NewExplain is agentclash explain: the page of an error code.
func NewExplain(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "explain [CODE]", Short: "Say what an error code means and what to do", Args: cli.UpTo(1),
		Long: `Say what a code means, which status it comes with and what to do: codes of
errors (error.code with --json), of trials and runs, and of findings of
challenge-pack doctor. Without a code, list all.`,
		Example: "  agentclash explain no_submit\n  agentclash explain --json --query '.items[].code'",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listCodes(a)
			}
			return explainCode(a, args[0])
		},
	}
}

// codeDocument is a code as it is printed.
type codeDocument struct {
	Code     string `json:"code"`
	Of       string `json:"of"`            // command, failed, invalid, run or pack
	Statuses []int  `json:"exit_statuses"` // of commands, because of it alone
	Exit     string `json:"exit"`
	Meaning  string `json:"meaning"`
	Do       string `json:"what_to_do"`
}

func documentOf(c errcode.Code) codeDocument {
	return codeDocument{c.Code, string(c.Of), append([]int{}, c.Status...), c.Exit(), c.Means, c.Do}
}

func listCodes(a *cli.App) error {
	var doc struct {
		Items []codeDocument `json:"items"`
	}
	for _, c := range errcode.All() {
		doc.Items = append(doc.Items, documentOf(c))
	}
	return a.Print(doc, func(w io.Writer, o view.Options) error {
		t := view.Table{Columns: []view.Column{{Title: "CODE", Keep: true}, {Title: "OF", Keep: true}, {Title: "MEANING", Wrap: true}}}
		for _, c := range doc.Items {
			t.Add(view.Text(c.Code), view.Text(c.Of), view.Text(c.Meaning))
		}
		return t.Write(w, o)
	})
}

func explainCode(a *cli.App, code string) error {
	c, ok := errcode.Find(code)
	if !ok {
		err := cli.Usage("there is no code %q", code)
		if near := errcode.Near(code); near != "" {
			return err.Hint("agentclash explain %s", near)
		}
		return err.Hint("agentclash explain lists all")
	}
	return a.Print(documentOf(c), func(w io.Writer, o view.Options) error {
		width := o.Width
		if width <= 0 {
			width = 80
		}
		_, err := fmt.Fprintf(w, "%s (%s)\n\n%s\nexit status:\n%swhat to do:\n%s", c.Code, c.Heading(),
			reflow(c.Means, width), reflow(c.Exit(), width), reflow(c.Do, width))
		return err
	})
}
