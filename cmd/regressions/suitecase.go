package regressions

import (
	"context"
	"fmt"
	"io"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack/regression"
	"github.com/spf13/cobra"
)

func newSuiteCase(a *cli.App) *cobra.Command {
	return cli.Group("case", "List the cases of a suite, and change what becomes of them",
		newCaseList(a),
		newCaseMove(a, "activate", regression.Active, "Let a proposed or muted case run"),
		newCaseMove(a, "mute", regression.Muted, "Keep an active case from running for a while"),
		newCaseMove(a, "archive", regression.Archived, "Keep a case without running it, for good"),
		newCaseMove(a, "reject", regression.Rejected, "Refuse a proposed case, for good"))
}

func newCaseList(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list SUITE", Short: "List the cases of a suite", Args: cli.ExactArgs("SUITE"),
		Example: "  agentclash regression-suite case list checkout",
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := Suite(a, args[0])
			if err != nil {
				return err
			}
			doc := struct {
				Items view.List[view.Regression] `json:"items"`
			}{viewCases(s)}
			return a.Print(doc, func(w io.Writer, v view.Options) error {
				if len(doc.Items) == 0 {
					a.Say("! suite %s has no case", s.Name)
				}
				return view.Regressions(w, doc.Items, v)
			})
		},
	}
}

func newCaseMove(a *cli.App, verb, status, short string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " SUITE CASE ...", Short: short,
		Example: "  agentclash regression-suite case " + verb + " checkout refund-twice",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.ExactArgs("SUITE", "CASE")(c, args)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return moveCases(c.Context(), a, args[0], args[1:], status)
		},
	}
}

// moveCases gives cases a new state, all of them or none.
func moveCases(ctx context.Context, a *cli.App, selector string, ids []string, status string) error {
	doc := struct {
		Suite string                     `json:"suite_id"`
		File  string                     `json:"file"`
		Items view.List[view.Regression] `json:"items"`
	}{}
	err := editSuite(ctx, a, selector, func(s SuiteFile) ([]byte, error) {
		doc.Suite, doc.File, doc.Items = s.Name, a.Shown(s.Path), nil
		src, all := s.Src, viewCases(s)
		for _, id := range ids {
			i := s.Find(id)
			if i < 0 {
				return nil, (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("suite %s has no case %q", s.Name, id)}).
					Hint("agentclash regression-suite case list %s", s.Name)
			}
			if err := regression.CheckMove(s.Cases[i].Status, status); err != nil {
				return nil, moveRefused("case %s of suite %s: %w", id, s.Name, err)
			}
			changed, err := regression.SetStatus(src, id, status)
			if err != nil {
				return nil, fmt.Errorf("change %s: %w", a.Shown(s.Path), err)
			}
			src, all[i].Status = changed, status
			doc.Items = append(doc.Items, all[i])
		}
		return src, nil
	})
	if err != nil {
		return err
	}
	return a.Print(doc, func(io.Writer, view.Options) error {
		for _, c := range doc.Items {
			a.Say("✓ case %s of suite %s is %s", c.ID, doc.Suite, c.Status)
		}
		return nil
	})
}
