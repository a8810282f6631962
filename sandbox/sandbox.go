package sandbox

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"
)

// Workspace is the root of everything an agent owns in a box.
const Workspace = "/workspace"

// Provider opens boxes. It is safe for concurrent use.
type Provider interface {
	// Open returns a fresh box that nothing else has used. The box lives
	// until Close, or until this process dies. A provider whose boxes run no
	// programs refuses a Network and Packages with ErrNoProcess.
	Open(ctx context.Context, spec Spec) (Session, error)
	// Describe says what boxes this provider opens for such a spec, for the
	// run's record. It gets ready what they all need, which can take long: an
	// image that is missing is pulled, Packages are installed. What Open would
	// refuse in every box it refuses as well. Labels and Network do not matter.
	Describe(ctx context.Context, spec Spec) (Description, error)
	// Close removes every box that is still open and what the provider keeps.
	Close(ctx context.Context) error
}

// Warmer is a Provider that can have boxes ready before they are opened. How
// many of them it starts, and when, is its own affair.
type Warmer interface {
	// Warm says that Open will be called with this spec, and has a box for that
	// call started meanwhile. Of spec.Network it matters only whether there is
	// one: Open's is the one that is used. A box that has not been opened when
	// ctx ends is removed. What goes wrong is Open's to say, which opens a box
	// in any case.
	Warm(ctx context.Context, spec Spec)
}

// Description is the provider's part of a run's record.
type Description struct {
	Kind    string `json:"kind"` // docker, scratch, memory
	Engine  string `json:"engine,omitempty"`
	Image   string `json:"image,omitempty"`    // as asked for
	ImageID string `json:"image_id,omitempty"` // what it resolved to
	// Packages are what Spec.Packages brought into the image, theirs and what
	// these need: "name=version ...", sorted.
	Packages string `json:"packages,omitempty"`
	// Note is one line for the user, such as a stand-in image; "" for none.
	Note string `json:"note,omitempty"`
}

// Spec is what a box must be.
type Spec struct {
	Labels Labels
	Env    map[string]string
	// Network answers programs in the box that use the network; nil: nobody
	// does.
	Network Network
	// NetworkPort is the port of the box's proxy; 0 is ProxyPort.
	NetworkPort int
	Limits      Limits
	// Packages are the names of Debian packages that the box has besides those of
	// its image. They are installed once, before a box is opened, and not in it.
	Packages []string
	// Roots are what Binder.Bind will be called with, where agents run programs:
	// Describe looks whether that can be.
	Roots Roots
	// Lifetime is when the box ends itself even if nobody closes it.
	Lifetime time.Duration
}

// Network is the only way out of a box, whose one interface is lo. It is called
// with each connection that a program makes to the HTTP proxy of the box, which
// is there only when there is a Network, and reads and answers what the program
// says: the box understands nothing of it. Several calls are made at once. ctx
// ends with the box, and the connection when the call returns or the box ends.
//
// Programs find the proxy by ProxyVariables. Env has precedence over these.
type Network func(ctx context.Context, conn net.Conn)

// ProxyPort is the port of a box's proxy, on 127.0.0.1, where nothing else is
// asked for.
const ProxyPort = 3128

// ProxyVariables are what programs look for in their environment before they
// use a proxy, which has this port.
func ProxyVariables(port int) map[string]string {
	at := "http://127.0.0.1:" + strconv.Itoa(port)
	vars := map[string]string{}
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy"} {
		vars[name], vars[strings.ToUpper(name)] = at, at
	}
	vars["no_proxy"] = "localhost,127.0.0.1,::1"
	vars["NO_PROXY"] = vars["no_proxy"]
	return vars
}

// Labels name the owner of a box, for clean-up and for people.
type Labels struct {
	RunID, TrialID, Agent, Case string
}

// Limits bound a box. Zero fields take DefaultLimits' values.
type Limits struct {
	MemoryBytes    int64
	NanoCPUs       int64
	PIDs           int64
	OpenFiles      int64 // of each process
	WorkspaceBytes int64
	OutputBytes    int64 // of one program, both streams together
	FileBytes      int64 // of each file; 0: whatever fits
}

