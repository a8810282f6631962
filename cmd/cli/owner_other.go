//go:build !linux && !darwin && !windows

package cli

import "errors"

// startTime is not known on this system.
func startTime(int) (string, error) { return "", errors.ErrUnsupported }
