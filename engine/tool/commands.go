package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/agentclash/agentclash/sandbox"
)

// What run_tests and build may take and show.
const (
	buildTimeout    = 120 * time.Second
	maxBuildTimeout = 300 * time.Second
	buildHead       = 64 << 10 // of stdout and stderr each; the end is what matters
	buildTail       = 192 << 10
	maxMarker       = 1 << 20
)

// convention is what a project of some kind runs.
type convention struct {
	marker, framework string
	test, build       []string
}

// conventions in the order in which they are looked for.
var conventions = []convention{
	{"package.json", "npm", []string{"npm", "run", "test"}, []string{"npm", "run", "build"}},
	{"go.mod", "go", []string{"go", "test", "./..."}, []string{"go", "build", "./..."}},
	{"Cargo.toml", "cargo", []string{"cargo", "test"}, []string{"cargo", "build"}},
	{"pyproject.toml", "python", []string{"python3", "-m", "unittest", "discover"}, []string{"python3", "-m", "compileall", "."}},
	{"Makefile", "make", []string{"make", "test"}, []string{"make", "build"}},
}

func runTests(ctx context.Context, at workplace, raw json.RawMessage) (Result, error) {
	return at.command(ctx, "test", raw)
}

func build(ctx context.Context, at workplace, raw json.RawMessage) (Result, error) {
	return at.command(ctx, "build", raw)
}

// invocation is a command as it will be run, and as it is shown.
type invocation struct {
	framework, label string
	argv             []string
}

func (w workplace) command(ctx context.Context, mode string, raw json.RawMessage) (Result, error) {
	var args struct {
		Command     any               `json:"command"`
		Dir         string            `json:"working_directory"`
		Environment map[string]string `json:"environment"`
		Timeout     int               `json:"timeout_seconds"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return Result{}, err
	}
	run := explicit(args.Command)
	if run.argv == nil {
		var err error
		if run, err = w.detect(ctx, mode); err != nil {
			return Result{}, err
		}
	}
	c := sandbox.Command{
		Argv: run.argv, Dir: w.dir(args.Dir), Env: maps.Clone(args.Environment), Timeout: buildTimeout,
		HeadBytes: buildHead, TailBytes: buildTail,
	}
	if args.Timeout > 0 {
		c.Timeout = min(time.Duration(args.Timeout)*time.Second, maxBuildTimeout)
	}
	res, err := w.box.Exec(ctx, c)
	if errors.Is(err, sandbox.ErrNoProcess) {
		return noProcess(w.tool, err), nil
	}
	if err != nil {
		return Result{}, err
	}
	if res.StartError != "" {
		return notStarted(w.tool+": "+run.label, res), nil
	}
	return w.finished(ctx, mode, args.Dir, run, c.Timeout, res)
}

// explicit is the command that was asked for; argv is nil when none was.
func explicit(command any) invocation {
	switch c := command.(type) {
	case string:
		if line := strings.TrimSpace(c); line != "" {
			return invocation{"custom", line, []string{"sh", "-lc", line}}
		}
	case []any:
		run := invocation{framework: "custom"}
		for _, word := range c {
			text, _ := word.(string) // the schema has seen that it is text
			run.argv = append(run.argv, text)
		}
		run.label = strings.Join(run.argv, " ")
		return run
	}
	return invocation{}
}

// detect finds out by the files where agents work what to run.
func (w workplace) detect(ctx context.Context, mode string) (invocation, error) {
	for _, c := range conventions {
		f, err := w.box.ReadFile(ctx, w.roots.Base()+"/"+c.marker, maxMarker)
		if errors.Is(err, sandbox.ErrNotFound) {
			continue
		}
		if err != nil {
			return invocation{}, fmt.Errorf("%s: %w", c.marker, err)
		}
		argv := c.test
		if mode == "build" {
			argv = c.build
		}
		if c.framework == "npm" && !hasScript(f.Data, mode) {
			continue
		}
		return invocation{c.framework, strings.Join(argv, " "), argv}, nil
	}
	return invocation{}, fmt.Errorf("nothing in %s says how to %s: give a command", w.roots.Base(), mode)
}

func hasScript(manifest []byte, name string) bool {
	var m struct {
		Scripts map[string]json.RawMessage `json:"scripts"`
	}
	var script string
	return json.Unmarshal(manifest, &m) == nil && json.Unmarshal(m.Scripts[name], &script) == nil && strings.TrimSpace(script) != ""
}

// finished is the envelope of a command that ran, whatever its exit code.
func (w workplace) finished(ctx context.Context, mode, dir string, run invocation, timeout time.Duration, res sandbox.Result) (Result, error) {
	type summary struct {
		Status string `json:"status"`
	}
	out := struct {
		Framework   string  `json:"framework"`
		Mode        string  `json:"mode"`
		Command     string  `json:"command"`
		Dir         string  `json:"working_directory"`
		ExitCode    int     `json:"exit_code"`
		Stdout      string  `json:"stdout"`
		Stderr      string  `json:"stderr"`
		TimedOut    string  `json:"timed_out,omitempty"`
		OutOfMemory bool    `json:"out_of_memory,omitempty"`
		OutputLimit bool    `json:"killed_for_endless_output,omitempty"`
		Limit       string  `json:"limit,omitempty"`
		Summary     summary `json:"summary"`
	}{
		Framework: run.framework, Mode: mode, Command: clip(run.label, maxMessage), Dir: dir, ExitCode: res.ExitCode,
		Stdout: strings.ToValidUTF8(res.Stdout.Text, "\uFFFD"), Stderr: strings.ToValidUTF8(res.Stderr.Text, "\uFFFD"),
		OutOfMemory: res.OutOfMemory, OutputLimit: res.OutputLimit, Limit: res.Limit, Summary: summary{"completed"},
	}
	if dir == "" {
		out.Dir = w.roots.Base()
	}
	if res.TimedOut {
		out.TimedOut = fmt.Sprintf("killed after %s", timeout)
	}
	failed := res.ExitCode != 0 || res.TimedOut
	if failed {
		out.Summary.Status = "failed"
	}
	r, err := w.wrap(ctx, out)
	r.Limit = res.Limit
	if failed && err == nil {
		r.IsError, r.Origin = true, OriginPrimitive
	}
	return r, err
}
