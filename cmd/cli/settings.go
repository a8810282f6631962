package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/config"
)

// ProjectFile is what a repository says of itself, in its top directory.
const ProjectFile = ".agentclash.yaml"

// maxConfigBytes bounds either file.
const maxConfigBytes = 1 << 20

// UserConfig is the file of the user's own settings. It need not be there.
func (a *App) UserConfig() (string, error) {
	home, err := a.Home()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, "config.yaml"), nil
}

// ProjectConfig is the nearest project file, from the working directory upwards,
// "" for none.
func (a *App) ProjectConfig() (string, error) {
	for dir := a.Process.Dir; ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, ProjectFile)
		switch _, err := os.Stat(file); {
		case err == nil:
			return file, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("read the project file: %w", err)
		case dir == filepath.Dir(dir):
			return "", nil
		}
	}
}

// Inputs are what settings come from. The files are read once for a working
// directory, which a CI job changes.
func (a *App) Inputs() (*config.Inputs, error) {
	if a.Settings != nil && a.settingsOf == a.Process.Dir {
		return a.Settings, nil
	}
	in := &config.Inputs{Getenv: func(name string) string { return a.Process.Getenv(name) }}
	project, err := a.ProjectConfig()
	if err != nil {
		return nil, err
	}
	user, err := a.UserConfig()
	if err != nil {
		user = "" // no home is no mistake where nothing is kept
	}
	for _, f := range []struct {
		path   string
		source config.Source
	}{{project, config.Project}, {user, config.User}} {
		src, err := ReadConfig(f.path)
		if err != nil {
			return nil, err
		}
		parsed, err := config.Parse(f.path, f.source, src)
		if err != nil {
			return nil, BadConfig("%w", err)
		}
		if f.path != "" {
			in.Files = append(in.Files, parsed)
		}
	}
	a.Settings, a.settingsOf = in, a.Process.Dir
	return in, nil
}

// ReadConfig reads a file that need not be there; then nothing is in it.
func ReadConfig(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a pipe would be waited for
		return nil, BadConfig("read the configuration %s: it is not a regular file", path)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // nor can there be one
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if len(src) > maxConfigBytes {
		return nil, BadConfig("read the configuration %s: it has more than %d bytes", path, maxConfigBytes)
	}
	return src, nil
}

// BadConfig is the error of a setting or a configuration file that is wrong.
func BadConfig(format string, args ...any) *Failure {
	return &Failure{Status: StatusUsage, Code: "invalid_config", Err: fmt.Errorf(format, args...)}
}

// Setting is the value of a setting: the only place where flag, environment and
// files are weighed. Flag is nil when none was given.
func (a *App) Setting(key string, flag *string) (config.Value, error) {
	s, ok := config.Find(key)
	if !ok {
		panic("no setting " + key) // the keys are constants
	}
	in, err := a.Inputs()
	if err != nil {
		return config.Value{Setting: s, Value: s.Default, Source: config.BuiltIn}, err
	}
	v, err := in.Resolve(s, flag)
	switch {
	case err == nil:
		return v, nil
	case v.Source == config.Flag:
		return v, Usage("%w", err)
	case v.Source == config.Environment:
		return v, BadConfig("%w", err).Hint("unset %s", v.At)
	case v.Source == config.User:
		return v, BadConfig("%w", err).Hint("agentclash config unset %s", s.Key)
	}
	return v, BadConfig("%w", err).Hint("agentclash config unset %s --project", s.Key)
}

// NonEmpty is a flag that was given, nil for an empty one.
func NonEmpty(flag string) *string {
	if flag == "" {
		return nil
	}
	return &flag
}

// settleOutput works out how results are printed, and whether in colour. What
// looks after the settings goes on when they are broken.
func (a *App) settleOutput(c *cobra.Command) error {
	var flag *string
	switch {
	case a.AsJSON:
		a.Output, flag = "json", new("json")
	case c.Root().PersistentFlags().Changed("output"):
		flag = &a.Output
	case c.Root().PersistentFlags().Changed("json"):
		flag = new("table") // --json=false
	}
	output, err := a.Setting(config.Output, flag)
	if err == nil {
		var color config.Value
		color, err = a.Setting(config.Color, nil)
		a.NoColor = a.NoColor || color.Value == "never"
	}
	if err != nil && (output.Source == config.Flag || c.Parent() == nil || c.Parent().Name() != "config") {
		return err
	}
	if err == nil {
		a.Output = output.Value
	}
	a.AsJSON = a.Output == "json"
	return nil
}

// usuallyJSON says whether results are JSON where no flag says otherwise.
func (a *App) usuallyJSON() bool {
	v, err := a.Setting(config.Output, nil)
	return err == nil && v.Value == "json"
}

// SettleConcurrency takes the setting where no flag says how many trials there
// may be at once.
func (a *App) SettleConcurrency(n *int) error {
	if *n != 0 {
		return nil
	}
	v, err := a.Setting(config.Concurrency, nil)
	if err == nil {
		*n, err = strconv.Atoi(v.Value)
	}
	return err
}
