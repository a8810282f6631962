package cmd

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/store"
)

// classify gives an error its status and code where the command that met it
// did not.
func classify(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		whole := *f
		whole.err = err
		return &whole
	}
	for _, row := range []struct {
		is     error
		status int
		code   string
		next   string
	}{
		{engine.ErrInterrupted, statusInterrupted, "aborted", ""},
		{context.Canceled, statusInterrupted, "aborted", ""},
		{store.ErrNotFound, statusNotFound, "not_found", "agentclash run list"},
		{pack.ErrNotFound, statusNotFound, "not_found", ""},
		{pack.ErrNotFile, statusUsage, "invalid_argument", ""},
		{syscall.ENOTDIR, statusUsage, "invalid_config", "set AGENTCLASH_HOME to a directory"},
		{syscall.EISDIR, statusUsage, "invalid_argument", ""},
		{store.ErrConflict, statusUsage, "conflict", ""},
		{store.ErrOwned, statusUsage, "conflict", "wait for it, or agentclash run cancel RUN"},
		{store.ErrLocked, statusTryAgain, "store_locked", ""},
		{store.ErrNewer, statusUsage, "store_newer", "install a newer agentclash, or set AGENTCLASH_HOME to another directory"},
		{store.ErrReadOnly, statusNoPermission, "permission_denied", "make the directory writable, or set AGENTCLASH_HOME to another one"},
		{syscall.ENOSPC, statusTryAgain, "disk_full", "make room, then run the command again: nothing that was finished is lost"},
		{store.ErrFull, statusTryAgain, "disk_full", "make room, then run the command again: nothing that was finished is lost"},
		{store.ErrCorrupt, statusUnavailable, "store_damaged", "restore a backup, or set AGENTCLASH_HOME to another directory"},
		{sandbox.ErrUnavailable, statusUnavailable, "docker_unavailable", "agentclash doctor"},
		{fs.ErrPermission, statusNoPermission, "permission_denied", ""},
		{fs.ErrNotExist, statusNotFound, "file_not_found", ""},
	} {
		if errors.Is(err, row.is) {
			return &failure{status: row.status, code: row.code, err: err, next: row.next}
		}
	}
	return classifyType(err)
}

func classifyType(err error) *failure {
	var several *store.AmbiguousError
	if errors.As(err, &several) {
		return &failure{status: statusUsage, code: "ambiguous", err: err, next: "use a longer part of the id"}
	}
	switch provider.CodeOf(err) {
	case provider.Auth:
		return &failure{status: statusNoPermission, code: "auth", err: err}
	case provider.RateLimit, provider.Unavailable, provider.Timeout:
		return &failure{status: statusTryAgain, code: "request_failed", err: err}
	}
	return &failure{status: statusError, code: "command_failed", err: err}
}

// joinFailures keeps the status and hint of the first failure.
func joinFailures(errs []error) error {
	var first *failure
	if len(errs) == 1 || !errors.As(errs[0], &first) {
		return errors.Join(errs...)
	}
	all := *first
	all.err = errors.Join(errs...)
	return &all
}
