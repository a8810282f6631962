//go:build !linux

package guest

import (
	"fmt"
	"os"
)

// Main refuses: a box is a Linux box.
func Main(_, _, errs *os.File, _ []string) int {
	fmt.Fprintln(errs, "sandbox-agent: it runs inside Linux sandboxes only")
	return ExitUsage
}
