package main

import (
	"context"
	"fmt"
	"os"

	"github.com/agentclash/agentclash/sandbox/guest"
	"github.com/agentclash/agentclash/sandbox/guest/shell"
)

func main() {
	if shell.Is(os.Args[0]) {
		os.Exit(shell.Main(context.Background(), os.Args, shell.Std{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	if len(os.Args) > 1 && os.Args[1] == guest.Subcommand {
		os.Exit(guest.Main(os.Stdin, os.Stdout, os.Stderr, os.Args[2:]))
	}
	fmt.Fprintln(os.Stderr, "guest: it is started by a sandbox")
	os.Exit(64)
}
