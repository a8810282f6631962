// Command agent is the guest on its own, as small as it gets: what the product's
// binary does inside a sandbox, for tests. Beside the guest and the programs of
// the built-in image it holds a few that misbehave on purpose.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/agentclash/agentclash/sandbox/guest"
	"github.com/agentclash/agentclash/sandbox/guest/shell"
)

func main() { os.Exit(run(os.Args)) }

func run(args []string) int {
	if shell.Is(args[0]) {
		return shell.Main(context.Background(), args, shell.Std{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	}
	if len(args) > 1 && args[1] == guest.Subcommand {
		return guest.Main(os.Stdin, os.Stdout, os.Stderr, args[2:])
	}
	if len(args) > 1 {
		return misbehave(args[1], args[2:])
	}
	fmt.Fprintln(os.Stderr, "agent: it is started by a sandbox")
	return 64
}
