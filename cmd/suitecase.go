package cmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack/regression"
)

func newSuiteCase(a *app) *cobra.Command {
	return group("case", "List the cases of a suite, and change what becomes of them",
		newCaseList(a),
		newCaseMove(a, "activate", regression.Active, "Let a proposed or muted case run"),
		newCaseMove(a, "mute", regression.Muted, "Keep an active case from running for a while"),
		newCaseMove(a, "archive", regression.Archived, "Keep a case without running it, for good"),
		newCaseMove(a, "reject", regression.Rejected, "Refuse a proposed case, for good"))
}

func newCaseList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list SUITE", Short: "List the cases of a suite", Args: exactArgs("SUITE"),
		Example: "  agentclash regression-suite case list checkout",
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.suite(args[0])
			if err != nil {
				return err
			}
			doc := struct {
				Items view.List[view.Regression] `json:"items"`
			}{viewCases(s)}
			return a.print(doc, func(w io.Writer, v view.Options) error {
				if len(doc.Items) == 0 {
					a.say("! suite %s has no case", s.Name)
				}
				return view.Regressions(w, doc.Items, v)
			})
		},
	}
}

func newCaseMove(a *app, verb, status, short string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " SUITE CASE ...", Short: short,
		Example: "  agentclash regression-suite case " + verb + " checkout refund-twice",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return exactArgs("SUITE", "CASE")(c, args)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.moveCases(c.Context(), args[0], args[1:], status)
		},
	}
}

// moveCases gives cases a new state, all of them or none.
func (a *app) moveCases(ctx context.Context, selector string, ids []string, status string) error {
	doc := struct {
		Suite string                     `json:"suite_id"`
		File  string                     `json:"file"`
		Items view.List[view.Regression] `json:"items"`
	}{}
	err := a.editSuite(ctx, selector, func(s suiteFile) ([]byte, error) {
		doc.Suite, doc.File, doc.Items = s.Name, a.shown(s.path), nil
		src, all := s.src, viewCases(s)
		for _, id := range ids {
			i := s.Find(id)
			if i < 0 {
				return nil, (&failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("suite %s has no case %q", s.Name, id)}).
					hint("agentclash regression-suite case list %s", s.Name)
			}
			if err := regression.CheckMove(s.Cases[i].Status, status); err != nil {
				return nil, moveRefused("case %s of suite %s: %w", id, s.Name, err)
			}
			changed, err := regression.SetStatus(src, id, status)
			if err != nil {
				return nil, fmt.Errorf("change %s: %w", a.shown(s.path), err)
			}
			src, all[i].Status = changed, status
			doc.Items = append(doc.Items, all[i])
		}
		return src, nil
	})
	if err != nil {
		return err
	}
	return a.print(doc, func(io.Writer, view.Options) error {
		for _, c := range doc.Items {
			a.say("✓ case %s of suite %s is %s", c.ID, doc.Suite, c.Status)
		}
		return nil
	})
}
