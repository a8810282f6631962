package contract

import (
	"github.com/agentclash/agentclash/cmd/evaluation"
	"github.com/agentclash/agentclash/cmd/manual"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/convert"
	"github.com/spf13/cobra"
)

// Choose says of each flag with a choice of values which these are, for the schema and
// the reference. The commands themselves refuse others.
func Choose(root *cobra.Command) {
	sandboxes := []string{"auto", "docker", "scratch", "e2b"}
	manual.Choice(root.PersistentFlags(), "output", "table", "json", "yaml")
	for _, row := range []struct {
		path   []string
		flag   string
		values []string
	}{
		{[]string{"eval", "start"}, "sandbox", sandboxes},
		{[]string{"eval", "start"}, "scope", []string{evaluation.ScopeFull, evaluation.ScopeSuiteOnly}},
		{[]string{"challenge-pack", "doctor"}, "sandbox", sandboxes},
		{[]string{"challenge-pack", "init"}, "template", pack.StarterTemplates()},
		{[]string{"challenge-pack", "validate"}, "format", []string{"text", "json", "github", "sarif"}},
		{[]string{"dataset", "import"}, "format", convert.Formats()},
		{[]string{"deployment", "create"}, "kind", []string{"model", "command", "http"}},
	} {
		c, _, err := root.Find(row.path)
		if err != nil {
			panic(err) // a row for a command that is not there is a mistake of ours
		}
		manual.Choice(c.Flags(), row.flag, row.values...)
	}
}
