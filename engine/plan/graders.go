package plan

import (
	"path"
	"strings"
	"time"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/scoring"
)

// GraderSlack is how much longer than a command's own time its box may live,
// so that there is time to start and to end it.
const GraderSlack = 30 * time.Second

// GraderTimeout is how long a test command may take; scoring fills the default
// in.
func GraderTimeout(g scoring.Grader) time.Duration {
	return time.Duration(*g.Config.TimeoutMS) * time.Millisecond
}

// GraderDir is where a test command runs: the captured file's directory, and
// the workspace's root for everything in the workspace (scoring.md 4.3).
func GraderDir(target string) string {
	dir := path.Dir(target)
	if dir == "." || dir == "/" || dir == sandbox.Workspace || strings.HasPrefix(dir, sandbox.Workspace+"/") {
		return sandbox.Workspace
	}
	return dir
}
