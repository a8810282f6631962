package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/scoring"
)

// What captures may take (scoring.md 4.2).
const (
	maxCaptureBytes  = 1 << 20  // of one file, unless its check says less or more
	maxCapturesBytes = 10 << 20 // of one trial
	maxListedEntries = 10000
	maxNeighbours    = 100_000  // entries looked through for one name
	maxGraderOutput  = 64 << 10 // head and tail of each stream
)

// verify collects what the agent left: it stops every process of the agent,
// stages the graders' own files, runs the code_execution commands, then takes
// the captures. A trial the agent already failed is verified as well, for the
// record and for its dimensions.
func (a *attempt) verify(ctx context.Context, agentEnd ending) ending {
	if a.box == nil {
		return ending{}
	}
	if err := a.box.Quiesce(ctx); err != nil {
		return a.verifyFailed(ctx, agentEnd, fmt.Errorf("stop the agent's processes: %w", err))
	}
	a.stateEgress() // what comes after it is the graders'
	if lost := a.stateVault(ctx); lost.fault != faultNone {
		return lost
	}
	for _, f := range a.run.plan.Source.GraderFiles(a.kase) {
		err := a.box.WriteFile(ctx, f.Path, f.Data)
		if missing(err) && agentEnd.fault == faultNone {
			// what stands in the way can only be the agent's: staging ran before it
			return byAgent("blocked_graders", "the graders' file %s cannot be put in its place: %w", f.Path, err)
		}
		if err != nil {
			return a.verifyFailed(ctx, agentEnd, fmt.Errorf("stage %s for the graders: %w", f.Path, err))
		}
	}
	blocked := ending{}
	for _, g := range a.run.plan.Scorer.Graders() {
		run, err := a.grade(ctx, g)
		if err != nil {
			return a.verifyFailed(ctx, agentEnd, fmt.Errorf("run the tests of %q: %w", g.Key, err))
		}
		if run.ExecutionError != "" && plan.GraderDir(g.Check.Path) == sandbox.Workspace && agentEnd.fault == faultNone {
			// sh started in the workspace before the agent was there
			blocked = byAgent("blocked_graders", "the tests of %s cannot be started: %s", g.Key, run.ExecutionError)
		}
	}
	if err := a.capture(ctx); err != nil {
		return a.verifyFailed(ctx, agentEnd, err)
	}
	return blocked
}

// canGrade sees that the image has the shell that runs test commands, while
// nobody but the image can be the reason why it has not.
func (a *attempt) canGrade(ctx context.Context) error {
	if len(a.run.plan.Scorer.Graders()) == 0 {
		return nil
	}
	res, err := a.box.Exec(ctx, sandbox.Command{Argv: []string{"sh", "-c", ":"}, Timeout: plan.GraderSlack})
	if err == nil && res.StartError != "" {
		err = &sandbox.BoxError{Kind: sandbox.Image, Err: fmt.Errorf("the image cannot run sh, which runs the tests of this pack (%s); name one that has it with --image", res.StartError)}
	}
	return err
}

// verifyFailed: a box that the agent broke itself stays the agent's failure.
// Otherwise the evidence is incomplete, and the box's error says whose fault
// that is, whatever the agent did before.
func (a *attempt) verifyFailed(ctx context.Context, agentEnd ending, err error) ending {
	if end, over := halted(ctx); over {
		return end
	}
	if agentEnd.fault == faultAgent && agentEnd.stop == stopSandbox {
		return ending{}
	}
	return a.lost(ctx, phaseVerify, err)
}

// grade runs one code_execution command. What the command does, failing to
// start included, is evidence; only a broken box is an error.
func (a *attempt) grade(ctx context.Context, g scoring.Grader) (scoring.CodeRun, error) {
	timeout := plan.GraderTimeout(g)
	command := a.kase.Render(g.Config.TestCommand)
	run := scoring.CodeRun{
		ValidatorKey: g.Key, Target: g.Target, TargetPath: g.Check.Path, TestCommand: command,
		TimeoutMS: timeout.Milliseconds(),
	}
	res, err := a.box.Exec(ctx, sandbox.Command{
		Argv: []string{"sh", "-lc", command}, Dir: plan.GraderDir(g.Check.Path), Timeout: timeout,
		Env:       map[string]string{"HOME": graderHome(a.trial.ID, g.Key)},
		HeadBytes: maxGraderOutput, TailBytes: maxGraderOutput,
	})
	if err != nil {
		return run, err
	}
	run.Stdout, run.Stderr = event.ValidText(res.Stdout.Text), event.ValidText(res.Stderr.Text)
	run.TimedOut, run.Limit = res.TimedOut, res.Limit
	if res.StartError != "" {
		run.ExecutionError = res.StartError
	} else if !res.TimedOut {
		run.ExitCode = &res.ExitCode
	}
	a.log.emitAs(event.SourceGrader, event.CodeExecuted, run)
	// what the tests left running must not touch what is captured next
	return run, a.box.Quiesce(ctx)
}

