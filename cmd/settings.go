package cmd

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

// projectFile is what a repository says of itself, in its top directory.
const projectFile = ".agentclash.yaml"

// maxConfigBytes bounds either file.
const maxConfigBytes = 1 << 20

// userConfig is the file of the user's own settings. It need not be there.
func (a *app) userConfig() (string, error) {
	home, err := a.home()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, "config.yaml"), nil
}

// projectConfig is the nearest project file, from the working directory upwards,
// "" for none.
func (a *app) projectConfig() (string, error) {
	for dir := a.p.Dir; ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, projectFile)
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

// inputs are what settings come from. The files are read once for a working
// directory, which a CI job changes.
func (a *app) inputs() (*config.Inputs, error) {
	if a.settings != nil && a.settingsOf == a.p.Dir {
		return a.settings, nil
	}
	in := &config.Inputs{Getenv: func(name string) string { return a.p.Getenv(name) }}
	project, err := a.projectConfig()
	if err != nil {
		return nil, err
	}
	user, err := a.userConfig()
	if err != nil {
		user = "" // no home is no mistake where nothing is kept
	}
	for _, f := range []struct {
		path   string
		source config.Source
	}{{project, config.Project}, {user, config.User}} {
		src, err := readConfig(f.path)
		if err != nil {
			return nil, err
		}
		parsed, err := config.Parse(f.path, f.source, src)
		if err != nil {
			return nil, badConfig("%w", err)
		}
		if f.path != "" {
			in.Files = append(in.Files, parsed)
		}
	}
	a.settings, a.settingsOf = in, a.p.Dir
	return in, nil
}

// readConfig reads a file that need not be there; then nothing is in it.
func readConfig(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // nor can there be one
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, badConfig("read the configuration %s: it is not a regular file", path)
	}
	src, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if len(src) > maxConfigBytes {
		return nil, badConfig("read the configuration %s: it has more than %d bytes", path, maxConfigBytes)
	}
	return src, nil
}

func badConfig(format string, args ...any) *failure {
	return &failure{status: statusUsage, code: "invalid_config", err: fmt.Errorf(format, args...)}
}

// setting is the value of a setting: the only place where flag, environment and
// files are weighed. Flag is nil when none was given.
func (a *app) setting(key string, flag *string) (config.Value, error) {
	s, ok := config.Find(key)
	if !ok {
		panic("no setting " + key) // the keys are constants
	}
	in, err := a.inputs()
	if err != nil {
		return config.Value{Setting: s, Value: s.Default, Source: config.BuiltIn}, err
	}
	v, err := in.Resolve(s, flag)
	switch {
	case err == nil:
		return v, nil
	case v.Source == config.Flag:
		return v, usage("%w", err)
	case v.Source == config.Environment:
		return v, badConfig("%w", err).hint("unset %s", v.At)
	case v.Source == config.User:
		return v, badConfig("%w", err).hint("agentclash config unset %s", s.Key)
	}
	return v, badConfig("%w", err).hint("agentclash config unset %s --project", s.Key)
}

// nonEmpty is a flag that was given, nil for an empty one.
func nonEmpty(flag string) *string {
	if flag == "" {
		return nil
	}
	return &flag
}

// settleOutput works out how results are printed, and whether in colour. What
// looks after the settings goes on when they are broken.
func (a *app) settleOutput(c *cobra.Command) error {
	var flag *string
	switch {
	case a.asJSON:
		a.output, flag = "json", new("json")
	case c.Root().PersistentFlags().Changed("output"):
		flag = &a.output
	}
	output, err := a.setting(config.Output, flag)
	if err == nil {
		var color config.Value
		color, err = a.setting(config.Color, nil)
		a.noColor = a.noColor || color.Value == "never"
	}
	if err != nil && (output.Source == config.Flag || c.Parent() == nil || c.Parent().Name() != "config") {
		return err
	}
	if err == nil {
		a.output = output.Value
	}
	a.asJSON = a.output == "json"
	return nil
}

// usuallyJSON says whether results are JSON where no flag says otherwise.
func (a *app) usuallyJSON() bool {
	v, err := a.setting(config.Output, nil)
	return err == nil && v.Value == "json"
}

// settleConcurrency takes the setting where no flag says how many trials there
// may be at once.
func (a *app) settleConcurrency(n *int) error {
	if *n != 0 {
		return nil
	}
	v, err := a.setting(config.Concurrency, nil)
	if err == nil {
		*n, err = strconv.Atoi(v.Value)
	}
	return err
}
