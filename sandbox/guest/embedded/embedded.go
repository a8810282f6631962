//go:build embed_guests

package embedded

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the guests
	"errors"
	"fmt"
	"io"
)

//go:embed guest-linux-amd64.gz
var amd64 []byte

//go:embed guest-linux-arm64.gz
var arm64 []byte

// Guest returns the static guest for a Linux machine of that architecture
// (amd64, arm64). One that is not carried is [errors.ErrUnsupported].
func Guest(arch string) ([]byte, error) {
	packed, ok := map[string][]byte{"amd64": amd64, "arm64": arm64}[arch]
	if !ok {
		return nil, errors.ErrUnsupported
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack the guest for %s: %w", arch, err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("unpack the guest for %s: %w", arch, err)
	}
	return b, nil
}
