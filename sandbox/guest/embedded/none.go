//go:build !embed_guests

package embedded

import "errors"

// Guest returns the static guest for a Linux machine of that architecture; this
// build carries none.
func Guest(string) ([]byte, error) { return nil, errors.ErrUnsupported }
