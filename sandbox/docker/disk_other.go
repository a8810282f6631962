//go:build !linux && !darwin

package docker

import "errors"

func space(string) (free, all int64, err error) {
	return 0, 0, errors.ErrUnsupported
}
