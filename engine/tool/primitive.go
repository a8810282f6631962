package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/tool/query"
	"github.com/agentclash/agentclash/sandbox"
)

// What a tool may return and take.
const (
	maxMessage     = 4 << 10
	maxReadBytes   = 64 << 10 // of one read_file result
	maxFileBytes   = 16 << 20 // readable through read_file at all
	maxListEntries = 2000
	maxExecStream  = 16 << 10 // head and tail of stdout and stderr each
	execTimeout    = 120 * time.Second
	maxContent     = 256 << 10 // of any result
)

// workplace is where a call does its work.
type workplace struct {
	box     sandbox.Session
	roots   sandbox.Roots
	tool    string
	queries *query.Runner
	network Network
}

// primitive is the behaviour of a built-in tool. Its error is turned into text
// for the model unless it ends the box.
type primitive func(ctx context.Context, at workplace, args json.RawMessage) (Result, error)

// primitives gives each built-in tool its behaviour.
var primitives = map[string]primitive{
	Submit:         submit,
	"read_file":    readFile,
	"write_file":   writeFile,
	"list_files":   listFiles,
	"search_files": searchFiles,
	"search_text":  searchText,
	"query_json":   queryJSON,
	"query_sql":    querySQL,
	"http_request": httpRequest,
	"run_tests":    runTests,
	"build":        build,
	"exec":         execute,
}

func submit(_ context.Context, _ workplace, raw json.RawMessage) (Result, error) {
	var args struct {
		Answer string `json:"answer"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return Result{}, err
	}
	if strings.TrimSpace(args.Answer) == "" {
		return failure("submit: the answer is empty; call submit with the final answer"), nil
	}
	r, err := success(map[string]bool{"submitted": true})
	r.Answer = &args.Answer
	return r, err
}

func readFile(ctx context.Context, at workplace, raw json.RawMessage) (Result, error) {
	var args struct {
		Path   string `json:"path"`
		Offset int64  `json:"offset"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return Result{}, err
	}
	path, err := at.path(args.Path)
	if err != nil {
		return Result{}, err
	}
	f, err := at.box.ReadFile(ctx, path, min(args.Offset, maxFileBytes)+maxReadBytes)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", args.Path, err)
	}
	data := f.Data[min(args.Offset, int64(len(f.Data))):]
	out := struct {
		Path       string `json:"path"`
		Content    string `json:"content"`
		Truncated  bool   `json:"truncated,omitempty"`
		TotalBytes int64  `json:"total_bytes,omitempty"`
		NextOffset int64  `json:"next_offset,omitempty"`
	}{Path: strings.TrimSpace(args.Path), Content: strings.ToValidUTF8(string(data), "\uFFFD")}
	if end := args.Offset + int64(len(data)); end < f.Size {
		out.Truncated, out.TotalBytes, out.NextOffset = true, f.Size, end
	}
	return success(out)
}

func writeFile(ctx context.Context, at workplace, raw json.RawMessage) (Result, error) {
	var args struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return Result{}, err
	}
	path, err := at.path(args.Path)
	if err != nil {
		return Result{}, err
	}
	if err := at.box.WriteFile(ctx, path, []byte(args.Content)); err != nil {
		return Result{}, fmt.Errorf("%s: %w", args.Path, err)
	}
	return success(struct {
		Path    string `json:"path"`
		Written bool   `json:"written"`
		Bytes   int    `json:"bytes"`
	}{strings.TrimSpace(args.Path), true, len(args.Content)})
}

func listFiles(ctx context.Context, at workplace, raw json.RawMessage) (Result, error) {
	var args struct {
		Prefix string `json:"prefix"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return Result{}, err
	}
	path, err := at.path(args.Prefix)
	if err != nil {
		return Result{}, err
	}
	listing, err := at.box.List(ctx, path, true, maxListEntries)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", args.Prefix, err)
	}
	type file struct {
		Path string `json:"path"`
		Size int64  `json:"size"`
	}
	out := struct {
		Prefix    string `json:"prefix"`
		Files     []file `json:"files"`
		Truncated bool   `json:"truncated,omitempty"`
		Note      string `json:"note,omitempty"`
	}{Prefix: args.Prefix, Files: []file{}, Truncated: listing.Truncated}
	if out.Truncated {
		out.Note = "there is more: list a directory further down"
	}
	for _, e := range listing.Entries {
		if !e.Dir && !e.Symlink {
			out.Files = append(out.Files, file{e.Path, e.Size})
		}
	}
	return success(out)
}

func execute(ctx context.Context, at workplace, raw json.RawMessage) (Result, error) {
	var args struct {
		Command     []string          `json:"command"`
		Dir         string            `json:"working_directory"`
		Environment map[string]string `json:"environment"`
		Timeout     int               `json:"timeout_seconds"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return Result{}, err
	}
	c := sandbox.Command{
		Argv: args.Command, Dir: at.dir(args.Dir), Env: maps.Clone(args.Environment), Timeout: execTimeout,
		HeadBytes: maxExecStream, TailBytes: maxExecStream,
	}
	if args.Timeout > 0 {
		c.Timeout = time.Duration(args.Timeout) * time.Second
	}
	res, err := at.box.Exec(ctx, c)
	if errors.Is(err, sandbox.ErrNoProcess) {
		return noProcess(at.tool, err), nil
	}
	if err != nil {
		return Result{}, err
	}
	return execResult(res, c.Timeout)
}

// noProcess says that a box runs no programs.
func noProcess(tool string, err error) Result {
	r := failure("%s is not available in this runtime: %v", tool, err)
	r.Origin = OriginPolicy
	return r
}

// notStarted says why a program could not be started.
func notStarted(what string, res sandbox.Result) Result {
	r := failure("%s: %s", what, res.StartError)
	r.Limit = res.Limit
	return r.limited()
}

func execResult(res sandbox.Result, timeout time.Duration) (Result, error) {
	if res.StartError != "" {
		return notStarted("exec", res), nil
	}
	out := struct {
		ExitCode        int    `json:"exit_code"`
		Stdout          string `json:"stdout"`
		Stderr          string `json:"stderr"`
		TimedOut        string `json:"timed_out,omitempty"`
		OutOfMemory     bool   `json:"out_of_memory,omitempty"`
		OutputLimit     bool   `json:"killed_for_endless_output,omitempty"`
		Limit           string `json:"limit,omitempty"`
		StdoutBytes     int64  `json:"stdout_bytes,omitempty"` // when cut
		StderrBytes     int64  `json:"stderr_bytes,omitempty"`
		OutputTruncated bool   `json:"output_truncated,omitempty"`
		Note            string `json:"note,omitempty"`
	}{
		ExitCode: res.ExitCode, OutOfMemory: res.OutOfMemory, OutputLimit: res.OutputLimit, Limit: res.Limit,
		Stdout: strings.ToValidUTF8(res.Stdout.Text, "\uFFFD"), Stderr: strings.ToValidUTF8(res.Stderr.Text, "\uFFFD"),
		OutputTruncated: res.Stdout.Truncated || res.Stderr.Truncated,
	}
	if out.OutputTruncated {
		out.StdoutBytes, out.StderrBytes = res.Stdout.Bytes, res.Stderr.Bytes
		out.Note = "the middle is left out: to see it, send the output to a file and read that in pieces"
	}
	if res.TimedOut {
		out.TimedOut = fmt.Sprintf("killed after %s", timeout)
	}
	r, err := success(out)
	r.Limit = res.Limit
	if res.ExitCode != 0 || res.TimedOut {
		r.IsError, r.Origin = true, OriginPrimitive
	}
	return r, err
}
