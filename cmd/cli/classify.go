package cli

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/filelock"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/store"
)

// Classify gives an error its status and code where the command that met it
// did not.
func Classify(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		whole := *f
		whole.Err = err
		return &whole
	}
	for _, row := range []struct {
		is     error
		status int
		code   string
		next   string
	}{
		{engine.ErrInterrupted, StatusInterrupted, "aborted", ""},
		{context.Canceled, StatusInterrupted, "aborted", ""},
		{store.ErrNotFound, StatusNotFound, "not_found", "agentclash run list"},
		{pack.ErrNotFound, StatusNotFound, "not_found", ""},
		{pack.ErrNotFile, StatusUsage, "invalid_argument", ""},
		{syscall.ENOTDIR, StatusUsage, "invalid_argument", ""},
		{syscall.EISDIR, StatusUsage, "invalid_argument", ""},
		{store.ErrConflict, StatusUsage, "conflict", ""},
		{store.ErrOwned, StatusUsage, "conflict", "wait for it, or agentclash run cancel RUN"},
		{store.ErrLocked, StatusTryAgain, "store_locked", ""},
		{filelock.ErrHeld, StatusTryAgain, "store_locked", ""},
		{store.ErrNewer, StatusUsage, "store_newer", "install a newer agentclash, or set AGENTCLASH_HOME to another directory"},
		{store.ErrReadOnly, StatusNoPermission, "permission_denied", "make the directory writable, or set AGENTCLASH_HOME to another one"},
		{syscall.ENOSPC, StatusTryAgain, "disk_full", "make room, then run the command again: nothing that was finished is lost"},
		{store.ErrFull, StatusTryAgain, "disk_full", "make room, then run the command again: nothing that was finished is lost"},
		{store.ErrCorrupt, StatusUnavailable, "store_damaged", "restore a backup, or set AGENTCLASH_HOME to another directory"},
		{sandbox.ErrUnavailable, StatusUnavailable, "docker_unavailable", "agentclash doctor"},
		{fs.ErrPermission, StatusNoPermission, "permission_denied", ""},
		{fs.ErrNotExist, StatusNotFound, "file_not_found", ""},
	} {
		if errors.Is(err, row.is) {
			return &Failure{Status: row.status, Code: row.code, Err: err, Next: row.next}
		}
	}
	return classifyType(err)
}

func classifyType(err error) *Failure {
	var several *store.AmbiguousError
	if errors.As(err, &several) {
		return &Failure{Status: StatusUsage, Code: "ambiguous", Err: err, Next: "use a longer part of the id"}
	}
	switch provider.CodeOf(err) {
	case provider.Auth:
		return &Failure{Status: StatusNoPermission, Code: "auth", Err: err}
	case provider.RateLimit, provider.Unavailable, provider.Timeout:
		return &Failure{Status: StatusTryAgain, Code: "request_failed", Err: err}
	}
	return &Failure{Status: StatusError, Code: "command_failed", Err: err}
}

// JoinFailures keeps the status and hint of the first failure.
func JoinFailures(errs []error) error {
	var first *Failure
	if len(errs) == 1 || !errors.As(errs[0], &first) {
		return errors.Join(errs...)
	}
	all := *first
	all.Err = errors.Join(errs...)
	return &all
}
