package main

import (
	"context"
	"fmt"
	"os"

	"github.com/agentclash/agentclash/sandbox/guest"
	"github.com/agentclash/agentclash/sandbox/guest/shell"
)

// forge is set at link time to make a guest that is none; see forged.
var forge string

func main() { os.Exit(run(os.Args)) }

func run(args []string) int {
	if shell.Is(args[0]) {
		return shell.Main(context.Background(), args, shell.Std{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	}
	if len(args) > 1 && args[1] == guest.Subcommand {
		if forge != "" {
			return forged(args[2:])
		}
		return guest.Main(os.Stdin, os.Stdout, os.Stderr, args[2:])
	}
	if len(args) > 1 {
		return misbehave(args[1], args[2:])
	}
	fmt.Fprintln(os.Stderr, "agent: it is started by a sandbox")
	return 64
}

// forged is a guest that greets as it should, and whose next words are not its
// own: what a program would do that got hold of its standard output.
func forged(args []string) int {
	r, w, err := os.Pipe()
	if err != nil {
		return 1
	}
	go func() {
		buf := make([]byte, 64<<10)
		for n := 0; ; {
			m, err := r.Read(buf)
			if err != nil {
				return
			}
			if n++; n == 2 {
				_, _ = os.Stdout.Write([]byte("\x00\x00\x00\x02\x99\x00\x00\x00\x01hi"))
			}
			_, _ = os.Stdout.Write(buf[:m])
		}
	}()
	return guest.Main(os.Stdin, w, os.Stderr, args)
}
