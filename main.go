// Command agentclash says whether an AI agent is still good enough to ship.
package main

import (
	"os"

	"github.com/agentclash/agentclash/cmd"
)

func main() { os.Exit(cmd.Main(cmd.System(), os.Args[1:])) }
