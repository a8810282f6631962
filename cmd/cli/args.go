package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/cmd/config"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ExactArgs wants the named arguments and no others, and says which is missing.
func ExactArgs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < len(names) {
			missing := names[len(args):]
			return Usage("%s needs %s", c.CommandPath(), strings.Join(missing, " ")).Hint("%s", found(c, missing[0]))
		}
		return tooMany(c, args, len(names))
	}
}

// found is what to type for a value of a missing argument.
func found(c *cobra.Command, argument string) string {
	list := map[string]string{
		"RUN": "agentclash run list", "RUN|TRIAL": "agentclash run list", "TRIAL|RUN-AGENT|RUN": "agentclash run list", "CASE": "agentclash run explain --help",
		"RUN-AGENT": "agentclash run agents RUN", "SESSION": "agentclash eval session list", "DEPLOYMENT": "agentclash deployment list",
		"PACK": "agentclash challenge-pack list", "SUITE": "agentclash regression-suite list", "BUILD": "agentclash build list",
		"VERSION": "agentclash build get BUILD", "ARTIFACT": "agentclash artifact list", "ACCOUNT": "agentclash infra provider-account list",
		"ALIAS": "agentclash infra model-alias list", "PROFILE": "agentclash infra runtime-profile list", "POLICY": "agentclash infra spend-policy list",
		"MODEL": "agentclash infra model-catalog list",
	}[argument]
	switch {
	case argument == "KEY" && c.Parent().Name() == "secret" && c.Name() != "set":
		list = "agentclash secret list"
	case argument == "KEY" && c.Parent().Name() == "config":
		list = "agentclash config list"
	case argument == "NAME" && c.Parent().Name() == "workspace" && c.Name() != "create":
		list = "agentclash workspace list"
	}
	return cmp.Or(list, c.CommandPath()+" --help")
}

// FlagError says in our words what is wrong with the value of a flag.
func FlagError(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		flag := value.GetFlag()
		wrong, own := map[string]string{
			"int": "it must be a whole number", "int64": "it must be a whole number", "float64": "it must be a number",
			"bool": "it must be true or false", "duration": "it must be a time such as 30s, 5m or 2h",
		}[flag.Value.Type()]
		switch {
		case errors.Is(value, strconv.ErrRange):
			wrong = "it is out of range"
		case !own:
			wrong = value.Unwrap().Error()
		}
		err = fmt.Errorf("--%s %q: %s", flag.Name, value.GetValue(), wrong)
	}
	return Usage("%w", err).Hint("%s --help", c.CommandPath())
}

// UpTo takes at most n arguments.
func UpTo(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error { return tooMany(c, args, n) }
}

// NoArgs is for commands that take no argument.
func NoArgs(c *cobra.Command, args []string) error { return tooMany(c, args, 0) }

func tooMany(c *cobra.Command, args []string, n int) error {
	if len(args) > n {
		return Usage("%s takes no argument %q", c.CommandPath(), args[n]).Hint("%s --help", c.CommandPath())
	}
	return nil
}

// Strict makes a group without a verb, or with an unknown one, a usage error
// that names what there is.
func Strict(c *cobra.Command) {
	for _, sub := range c.Commands() {
		Strict(sub)
	}
	if !c.HasSubCommands() || c.RunE != nil {
		return
	}
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		err := Usage("%s has no command %q", c.CommandPath(), args[0])
		c.SuggestionsMinimumDistance = 2
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			return err.Hint("%s %s", c.CommandPath(), cmp.Or(config.Nearest(args[0], near), near[0]))
		}
		return err.Hint("%s --help", c.CommandPath())
	}
}

// Group is a noun: a command that only holds verbs.
func Group(use, short string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	c.AddCommand(verbs...)
	return c
}