// graderHome is the home directory of a test command: a new one for each, of a
// name that nothing in the box could have worked out before. A login shell reads
// what it finds there, and what it would find in the agent's is the agent's.
func graderHome(trialID, validatorKey string) string {
	return fmt.Sprintf("/tmp/home-%x", sha256.Sum256([]byte(trialID+"/"+validatorKey)))
}

// capture takes the post_execution_checks in declared order.
func (a *attempt) capture(ctx context.Context) error {
	left := int64(maxCapturesBytes)
	for _, c := range a.run.plan.Spec.PostExecutionChecks {
		var err error
		if c.Type == scoring.DirectoryListing {
			err = a.listDirectory(ctx, c)
		} else {
			left, err = a.captureFile(ctx, c, left)
		}
		if err != nil {
			return fmt.Errorf("capture %q: %w", c.Key, err)
		}
	}
	return nil
}

// captureFile takes one file. Each file is charged with its full size, so that
// a few huge ones cannot crowd a store.
func (a *attempt) captureFile(ctx context.Context, c scoring.PostExecutionCheck, left int64) (int64, error) {
	limit := c.MaxSizeBytes
	if limit == 0 {
		limit = maxCaptureBytes
	}
	limit = max(min(limit, left), 0)
	captured := scoring.CapturedFile{Key: c.Key, Path: c.Path}
	f, err := a.box.ReadFile(ctx, c.Path, limit)
	switch {
	case missing(err):
		if captured.Exists, captured.Unread, err = a.unread(ctx, c.Path, err); err != nil {
			return left, err
		}
	case err != nil:
		return left, err
	default:
		captured.Exists, captured.Size = true, f.Size
		captured.Content = event.ValidText(string(f.Data))
		captured.Truncated = int64(len(f.Data)) < f.Size
		left -= f.Size
	}
	a.log.emitAs(event.SourceGrader, event.FileCaptured, captured)
	return left, nil
}

func (a *attempt) listDirectory(ctx context.Context, c scoring.PostExecutionCheck) error {
	listed := scoring.CapturedDirectory{Key: c.Key, Path: c.Path, Entries: []scoring.DirectoryEntry{}}
	l, err := a.box.List(ctx, c.Path, c.Recursive, maxListedEntries)
	listed.Exists, listed.Truncated = err == nil, l.Truncated
	if missing(err) {
		listed.Exists, listed.Unread, err = a.unread(ctx, c.Path, err)
	}
	if err != nil {
		return err
	}
	for _, e := range l.Entries {
		listed.Entries = append(listed.Entries, scoring.DirectoryEntry{Path: e.Path, Size: e.Size, IsDir: e.Dir})
	}
	a.log.emitAs(event.SourceGrader, event.DirListed, listed)
	return nil
}

// unread says whether there is anything at a path that reading or listing failed
// at with err, and why it cannot be had. Locking a thing, or putting another in
// its place, is no way to make it not exist: what cannot be told counts as there,
// but for a link to nothing behind more than maxNeighbours other names.
func (a *attempt) unread(ctx context.Context, at string, err error) (exists bool, why string, failed error) {
	abs, outside := sandbox.Resolve(at)
	switch {
	case outside != nil:
		return false, "", nil
	case !errors.Is(err, sandbox.ErrNotFound):
		return true, event.Clip(event.ValidText(err.Error()), maxReason), nil
	}
	// a link that leads to nothing is there as well, and its directory knows
	l, listErr := a.box.List(ctx, path.Dir(abs), false, maxNeighbours)
	switch {
	case broken(listErr):
		return false, "", listErr
	case errors.Is(listErr, sandbox.ErrNotFound) || errors.Is(listErr, sandbox.ErrOutside):
		return false, "", nil
	case listErr != nil:
		return true, event.Clip(event.ValidText(listErr.Error()), maxReason), nil
	}
	if slices.ContainsFunc(l.Entries, func(e sandbox.Entry) bool { return e.Path == abs }) {
		return true, event.Clip(event.ValidText(err.Error()), maxReason), nil
	}
	return false, "", nil
}

// missing says that the box is well but there is no such file to be had: the
// agent did not make it, made something else in its place, or locked it.
func missing(err error) bool { return err != nil && !broken(err) }

// broken says that a box failed, in contrast to what was asked of it.
func broken(err error) bool {
	var box *sandbox.BoxError
	return errors.As(err, &box) || errors.Is(err, sandbox.ErrClosed) || errors.Is(err, sandbox.ErrUnavailable) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
