package query

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// Subcommand is the argument that makes a binary the process that answers: its
// main calls [Main].
const Subcommand = "query-worker"

// Bounds of one question.
const (
	MaxData   = 64 << 20 // of the file, and of what belongs to it
	MaxQuery  = 64 << 10
	MaxOutput = 16 << 20
	MaxRows   = 10_000

	maxMemory = 768 << 20 // of the answering process, data included
	maxTime   = 10 * time.Second
	atOnce    = 2 // questions of one Runner
)

// The languages of a question.
const (
	JQ     = "jq"
	SQLite = "sqlite"
)

// Question is a query and what it is about.
type Question struct {
	Language string
	Query    string
	// Data is JSON documents, or a database file; WAL is the file's write-ahead
	// log, when it has one.
	Data, WAL []byte
}

// Answer is what came of a question.
type Answer struct {
	// Output is compact JSON: for jq one result a line, for SQL one array of
	// objects, a row a line.
	Output []byte
	Count  int // results or rows
	// Truncated says that there would have been more.
	Truncated bool
}

// Error is a question that has no answer, in words for who asked it.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func refuse(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Runner starts the processes that answer. It is safe for concurrent use.
type Runner struct {
	argv  []string
	time  time.Duration // of one question
	slots chan struct{}
}

// NewRunner makes a Runner of the command that becomes an answering process:
// a binary whose main knows [Subcommand], and whatever arguments it wants first.
func NewRunner(argv ...string) *Runner {
	return &Runner{argv: argv, time: maxTime, slots: make(chan struct{}, atOnce)}
}

// header goes before the bytes of a question.
type header struct {
	Language string `json:"language"`
	Query    string `json:"query"`
	Data     int    `json:"data"`
	WAL      int    `json:"wal"`
}

// reply goes before the bytes of an answer.
type reply struct {
	Error     string `json:"error,omitempty"`
	Output    int    `json:"output"`
	Count     int    `json:"count"`
	Truncated bool   `json:"truncated,omitempty"`
}

// Ask answers a question. An [*Error] is the asker's to read; another error is
// ctx's end, or a process that could not be started.
func (r *Runner) Ask(ctx context.Context, q Question) (Answer, error) {
	if len(q.Query) > MaxQuery {
		return Answer{}, refuse("the query is longer than %d bytes", MaxQuery)
	}
	if len(q.Data)+len(q.WAL) > MaxData {
		return Answer{}, refuse("the file is larger than %d MiB", MaxData>>20)
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	}
	limited, stop := context.WithTimeout(ctx, r.time)
	defer stop()
	out, said := &capped{max: MaxOutput + 4096}, &capped{max: 4096}
	err := r.start(limited, q, out, said)
	switch {
	case ctx.Err() != nil:
		return Answer{}, context.Cause(ctx)
	case limited.Err() != nil:
		return Answer{}, refuse("the query took longer than %s", r.time)
	}
	var started *exec.ExitError
	if err != nil && !errors.As(err, &started) {
		return Answer{}, fmt.Errorf("start the process that answers queries: %w", err)
	}
	return answer(out.b.Bytes(), started, said.b.String())
}

func (r *Runner) start(ctx context.Context, q Question, out, said io.Writer) error {
	head, err := json.Marshal(header{q.Language, q.Query, len(q.Data), len(q.WAL)})
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, r.argv[0], append(r.argv[1:len(r.argv):len(r.argv)], Subcommand)...)
	c.Args[0] = "agentclash" // whatever path leads to it: the built-in image's programs go by this name
	// nothing of ours; and a build with the race detector would end with a nap
	c.Env = []string{"GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0"}
	c.Stdin = io.MultiReader(bytes.NewReader(append(head, '\n')), bytes.NewReader(q.Data), bytes.NewReader(q.WAL))
	c.Stdout, c.Stderr = out, said
	c.WaitDelay = time.Second
	err = c.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // what it has said is judged by itself
	}
	return err
}

// outOfMemory is what a process says, whose memory ends before watch sees it. Two
// are of a thread whose stack has no room any more, and the last is of the Go runtime
// itself (goroutine 0), which is given nothing where it counts on its room.
var outOfMemory = regexp.MustCompile(`out of memory|cannot allocate memory|failed to allocate|pthread_create failed|failed to create new OS thread` +
	`|SIGSEGV: segmentation violation\nPC=[^\n]*\n\ngoroutine 0 `)

// answer reads what the process said. One that died has left no whole reply.
func answer(out []byte, exit *exec.ExitError, said string) (Answer, error) {
	line, rest, whole := bytes.Cut(out, []byte("\n"))
	var head reply
	if !whole || json.Unmarshal(line, &head) != nil || head.Output != len(rest) {
		if exit != nil && (exit.ExitCode() == statusMemory || outOfMemory.MatchString(said)) {
			return Answer{}, refuse("the query needs more memory than the %d MiB it may have", maxMemory>>20)
		}
		return Answer{}, refuse("the query could not be worked out: it, or the file, brought down the process that answers it")
	}
	if head.Error != "" {
		return Answer{}, &Error{head.Error}
	}
	return Answer{Output: rest, Count: head.Count, Truncated: head.Truncated}, nil
}

// capped keeps the first bytes of a stream and swallows the rest.
type capped struct {
	b   bytes.Buffer
	max int
}

func (c *capped) Write(p []byte) (int, error) {
	c.b.Write(p[:min(len(p), c.max-c.b.Len())])
	return len(p), nil
}

// output gathers an answer up to MaxOutput.
type output struct {
	Answer
	buf bytes.Buffer
}

// room says whether so many more bytes fit; once they do not, the answer is
// truncated.
func (o *output) room(n int) bool {
	if o.buf.Len()+n > MaxOutput {
		o.Truncated = true
	}
	return !o.Truncated
}

// send writes an answer, or why there is none.
func send(w io.Writer, o *output, err error) error {
	head := reply{Output: o.buf.Len(), Count: o.Count, Truncated: o.Truncated}
	if err != nil {
		head = reply{Error: clip(err.Error())}
		o.buf.Reset()
	}
	line, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return err
	}
	_, err = o.buf.WriteTo(w)
	return err
}

// clip bounds a message that may repeat the query or the data.
func clip(s string) string {
	const most = 2000
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
