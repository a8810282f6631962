// Command agentclash says whether an AI agent is still good enough to ship.
package main

import (
	"os"

	"github.com/agentclash/agentclash/cmd"
	"github.com/agentclash/agentclash/cmd/cli"
)

func main() { os.Exit(cmd.Main(cli.System(), os.Args[1:])) }
