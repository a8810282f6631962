package guest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
)

// File is what ReadFile found.
type File struct {
	Data []byte
	Size int64 // of the whole file
	Mode uint32
}

// ReadFile reads at most limit bytes of a regular file, following links. Its
// errors include ErrNotFound and ErrNotRegular.
func (c *Client) ReadFile(ctx context.Context, name string, limit int64) (File, error) {
	return c.readFile(ctx, name, limit, false)
}

func (c *Client) readFile(ctx context.Context, name string, limit int64, bound bool) (File, error) {
	if err := checkPath(name); err != nil {
		return File{}, err
	}
	limit = max(limit, 0)
	data := &sink{max: limit}
	d, err := c.roundTrip(ctx, request{kindRead, readRequest{[]byte(name), limit, bound}, nil, map[kind]*sink{kindBulk: data}, c.stall()})
	if err != nil {
		return File{}, err
	}
	return File{Data: data.data, Size: max(d.Size, int64(len(data.data))), Mode: d.Mode}, nil
}

// WriteFile creates or replaces a file, and the directories above it. Readers
// see the old content or the new. A file that exists keeps its mode, a link of
// that name is replaced. Its errors include ErrNotRegular,
// ErrNoParent and ErrNoSpace.
func (c *Client) WriteFile(ctx context.Context, name string, data []byte, mode uint32) error {
	return c.writeFile(ctx, name, data, mode, false)
}

func (c *Client) writeFile(ctx context.Context, name string, data []byte, mode uint32, bound bool) error {
	if err := checkPath(name); err != nil {
		return err
	}
	_, err := c.roundTrip(ctx, request{kindWrite, writeRequest{[]byte(name), int64(len(data)), mode, bound}, data, nil, c.stall()})
	return err
}

// Listing is what List found, sorted by path.
type Listing struct {
	Entries   []Entry
	Truncated bool
}

// List names what a directory holds, at most limit entries (MaxEntries at the
// most). Its errors include ErrNotFound, also for what is no directory.
func (c *Client) List(ctx context.Context, dir string, recursive bool, limit int) (Listing, error) {
	return c.list(ctx, dir, recursive, limit, false)
}

func (c *Client) list(ctx context.Context, dir string, recursive bool, limit int, bound bool) (Listing, error) {
	if err := checkPath(dir); err != nil {
		return Listing{}, err
	}
	limit = min(max(limit, 0), MaxEntries)
	data := &sink{max: maxListBytes + int64(limit+1)*entryHeader + 4096}
	d, err := c.roundTrip(ctx, request{kindList, listRequest{[]byte(dir), recursive, limit, bound}, nil, map[kind]*sink{kindBulk: data}, c.stall()})
	if err != nil {
		return Listing{}, err
	}
	entries, err := decodeEntries(data.data, limit)
	if err == nil {
		err = within(entries, dir)
	}
	if err != nil {
		c.fail(fmt.Errorf("%w: %w", ErrTampered, err))
		return Listing{}, c.Err()
	}
	return Listing{Entries: entries, Truncated: d.Truncated}, nil
}

func within(entries []Entry, dir string) error {
	prefix := strings.TrimSuffix(path.Clean(dir), "/") + "/"
	for _, e := range entries {
		if !strings.HasPrefix(e.Path, prefix) {
			return errors.New("a listing names what is elsewhere")
		}
	}
	return nil
}
