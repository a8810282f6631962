package setup

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/filelock"
	"github.com/spf13/cobra"
)

// NewConfig is agentclash config: settings, and where each comes from.
func NewConfig(a *cli.App) *cobra.Command {
	return cli.Group("config", "Read and change settings, and see where they come from",
		newConfigList(a), newConfigGet(a), newConfigSet(a), newConfigUnset(a))
}

func newConfigList(a *cli.App) *cobra.Command {
	var origin bool
	c := &cobra.Command{
		Use: "list", Short: "List the settings and their values", Args: cli.NoArgs,
		Long: `List every setting with the value it has here. A flag of a command wins over
the environment, that over the project's .agentclash.yaml (the nearest, from
the working directory upwards), that over config.yaml in AGENTCLASH_HOME, and
that over what is built in. With --origin, each value says which of them it
comes from, files with the line.`,
		Example: "  agentclash config list\n  agentclash config list --origin\n  agentclash config list --json",
		RunE:    func(*cobra.Command, []string) error { return runConfigList(a, origin) },
	}
	c.Flags().BoolVar(&origin, "origin", false, "say where each value comes from")
	return c
}

// settingDocument is a setting as it is printed.
type settingDocument struct {
	Key     string        `json:"key"`
	Value   string        `json:"value"`
	Default string        `json:"default"`
	Source  config.Source `json:"source"`
	At      string        `json:"at"` // flag, variable or file:line
}

// visible are the settings as they are without a flag, whether or not they are
// right: with each that is not, an error.
func visible(a *cli.App) ([]settingDocument, []error, error) {
	if _, err := a.Inputs(); err != nil {
		return nil, nil, err
	}
	var list []settingDocument
	var wrong []error
	for _, s := range config.Settings() {
		v, err := a.Setting(s.Key, nil)
		if err != nil {
			wrong = append(wrong, err)
		}
		list = append(list, settingDocument{s.Key, v.Value, s.Default, v.Source, v.At})
	}
	return list, wrong, nil
}

func runConfigList(a *cli.App, origin bool) error {
	list, wrong, err := visible(a)
	if err != nil {
		return err
	}
	doc := struct {
		Items       []settingDocument `json:"items"`
		UserFile    string            `json:"user_file"`
		ProjectFile string            `json:"project_file"`
	}{Items: list}
	if doc.UserFile, err = a.UserConfig(); err != nil {
		return err
	}
	if doc.ProjectFile, err = a.ProjectConfig(); err != nil {
		return err
	}
	err = a.Print(doc, func(w io.Writer, o view.Options) error { return settingsTable(list, origin).Write(w, o) })
	for _, e := range wrong {
		a.Warn("! %v", e)
	}
	if err == nil && len(wrong) > 0 {
		return cli.Exit(cli.StatusUsage)
	}
	return err
}

func settingsTable(list []settingDocument, origin bool) *view.Table {
	t := &view.Table{Columns: []view.Column{{Title: "KEY", Keep: true}, {Title: "VALUE"}}}
	if origin {
		t.Columns = append(t.Columns, view.Column{Title: "SOURCE", Keep: true}, view.Column{Title: "AT"})
	}
	for _, s := range list {
		row := []view.Cell{view.Text(s.Key), view.Text(s.Value)}
		if origin {
			row = append(row, view.Text(string(s.Source)), view.Text(s.At))
		}
		t.Add(row...)
	}
	return t
}

func newConfigGet(a *cli.App) *cobra.Command {
	var exitCode bool
	c := &cobra.Command{
		Use: "get KEY", Short: "Print one setting that somebody has set", Args: cli.ExactArgs("KEY"),
		Long: `Print the value of one setting, as the environment, the project's file or the
user's file sets it. One that nobody has set is empty: config list shows what
is built in.

Exit status: 0; with --exit-code, 1 when nobody has set it; 64 there is no such
setting.`,
		Example: "  agentclash config get output\n  agentclash config get sandbox --json",
		RunE:    func(_ *cobra.Command, args []string) error { return runConfigGet(a, args[0], exitCode) },
	}
	c.Flags().BoolVar(&exitCode, "exit-code", false, "exit 1 when nobody has set it")
	return c
}

func runConfigGet(a *cli.App, key string, exitCode bool) error {
	s, err := knownSetting(key)
	if err != nil {
		return err
	}
	v, err := a.Setting(s.Key, nil)
	if err != nil {
		return err
	}
	doc := struct {
		settingDocument
		Set bool `json:"set"`
	}{settingDocument{s.Key, v.Value, s.Default, v.Source, v.At}, v.IsSet()}
	if !doc.Set {
		doc.Value = ""
	}
	err = a.Print(doc, func(w io.Writer, _ view.Options) error {
		_, err := fmt.Fprintln(w, view.SanitizeLine(doc.Value))
		return err
	})
	if err == nil && exitCode && !doc.Set {
		return cli.Exit(cli.StatusError)
	}
	return err
}

