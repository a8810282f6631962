package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// The errors that callers tell apart; each is in a sentence for people.
var (
	ErrNoGit        = errors.New("the git program is not there")
	ErrNoRepository = errors.New("not in a git repository")
	ErrUnknownRef   = errors.New("unknown ref")
	ErrNoMergeBase  = errors.New("no common history")
	ErrBadRef       = errors.New("not a ref")
	ErrNotRoot      = errors.New("not the root of its repository")
)

// Root is the root of the repository that a directory is in: the nearest one
// upwards that has .git.
func Root(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is %w", dir, ErrNoRepository)
		}
	}
}

// Repository is a repository by its root.
type Repository struct {
	Root   string
	Getenv func(string) string
}

// Range is a change between two commits.
type Range struct {
	Base, Head, MergeBase string // commits
	// Files are the paths that differ between MergeBase and Head, from the root,
	// byte by byte as git has them: those that are gone too, and of a renamed file
	// both names.
	Files []string
}

// Changes is what head has changed since it parted from base.
func (r Repository) Changes(ctx context.Context, base, head string) (c Range, err error) {
	if top, err := r.line(ctx, "rev-parse", "--is-inside-work-tree"); err != nil {
		if errors.Is(err, ErrNoGit) {
			return c, err
		}
		return c, fmt.Errorf("%s: %w: %w", r.Root, ErrNoRepository, err)
	} else if top != "true" {
		return c, fmt.Errorf("%s: %w: it has no files", r.Root, ErrNoRepository)
	}
	if prefix, err := r.line(ctx, "rev-parse", "--show-prefix"); err != nil || prefix != "" {
		return c, errors.Join(fmt.Errorf("%s is %w", r.Root, ErrNotRoot), err)
	}
	if c.Base, err = r.commit(ctx, base); err != nil {
		return c, err
	}
	if c.Head, err = r.commit(ctx, head); err != nil {
		return c, err
	}
	if c.MergeBase, err = r.line(ctx, "merge-base", c.Base, c.Head); err != nil || c.MergeBase == "" {
		return c, r.parted(ctx, base, head)
	}
	out, err := r.run(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=none", c.MergeBase, c.Head, "--")
	if err != nil {
		return c, fmt.Errorf("list what changed from %s to %s: %w", base, head, err)
	}
	for _, name := range bytes.Split(out, []byte{0}) {
		if len(name) > 0 {
			c.Files = append(c.Files, string(name))
		}
	}
	return c, nil
}

// parted says why two commits have no common one here.
func (r Repository) parted(ctx context.Context, base, head string) error {
	if shallow, err := r.line(ctx, "rev-parse", "--is-shallow-repository"); err == nil && shallow == "true" {
		return fmt.Errorf("%s and %s: %w: the clone is shallow, and where they parted is not in it", base, head, ErrNoMergeBase)
	}
	return fmt.Errorf("%s and %s: %w: they are of two histories", base, head, ErrNoMergeBase)
}

// commit is the commit that a ref names. One that could be an option, or more than
// one ref, is refused.
func (r Repository) commit(ctx context.Context, ref string) (string, error) {
	if ref == "" || strings.HasPrefix(ref, "-") || strings.HasPrefix(ref, "^") || strings.ContainsAny(ref, "\x00\n\r \t") || strings.Contains(ref, "..") {
		return "", fmt.Errorf("%q is %w: name a branch, a tag or a commit", ref, ErrBadRef)
	}
	id, err := r.line(ctx, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	if err == nil && id != "" {
		return id, nil
	}
	if shallow, serr := r.line(ctx, "rev-parse", "--is-shallow-repository"); serr == nil && shallow == "true" {
		return "", fmt.Errorf("%w %q: the clone is shallow, and does not have it", ErrUnknownRef, ref)
	}
	return "", fmt.Errorf("%w %q: no branch, tag or commit of that name is in the clone", ErrUnknownRef, ref)
}

func (r Repository) line(ctx context.Context, args ...string) (string, error) {
	out, err := r.run(ctx, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// maxSaid is how much of git's complaint is shown, in bytes.
const maxSaid = 500

func (r Repository) run(ctx context.Context, args ...string) ([]byte, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoGit, err)
	}
	c := exec.CommandContext(ctx, program, append([]string{"-c", "core.fsmonitor=false"}, args...)...) //nolint:gosec // git, with arguments that were checked
	c.Dir, c.Env = r.Root, r.environment()
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		text := strings.TrimSpace(said.String())
		if len(text) > maxSaid {
			text = text[:maxSaid]
		}
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, text)
	}
	return out.Bytes(), nil
}

// kept are the variables that git gets. Those that would show it another
// repository, another index or other objects are not among them: a hook sets them.
var kept = []string{"PATH", "HOME", "XDG_CONFIG_HOME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "PROGRAMDATA", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR",
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"}

// maxSettings bounds what is passed on of GIT_CONFIG_COUNT.
const maxSettings = 100

func (r Repository) environment() []string {
	env := []string{"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1"}
	keep := func(name string) {
		if v := r.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range kept {
		keep(name)
	}
	n, _ := strconv.Atoi(r.Getenv("GIT_CONFIG_COUNT")) // what is no number is git's to refuse
	for i := range min(n, maxSettings) {
		keep("GIT_CONFIG_KEY_" + strconv.Itoa(i))
		keep("GIT_CONFIG_VALUE_" + strconv.Itoa(i))
	}
	return env
}
