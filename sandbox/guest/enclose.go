package guest

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// EncloseFlag is what alone follows Subcommand for a guest that makes its own
// box: on a machine of which it is root and that is given to nobody else.
const EncloseFlag = "--enclose"

// ExitEnclose is the exit status of a guest that cannot make its box; its last
// words say why.
const ExitEnclose = 69

// NoMemory is what the last words of such a guest hold when the kernel has killed
// its box for want of memory: its exit status is that of the signal, 137.
const NoMemory = "the machine's memory is used up"

// Enclosure is the box that such a guest makes before it serves: namespaces of
// its own for processes, mounts, network, hosts' names and shared memory; no
// interface but lo; a root that cannot be written to; file systems in memory,
// of a fixed size, at Workspace, /tmp, /var/tmp, /run and /dev/shm; a user who
// is not root, without capabilities or a way to get any.
type Enclosure struct {
	Env            map[string]string // beside it, of the machine's there is PATH and LANG
	Workspace      string            // the directory a program starts in
	WorkspaceBytes int64             // of its file system; 0: 40 % of the machine's memory, 512 MiB at most
	PIDs           int64             // processes and threads of the box
	OpenFiles      int64             // of one process
	FileBytes      int64             // of one file; 0: as many as there is room for
	ID             int               // of the box's user and group
	Lifetime       time.Duration     // 0: until its host is done
}

// enclosing is an Enclosure on the wire. Values are bytes; see message.go.
type enclosing struct {
	Env            [][]byte `json:"env"`
	Workspace      string   `json:"workspace"`
	WorkspaceBytes int64    `json:"workspace_bytes"`
	PIDs           uint64   `json:"pids"`
	OpenFiles      uint64   `json:"open_files"`
	FileBytes      uint64   `json:"file_bytes"`
	ID             int      `json:"id"`
	LifetimeMS     int64    `json:"lifetime_ms"`
}

// Send writes the enclosure to a guest's standard input, before anything else
// is said to it.
func (e Enclosure) Send(w io.Writer) error {
	x := enclosing{
		Workspace: e.Workspace, WorkspaceBytes: e.WorkspaceBytes, PIDs: uint64(max(e.PIDs, 0)), OpenFiles: uint64(max(e.OpenFiles, 0)),
		FileBytes: uint64(max(e.FileBytes, 0)),
		ID:        e.ID, LifetimeMS: e.Lifetime.Milliseconds(),
	}
	for _, k := range slices.Sorted(maps.Keys(e.Env)) {
		x.Env = append(x.Env, []byte(k+"="+e.Env[k]))
	}
	b, err := json.Marshal(x)
	if err != nil {
		return err
	}
	if len(b) > maxPayload {
		return fmt.Errorf("an environment of %d bytes: at most about 700 KiB go into a sandbox", len(b))
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

// readEnclosing reads what Send wrote, and not a byte more.
func readEnclosing(r io.Reader) (enclosing, error) {
	var x enclosing
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return x, fmt.Errorf("read what box to make: %w", err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxPayload {
		return x, errors.New("what box to make is more than 1 MiB")
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return x, fmt.Errorf("read what box to make: %w", err)
	}
	if err := json.Unmarshal(b, &x); err != nil {
		return x, fmt.Errorf("read what box to make: %w", err)
	}
	return x, nil
}
