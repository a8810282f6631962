package agents

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/plan"
)

// What a program that is an agent may bring with it. More belongs into the image.
const (
	maxAgentFiles = 2000
	maxAgentBytes = 64 << 20
)

// agentFiles reads a file or a directory of this machine, without .git, and works
// out a digest of names, modes and contents. Links that lead out of the directory
// are refused.
func agentFiles(at string) ([]engine.ProgramFile, string, error) {
	info, err := os.Stat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", &cli.Failure{Status: cli.StatusNotFound, Code: "file_not_found", Err: fmt.Errorf("read the agent's files %s: no such file or directory", at)}
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the agent's files: %w", err)
	}
	dir, start := at, "."
	if !info.IsDir() {
		dir, start = filepath.Dir(at), filepath.Base(at)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", fmt.Errorf("read the agent's files: %w", err)
	}
	defer func() { _ = root.Close() }() // what was only read loses nothing
	b := agentTree{root: root, sum: sha256.New()}
	if err := fs.WalkDir(root.FS(), filepath.ToSlash(start), b.visit); err != nil {
		return nil, "", cli.Usage("read the agent's files %s: %w", at, err)
	}
	if len(b.files) == 0 {
		return nil, "", cli.Usage("the agent's files %s: there are none", at)
	}
	return b.files, hex.EncodeToString(b.sum.Sum(nil)), nil
}

// agentTree is what has been read so far.
type agentTree struct {
	root  *os.Root
	files []engine.ProgramFile
	bytes int64
	sum   hash.Hash
}

func (b *agentTree) visit(name string, d fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case d.IsDir() && d.Name() == ".git":
		return fs.SkipDir
	case d.IsDir():
		return nil
	}
	info, err := b.root.Stat(name) // of what a link leads to
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file, nor a link to one", name)
	}
	b.bytes += info.Size()
	if len(b.files) >= maxAgentFiles || b.bytes > maxAgentBytes {
		return fmt.Errorf("more than %d files or %d MiB: what is large belongs into the image (--image)", maxAgentFiles, maxAgentBytes>>20)
	}
	f, err := b.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, info.Size()+1))
	if err != nil {
		return err
	}
	if int64(len(data)) != info.Size() {
		return fmt.Errorf("%s changes while it is read", name)
	}
	file := engine.ProgramFile{Path: path.Join(plan.FilesDir, name), Data: data, Mode: uint32(info.Mode().Perm())&0o555 | 0o444}
	fmt.Fprintf(b.sum, "%q %o %d\n", name, file.Mode, len(data))
	_, _ = b.sum.Write(data) // a hash never fails to write
	b.files = append(b.files, file)
	return nil
}

// WithFiles is a deployment with the digest of its files as they are now.
func WithFiles(a *cli.App, d plan.Deployment) (plan.Deployment, error) {
	if d.Command == nil || d.Command.Files == "" {
		return d, nil
	}
	_, digest, err := agentFiles(d.Command.Files)
	if err != nil {
		return d, err
	}
	c := *d.Command
	c.FilesDigest = digest
	d.Command = &c
	return d, nil
}
