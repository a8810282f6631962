package guest

import (
	"context"
	"fmt"
	"slices"
)

// Bind makes directories, with those above them, and where narrow is set
// prepares for bound calls: below top these can read what is below read and
// write, and write what is below write; elsewhere nothing changes. It is done
// once in a guest's life, before any program that might stand in its way.
// ErrUnbound: the kernel cannot do it.
func (c *Client) Bind(ctx context.Context, dirs []string, narrow bool, top string, read, write []string) error {
	req := bindRequest{Narrow: narrow, Top: []byte(top)}
	for _, list := range []struct {
		from []string
		to   *[][]byte
	}{{dirs, &req.Dirs}, {read, &req.Read}, {write, &req.Write}} {
		for _, dir := range list.from {
			if err := checkPath(dir); err != nil {
				return err
			}
			*list.to = append(*list.to, []byte(dir))
		}
	}
	req.Dirs = slices.Concat(req.Dirs, req.Read, req.Write)
	if _, err := c.roundTrip(ctx, request{kindBind, req, nil, nil, c.stall()}); err != nil {
		return fmt.Errorf("bind the box: %w", err)
	}
	return nil
}

// Bound are the calls of a client that Bind has prepared for. They are those of
// [Client], and can have ErrBounds for an error.
type Bound struct{ c *Client }

// Bound returns the client's bound calls.
func (c *Client) Bound() Bound { return Bound{c} }

// ReadFile is [Client.ReadFile].
func (b Bound) ReadFile(ctx context.Context, name string, limit int64) (File, error) {
	return b.c.readFile(ctx, name, limit, true)
}

// WriteFile is [Client.WriteFile].
func (b Bound) WriteFile(ctx context.Context, name string, data []byte, mode uint32) error {
	return b.c.writeFile(ctx, name, data, mode, true)
}

// List is [Client.List].
func (b Bound) List(ctx context.Context, dir string, recursive bool, limit int) (Listing, error) {
	return b.c.list(ctx, dir, recursive, limit, true)
}

// Exec is [Client.Exec].
func (b Bound) Exec(ctx context.Context, cmd Command) (Result, error) {
	return b.c.exec(ctx, cmd, true)
}
