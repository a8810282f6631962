package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Names, paths and arguments travel as []byte: JSON strings cannot carry bytes
// that are no UTF-8, file names can.

type helloRequest struct {
	Version int   `json:"version"`
	IdleMS  int64 `json:"idle_ms"`
}

// Facts are what a guest says of its box when it is greeted. They are how the
// host learns what the engine really did.
type Facts struct {
	Version    int   `json:"version"`
	GuestBytes int64 `json:"guest_bytes"` // size of the guest's executable; 0 when unknown
	PID        int   `json:"pid"`
	UID        int   `json:"uid"`
	GID        int   `json:"gid"`
	// Interfaces are the network interfaces that are up, lo included.
	Interfaces []string `json:"interfaces"`
	CapEff     uint64   `json:"cap_eff"`
	NoNewPrivs bool     `json:"no_new_privs"`
	Seccomp    int      `json:"seccomp"` // 2: filtered
	// PIDsMax and MemoryMax are the box's cgroup limits; -1 is no limit, 0 not
	// readable.
	PIDsMax   int64 `json:"pids_max"`
	MemoryMax int64 `json:"memory_max"`
	// OpenFiles and FileBytes are what the kernel permits each process, -1 for
	// no limit; WorkspaceBytes is the size of the file system the guest was
	// started in.
	OpenFiles      int64 `json:"open_files"`
	FileBytes      int64 `json:"file_bytes"`
	WorkspaceBytes int64 `json:"workspace_bytes"`
}

type execRequest struct {
	Argv      [][]byte `json:"argv"`
	Env       [][]byte `json:"env,omitempty"` // KEY=value, over the guest's own
	Dir       []byte   `json:"dir,omitempty"`
	TimeoutMS int64    `json:"timeout_ms,omitempty"`
	Head      int      `json:"head"`
	Tail      int      `json:"tail"`
	HardCap   int64    `json:"hard_cap"`
	Stdin     int      `json:"stdin,omitempty"` // bytes that follow as DATA
	Bound     bool     `json:"bound,omitempty"` // here and below: see bindRequest
}

type readRequest struct {
	Path  []byte `json:"path"`
	Limit int64  `json:"limit"`
	Bound bool   `json:"bound,omitempty"`
}

type writeRequest struct {
	Path []byte `json:"path"`
	Size int64  `json:"size"` // bytes that follow as DATA
	Mode uint32 `json:"mode"` // for a file that does not exist yet

	Bound bool `json:"bound,omitempty"`
}

type listRequest struct {
	Path      []byte `json:"path"`
	Recursive bool   `json:"recursive"`
	Limit     int    `json:"limit"`
	Bound     bool   `json:"bound,omitempty"`
}

// bindRequest says what bound calls may reach; see [Client.Bind].
type bindRequest struct {
	Dirs   [][]byte `json:"dirs,omitempty"` // to be made
	Narrow bool     `json:"narrow,omitempty"`
	Top    []byte   `json:"top,omitempty"`
	Read   [][]byte `json:"read,omitempty"`
	Write  [][]byte `json:"write,omitempty"`
}

// done ends every call. Only the fields of its kind of call are set.
type done struct {
	Err *wireError `json:"err,omitempty"`

	Code       int    `json:"code,omitempty"`
	Signal     int    `json:"signal,omitempty"`
	TimedOut   bool   `json:"timed_out,omitempty"`
	OutputCap  bool   `json:"output_cap,omitempty"`
	OOM        bool   `json:"oom,omitempty"`
	PIDs       bool   `json:"pids,omitempty"`
	Full       []byte `json:"full,omitempty"`
	StartError string `json:"start_error,omitempty"`
	Stdout     int64  `json:"stdout,omitempty"` // bytes written by the program
	Stderr     int64  `json:"stderr,omitempty"`
	WallUS     int64  `json:"wall_us,omitempty"`

	Size      int64  `json:"size,omitempty"`
	Mode      uint32 `json:"mode,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`

	Left int `json:"left,omitempty"` // processes that outlived QUIESCE
	Port int `json:"port,omitempty"` // the proxy's
}

// wireError is an error of the box's file system.
type wireError struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

const (
	wireNotFound   = "not_found"
	wireNotRegular = "not_regular"
	wireNoParent   = "no_parent"
	wireNoSpace    = "no_space"
	wireFileSize   = "file_size"
	wireDenied     = "denied"
	wireBounds     = "bounds"
	wireUnbound    = "unbound"
	wireOther      = "other"
)

// The questions a caller asks of a file call's error.
var (
	ErrNotFound   = errors.New("no such file or directory")
	ErrNotRegular = errors.New("not a regular file")
	ErrNoSpace    = errors.New("no space left in the sandbox")
	ErrFileSize   = errors.New("the file is larger than a process may make one")
	// ErrDenied: the mode of the file, or of a directory above it, forbids it.
	ErrDenied = errors.New("permission denied")
	// ErrBounds: a bound call's bounds forbid it, and no mode does.
	ErrBounds = errors.New("outside the bounds of the box")
	// ErrUnbound: programs cannot be kept to directories here.
	ErrUnbound = errors.New("programs cannot be kept to directories")
	// ErrNoParent: the path leads through something that is no directory.
	ErrNoParent = errors.New("a parent is not a directory")
)

// maxErrorText bounds what an error may quote from inside the box.
const maxErrorText = 512

func (e *wireError) err() error {
	switch e.Kind {
	case wireNotFound:
		return ErrNotFound
	case wireNotRegular:
		return ErrNotRegular
	case wireNoSpace:
		return ErrNoSpace
	case wireFileSize:
		return ErrFileSize
	case wireDenied:
		return ErrDenied
	case wireBounds:
		return ErrBounds
	case wireUnbound:
		return fmt.Errorf("%w: %s", ErrUnbound, printable(clip(e.Text, maxErrorText)))
	case wireNoParent:
		return ErrNoParent
	}
	return errors.New(printable(clip(e.Text, maxErrorText)))
}

// decode reads one JSON value and nothing after it. What this version does not
// know it does not accept.
func decode(payload []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(payload))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("data after the message")
	}
	return nil
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// printable takes what would steer a terminal out of a text of the box's.
func printable(s string) string {
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return '?'
		}
		return r
	}, []byte(s)))
}
