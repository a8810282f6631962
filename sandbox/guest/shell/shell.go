package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// Std are a program's standard streams.
type Std struct {
	In       *os.File
	Out, Err io.Writer
}

// statusUsage is the exit status of a command that was misused, as shells have
// it.
const statusUsage = 2

// Is tells whether a program called by this name (its argv[0]) is one of this
// package's.
func Is(name string) bool {
	base := path.Base(name)
	return base == "sh" || applets()[base] != nil
}

// Names lists the programs, sorted.
func Names() []string {
	names := append(slices.Collect(maps.Keys(applets())), "sh")
	slices.Sort(names)
	return names
}

// Main runs the program that args[0] names and returns its exit status.
func Main(ctx context.Context, args []string, std Std) int {
	name := path.Base(args[0])
	if name == "sh" {
		return sh(ctx, args[1:], std)
	}
	run := applets()[name]
	if run == nil {
		fmt.Fprintf(std.Err, "%s: not a program of this image\n", name)
		return 127
	}
	if err := run(args[1:], std); err != nil {
		if status, ok := errors.AsType[exitStatus](err); ok {
			return int(status)
		}
		fmt.Fprintf(std.Err, "%s: %v\n", name, err)
		if errors.Is(err, errUsage) {
			return statusUsage
		}
		return 1
	}
	return 0
}

// invocation is sh's command line: sh [-ceilux...] [-o option] [script [arg...]].
type invocation struct {
	options []string // for the interpreter
	command bool     // -c: the first operand is the program
	args    []string
}

func parseShell(args []string) (invocation, error) {
	var in invocation
	for len(args) > 0 {
		a := args[0]
		if a == "--" {
			args = args[1:]
			break
		}
		if len(a) < 2 || a[0] != '-' {
			break
		}
		args = args[1:]
		for _, flag := range a[1:] {
			switch flag {
			case 'c':
				in.command = true
			case 'l', 's': // a login shell has no profile here; -s is the default
			case 'e', 'u', 'x', 'f', 'n', 'a':
				in.options = append(in.options, "-"+string(flag))
			case 'o':
				if len(args) == 0 {
					return in, errors.New("-o needs the name of an option")
				}
				in.options = append(in.options, "-o", args[0])
				args = args[1:]
			default:
				return in, fmt.Errorf("unknown option -%c", flag)
			}
		}
	}
	in.args = args
	if in.command && len(args) == 0 {
		return in, errors.New("-c needs a command")
	}
	return in, nil
}

func sh(ctx context.Context, args []string, std Std) int {
	in, err := parseShell(args)
	if err != nil {
		fmt.Fprintln(std.Err, "sh:", err)
		return statusUsage
	}
	var program io.Reader = std.In
	name, params := "sh", in.args
	switch {
	case in.command:
		program, params = strings.NewReader(in.args[0]), in.args[1:]
		if len(params) > 0 {
			name, params = params[0], params[1:]
		}
	case len(in.args) > 0:
		f, err := os.Open(in.args[0])
		if err != nil {
			fmt.Fprintln(std.Err, "sh:", err)
			return 127
		}
		defer f.Close()
		program, name, params = f, in.args[0], in.args[1:]
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(program, name)
	if err != nil {
		fmt.Fprintln(std.Err, "sh:", err)
		return statusUsage
	}
	r, err := interp.New(
		interp.StdIO(std.In, std.Out, std.Err),
		interp.Params(append(in.options, append([]string{"--"}, params...)...)...),
	)
	if err != nil {
		fmt.Fprintln(std.Err, "sh:", err)
		return statusUsage
	}
	err = r.Run(ctx, file)
	if status, ok := errors.AsType[interp.ExitStatus](err); ok {
		return int(status)
	}
	if err != nil {
		fmt.Fprintln(std.Err, "sh:", err)
		return 1
	}
	return 0
}