func knownSetting(key string) (config.Setting, error) {
	if s, ok := config.Find(key); ok {
		return s, nil
	}
	if config.Hosted(key) {
		return config.Setting{}, hostedOnly("the setting " + key)
	}
	err := cli.Usage("there is no setting %q", key)
	if near := config.Near(key); near != "" {
		return config.Setting{}, err.Hint("did you mean %s?", near)
	}
	return config.Setting{}, err.Hint("agentclash config list")
}

const projectUsage = "in the nearest .agentclash.yaml, for all who work in the repository"

func newConfigSet(a *cli.App) *cobra.Command {
	var project bool
	c := &cobra.Command{
		Use: "set KEY VALUE", Short: "Set a setting for this user or this project", Args: cli.ExactArgs("KEY", "VALUE"),
		Long: `Set a setting in config.yaml in AGENTCLASH_HOME, or with --project in the
nearest .agentclash.yaml. All else in the file stays as it is, comments too.`,
		Example: "  agentclash config set concurrency 4\n  agentclash config set color never",
		RunE: func(c *cobra.Command, args []string) error {
			return runConfigChange(c.Context(), a, args[0], &args[1], project)
		},
	}
	c.Flags().BoolVar(&project, "project", false, projectUsage)
	return c
}

func newConfigUnset(a *cli.App) *cobra.Command {
	var project bool
	c := &cobra.Command{
		Use: "unset KEY", Short: "Take a setting out again", Args: cli.ExactArgs("KEY"),
		Example: "  agentclash config unset output",
		RunE: func(c *cobra.Command, args []string) error {
			return runConfigChange(c.Context(), a, args[0], nil, project)
		},
	}
	c.Flags().BoolVar(&project, "project", false, projectUsage)
	return c
}

// runConfigChange sets a setting, or takes it out when value is nil.
func runConfigChange(ctx context.Context, a *cli.App, key string, value *string, project bool) error {
	s, err := knownSetting(key)
	if err != nil {
		return err
	}
	if value != nil {
		if err := s.Check(s.Key, *value); err != nil {
			return cli.Usage("%w", err)
		}
	}
	source := config.User
	path, err := a.UserConfig()
	if project {
		source = config.Project
		path, err = a.ProjectConfig()
	}
	switch {
	case err != nil:
		return err
	case project && s.Project == "":
		return cli.Usage("%s is for each user to decide, not for a project", s.Key).Hint("agentclash config set %s VALUE", s.Key)
	case path == "":
		return (&cli.Failure{Status: cli.StatusNotFound, Code: "file_not_found", Err: fmt.Errorf("there is no %s here or above", cli.ProjectFile)}).Hint("agentclash init")
	}
	if err := changeConfig(ctx, a, path, source, s, value); err != nil {
		return err
	}
	action := "set"
	if value == nil {
		action = "unset"
	}
	err = a.Print(map[string]string{"key": s.Key, "action": action, "file": path}, func(io.Writer, view.Options) error {
		a.Say("✓ %s: %s in %s", s.Key, action, a.Shown(path))
		return nil
	})
	sayOverridden(a, s, source)
	return err
}

// changeConfig writes one setting into a file, or takes it out.
func changeConfig(ctx context.Context, a *cli.App, path string, source config.Source, s config.Setting, value *string) error {
	if source == config.User { // the directory is for its owner alone
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("write the configuration: %w", err)
		}
	}
	at, err := cli.Followed(path)
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	release, err := filelock.Hold(ctx, at)
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	defer release()
	was, err := cli.ReadConfig(at)
	if err != nil {
		return err
	}
	name := s.Key
	if source == config.Project {
		name = s.Project
	}
	is, err := changed(was, name, value)
	if err != nil {
		return cli.BadConfig("change %s: %w", path, err)
	}
	if value == nil && was == nil {
		return nil
	}
	mode := fs.FileMode(0o600)
	if source == config.Project {
		mode = 0o644
	}
	err = cli.Replace(at, mode, func(w io.Writer) error {
		_, err := w.Write(is)
		return err
	})
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	a.Settings = nil // to be read anew
	return nil
}

func changed(was []byte, name string, value *string) ([]byte, error) {
	if value == nil {
		return config.Unset(was, name)
	}
	return config.Set(was, name, *value)
}

// sayOverridden tells when what was just written is not what counts here.
func sayOverridden(a *cli.App, s config.Setting, source config.Source) {
	in, err := a.Inputs()
	if err != nil {
		a.Warn("! %v", err)
		return
	}
	if v, over := in.Over(s, source); over {
		a.Warn("! here %s is %q all the same: %s", s.Key, v.Value, v.At)
	}
}