// The names of limits, in Result.Limit and BoxError.Limit.
const (
	LimitMemory    = "memory"
	LimitPIDs      = "pids"
	LimitOpenFiles = "open_files"
	LimitWorkspace = "workspace_bytes"
	LimitOutput    = "output_bytes"
	LimitFile      = "file_bytes"
	LimitDisk      = "disk" // room elsewhere in the box, such as in /tmp
)

// WorkspaceShare is how much of a box's memory its workspace may take, in
// percent: what is written there is memory, and programs need some, too.
const WorkspaceShare = 40

// DefaultLimits are the limits of a box that asks for none.
func DefaultLimits() Limits {
	return Limits{
		MemoryBytes: 1280 << 20, NanoCPUs: 1e9, PIDs: 256, OpenFiles: 4096,
		WorkspaceBytes: 512 << 20, OutputBytes: 64 << 20,
	}
}

// Session is one open box. Calls may be concurrent. Paths are absolute, or
// relative to Workspace. After Close every call fails with ErrClosed.
type Session interface {
	// ID names the box for people: a container's id, a directory.
	ID() string
	// Exec runs a program. A command that fails, is killed or runs out of
	// time is a Result, not an error.
	Exec(ctx context.Context, c Command) (Result, error)
	// ReadFile reads a regular file, at most limit bytes of it from the
	// start. A missing file is ErrNotFound, anything else but a regular file
	// ErrNotRegular.
	ReadFile(ctx context.Context, path string, limit int64) (File, error)
	// WriteFile creates or replaces a file and its parents, at once: a reader
	// sees the old content or the new.
	WriteFile(ctx context.Context, path string, data []byte) error
	// List walks a directory, at most limit entries. A missing one is
	// ErrNotFound.
	List(ctx context.Context, dir string, recursive bool, limit int) (Listing, error)
	// Quiesce kills every process in the box but the box itself. Afterwards
	// only what the caller runs is running.
	Quiesce(ctx context.Context) error
	// Close removes the box. It may be called twice.
	Close(ctx context.Context) error
}

// Command is a program to run in a box.
type Command struct {
	Argv    []string
	Dir     string // "" is Workspace
	Env     map[string]string
	Stdin   []byte
	Timeout time.Duration // 0: until ctx ends
	// HeadBytes and TailBytes bound what is kept of each stream; the middle
	// is counted and dropped. Zero takes 512 KiB each.
	HeadBytes, TailBytes int
}

// AgentDir is where the files of a program that is the agent are: beside the
// workspace, so that nothing that looks at what was made there finds them.
const AgentDir = "/tmp/agentclash"

// Stager is met by sessions whose boxes can hold a program that is the agent.
type Stager interface {
	// Stage writes a file below AgentDir, with a mode: name is relative and clean.
	// It is called before any program is run.
	Stage(ctx context.Context, name string, data []byte, mode uint32) error
}

// Result is what a command did.
type Result struct {
	ExitCode       int // 128+signal when killed; -1 when it could not be started
	Signal         int // 0: ended by itself
	TimedOut       bool
	OutOfMemory    bool
	OutputLimit    bool // killed for writing more than the box allows
	Stdout, Stderr Output
	Elapsed        time.Duration
	StartError     string // why the program could not be started, "" when it was
	// Limit is the limit of the box that the program ran into, as far as can be
	// told, "" for none. Memory, pids and output are the kernel's and the box's
	// own words; for the others a program that failed is taken at its word.
	Limit string
}

// Output is a bounded stream: Text holds the head and the tail, with one line
// in between that says what was dropped.
type Output struct {
	Text      string
	Bytes     int64 // all that was written
	Truncated bool
}

// File is the content of a regular file.
type File struct {
	Data []byte // at most the limit asked for
	Size int64  // of the whole file
	Mode uint32
}

// Listing is a directory's content, sorted by path.
type Listing struct {
	Entries   []Entry
	Truncated bool
}

// Entry is one file or directory; Path is absolute.
type Entry struct {
	Path    string
	Size    int64
	Dir     bool
	Symlink bool
}
