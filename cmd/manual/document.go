package manual

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// SchemaVersion is the version of Document. Keys are added within a version, and never
// taken away or given another meaning.
const SchemaVersion = 2

// Document is what `agentclash schema` prints.
type Document struct {
	SchemaVersion int          `json:"schema_version"`
	CLIVersion    string       `json:"cli_version"`
	GlobalFlags   []Flag       `json:"global_flags"`
	Commands      []Command    `json:"commands"`
	ExitCodes     []ExitCode   `json:"exit_codes"`
	ErrorCodes    []ErrorCode  `json:"error_codes"`
	StatusEnums   []StatusEnum `json:"status_enums"`
}

// Command is one command, with those below it.
type Command struct {
	Name        string    `json:"name"`
	Path        string    `json:"path"` // as it is typed
	Short       string    `json:"short"`
	Group       string    `json:"group,omitempty"` // of a command of the first level, as help lists them
	Aliases     []string  `json:"aliases"`
	Runnable    bool      `json:"runnable"` // false: it holds other commands
	Args        []Arg     `json:"args"`
	Example     string    `json:"example"`
	Flags       []Flag    `json:"flags"`
	Subcommands []Command `json:"subcommands"`
}

// Arg is an argument as the usage line names it. Words with | between are choices.
type Arg struct {
	Name     string `json:"name"`
	Required bool   `json:"required"`
	Variadic bool   `json:"variadic"`
}

// Flag is a flag without its dashes.
type Flag struct {
	Name          string   `json:"name"`
	Shorthand     string   `json:"shorthand"`
	Usage         string   `json:"usage"`
	Type          string   `json:"type"`
	Default       string   `json:"default"`
	Required      bool     `json:"required"`
	AllowedValues []string `json:"allowed_values"` // empty: any of the type
}

// ExitCode is a status that a command may end with.
type ExitCode struct {
	Code    int    `json:"code"`
	Meaning string `json:"meaning"`
}

// ErrorCode is a code of {"error":{"code":...}}, and the status that goes with it.
type ErrorCode struct {
	Code    string `json:"code"`
	Status  int    `json:"status"`
	Meaning string `json:"meaning"`
}

// StatusEnum is every word that a status of a resource may be.
type StatusEnum struct {
	Resource string   `json:"resource"`
	Values   []string `json:"values"`
}

// valuesKey is the annotation of a flag that has a choice of values.
const valuesKey = "agentclash_allowed_values"

// Choice says which values a flag may have.
func Choice(flags *pflag.FlagSet, name string, values ...string) {
	if err := flags.SetAnnotation(name, valuesKey, values); err != nil {
		panic(err) // a choice for a flag that is not there is a mistake of ours
	}
}

// Values are those that Choice has set; nil when any is taken.
func Values(f *pflag.Flag) []string { return f.Annotations[valuesKey] }

// Describe describes a command and what is below it, without what is hidden, help and
// completion.
func Describe(c *cobra.Command) Command {
	c.InitDefaultHelpFlag()
	d := Command{
		Name: c.Name(), Path: c.CommandPath(), Short: c.Short, Group: c.GroupID, Aliases: orEmpty(c.Aliases), Example: c.Example,
		Runnable: c.Runnable() && !c.HasSubCommands(), Args: Args(c), Flags: Flags(c.LocalNonPersistentFlags()), Subcommands: []Command{},
	}
	for _, sub := range Shown(c) {
		d.Subcommands = append(d.Subcommands, Describe(sub))
	}
	return d
}

// Shown are the commands below c that people are told of.
func Shown(c *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(c.Commands()), func(sub *cobra.Command) bool {
		return sub.Hidden || sub.Name() == "help" || sub.Name() == "completion"
	})
}

// Group is a heading of the help and what stands under it.
type Group struct {
	Title    string
	Commands []*cobra.Command
}

// Groups are the commands below c that people are told of, as its help groups them.
func Groups(c *cobra.Command) []Group {
	var list []Group
	for _, g := range c.Groups() {
		shown := slices.DeleteFunc(Shown(c), func(sub *cobra.Command) bool { return sub.GroupID != g.ID })
		list = append(list, Group{Title: strings.TrimSuffix(g.Title, ":"), Commands: shown})
	}
	return list
}

// Flags describes a set of flags, by name.
func Flags(set *pflag.FlagSet) []Flag {
	list := []Flag{}
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		_, usage := pflag.UnquoteUsage(f)
		list = append(list, Flag{
			Name: f.Name, Shorthand: f.Shorthand, Usage: usage, Type: f.Value.Type(), Default: f.DefValue,
			Required: len(f.Annotations[cobra.BashCompOneRequiredFlag]) > 0, AllowedValues: orEmpty(Values(f)),
		})
	})
	return list
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// Args reads the arguments of a command that can be run from its usage line: NAME is
// required, [NAME] is not, NAME... may be repeated. What follows -- goes to another
// program and is one argument.
func Args(c *cobra.Command) []Arg {
	list := []Arg{}
	if !c.Runnable() || c.HasSubCommands() {
		return list
	}
	words := strings.Fields(c.Use)
	for i := 1; i < len(words); i++ {
		word := words[i]
		if word == "[flags]" {
			continue
		}
		if word == "[--" {
			return append(list, Arg{Name: "PROGRAM", Variadic: true})
		}
		arg := Arg{Required: !strings.HasPrefix(word, "[")}
		if i+1 < len(words) && strings.Trim(words[i+1], "[]") == "..." {
			arg.Variadic, i = true, i+1
		}
		word = strings.Trim(word, "[]")
		name, more := strings.CutSuffix(word, "...")
		arg.Name, arg.Variadic = name, arg.Variadic || more
		list = append(list, arg)
	}
	return list
}
