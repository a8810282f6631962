package artifacts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// NewArtifact is agentclash artifact: files of people, beside runs or for packs.
func NewArtifact(a *cli.App) *cobra.Command {
	return cli.Group("artifact", "Keep files beside runs, and for packs", newArtifactUpload(a), newArtifactList(a), newArtifactGet(a), newArtifactDownload(a), newArtifactDelete(a))
}

// maxMetadata is how long an artifact's metadata may be.
const maxMetadata = 64 << 10

// artifactType is the form of an artifact's type.
var artifactType = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

type uploadOptions struct{ run, agent, kind, metadata, visibility string }

func newArtifactUpload(a *cli.App) *cobra.Command {
	var o uploadOptions
	c := &cobra.Command{
		Use: "upload FILE --type TYPE", Short: "Copy a file into the store, beside a run or for packs", Args: cli.ExactArgs("FILE"),
		Long: `Copy a file of at most 512 MiB into the store, for the workspace, a run or a run
agent. Its bytes are kept once, by their SHA-256, however often it is uploaded. A
pack's asset names it by its id as artifact_id (docs/packs.md); such a file may have
16 MiB.`,
		Example: `  agentclash artifact upload notes.txt --type notes
  agentclash artifact upload notes.txt --type notes --run latest --metadata '{"by": "me"}'`,
		RunE: func(c *cobra.Command, args []string) error { return runArtifactUpload(c.Context(), a, o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.kind, "type", "", "what it is, such as notes, dataset or screenshot")
	f.StringVar(&o.run, "run", "", "run that it is of")
	f.StringVar(&o.agent, "run-agent", "", "run agent that it is of, by label with --run, or by id")
	f.StringVar(&o.metadata, "metadata", "", "JSON object to keep with it; its "+selector.ArtifactName+" is the file's name unless it says another")
	f.StringVar(&o.visibility, "visibility", selector.WorkspaceVisibility, "workspace or private: a word that is kept, since a store has one user")
	return c
}

func (o uploadOptions) check(file string) (metadata json.RawMessage, err error) {
	var errs []error
	if !artifactType.MatchString(o.kind) {
		errs = append(errs, errors.New("--type is required: a word of small letters, digits, dots, dashes and underscores, such as notes"))
	}
	if o.visibility != selector.WorkspaceVisibility && o.visibility != selector.PrivateVisibility {
		errs = append(errs, fmt.Errorf("--visibility must be %s or %s, not %q", selector.WorkspaceVisibility, selector.PrivateVisibility, o.visibility))
	}
	fields := map[string]any{}
	if o.metadata != "" {
		d := json.NewDecoder(strings.NewReader(o.metadata))
		d.UseNumber()
		err := d.Decode(&fields)
		_, rest := d.Token()
		if err != nil || fields == nil || !errors.Is(rest, io.EOF) {
			errs = append(errs, errors.New("--metadata must be one JSON object"))
			fields = map[string]any{}
		}
	}
	if _, said := fields[selector.ArtifactName]; !said {
		fields[selector.ArtifactName] = filepath.Base(file)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, cli.Faults("artifact upload", err).Hint("agentclash artifact upload --help")
	}
	metadata, err = json.Marshal(fields)
	if err == nil && len(metadata) > maxMetadata {
		err = cli.Usage("--metadata is longer than %d KiB", maxMetadata>>10)
	}
	return metadata, err
}

func runArtifactUpload(ctx context.Context, a *cli.App, o uploadOptions, file string) error {
	metadata, err := o.check(file)
	if err != nil {
		return err
	}
	path := a.Path(file)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &cli.Failure{Status: cli.StatusNotFound, Code: "file_not_found", Err: fmt.Errorf("read %s: no such file", file)}
	case err != nil:
		return fmt.Errorf("read %s: %w", file, err)
	case !info.Mode().IsRegular():
		return cli.Usage("read %s: it is no regular file", file)
	case info.Size() > store.MaxArtifactBytes:
		return cli.Usage("%s has %d bytes, and an artifact may have %d MiB", file, info.Size(), store.MaxArtifactBytes>>20)
	}
	one := store.Artifact{Type: o.kind, Visibility: o.visibility, Metadata: metadata}
	if one.Workspace, err = a.WorkspaceName(); err != nil {
		return err
	}
	if one.RunID, one.RunAgentID, err = attached(ctx, a, o.run, o.agent); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read %s: %w", file, err)
	}
	one.ContentType = http.DetectContentType(head[:n])
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	db, err := a.Store(ctx)
	if err != nil {
		return err
	}
	stored, err := db.SaveArtifact(ctx, one, f)
	if err != nil {
		return err
	}
	v := selector.ViewArtifact(stored)
	return a.Print(v, func(w io.Writer, o view.Options) error {
		a.Say("✓ stored %s: %s", file, stored.ID)
		return view.ArtifactDetails(w, v, o)
	})
}

// attached are the ids of a run and a run agent that were named, "" for none.
func attached(ctx context.Context, a *cli.App, run, agent string) (runID, agentID string, err error) {
	if run == "" && agent == "" {
		return "", "", nil
	}
	db, err := a.Stored(ctx)
	if err != nil {
		return "", "", err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return "", "", err
	}
	if run != "" {
		r, err := selector.StoredRun(ctx, a, db, []string{run})
		if err != nil {
			return "", "", err
		}
		runID = r.ID
	}
	if agent == "" {
		return runID, "", nil
	}
	found, err := db.RunAgent(ctx, workspace, runID, agent)
	return found.RunID, found.ID, err
}

type artifactFilter struct {
	page             cli.ListOptions
	run, agent, kind string
}

func newArtifactList(a *cli.App) *cobra.Command {
	var o artifactFilter
	c := &cobra.Command{
		Use: "list", Short: "List the artifacts, newest first", Args: cli.NoArgs,
		Example: "  agentclash artifact list\n  agentclash artifact list --run latest --json",
		RunE:    func(c *cobra.Command, _ []string) error { return runArtifactList(c.Context(), a, o) },
	}
	f := c.Flags()
	o.page.AddPageFlags(f)
	f.StringVar(&o.run, "run", "", "only those of this run")
	f.StringVar(&o.agent, "agent", "", "only those of this run agent, by label with --run, or by id")
	f.StringVar(&o.kind, "type", "", "only those of this type")
	return c
}

func runArtifactList(ctx context.Context, a *cli.App, o artifactFilter) error {
	if err := cmp.Or(o.page.Check(), a.CheckWorkspace(ctx)); err != nil {
		return err
	}
	db, workspace, err := a.ReadingIn(ctx)
	if err != nil {
		return err
	}
	filter := store.ArtifactFilter{Workspace: workspace, Type: o.kind, Limit: o.page.Rows(), Offset: o.page.Offset}
	if filter.RunID, filter.RunAgentID, err = attached(ctx, a, o.run, o.agent); err != nil {
		return err
	}
	var list []view.Artifact
	total := 0
	if db != nil {
		var stored []store.Artifact
		if stored, total, err = db.Artifacts(ctx, filter); err != nil {
			return err
		}
		for _, one := range stored {
			list = append(list, selector.ViewArtifact(one))
		}
	}
	return cli.PrintPage(a, cli.PageFrom(list, total, o.page), "no artifacts: agentclash artifact upload FILE --type TYPE", view.ArtifactList)
}

func newArtifactGet(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "get ARTIFACT", Short: "Show an artifact, with its SHA-256 and metadata", Args: cli.ExactArgs("ARTIFACT"),
		Example: "  agentclash artifact get latest",
		RunE: func(c *cobra.Command, args []string) error {
			found, _, err := selector.Artifact(c.Context(), a, args[0])
			if err != nil {
				return err
			}
			v := selector.ViewArtifact(found)
			return a.Print(v, func(w io.Writer, o view.Options) error { return view.ArtifactDetails(w, v, o) })
		},
	}
}

func newArtifactDownload(a *cli.App) *cobra.Command {
	var to string
	var force bool
	c := &cobra.Command{
		Use: "download ARTIFACT", Short: "Write an artifact's bytes to a file or to stdout", Args: cli.ExactArgs("ARTIFACT"),
		Long: `Write an artifact's bytes to a file: the one that -O names, else the name that it
was uploaded with, in the working directory. With -O - they go to stdout. Length and
SHA-256 are checked first of all; a file that is there is kept without --force.`,
		Example: "  agentclash artifact download latest -O copy.txt --force\n  agentclash artifact download latest -O -",
		RunE: func(c *cobra.Command, args []string) error {
			return runArtifactDownload(c.Context(), a, args[0], to, force)
		},
	}
	c.Flags().StringVarP(&to, "output-file", "O", "", "file to write, or - for stdout (default: its own name)")
	c.Flags().BoolVar(&force, "force", false, "replace a file that is there")
	return c
}

func runArtifactDownload(ctx context.Context, a *cli.App, which, to string, force bool) error {
	found, db, err := selector.Artifact(ctx, a, which)
	if err != nil {
		return err
	}
	if to == "-" {
		// nobody is given bytes that turn out to be wrong at the end
		if err := db.ReadArtifact(ctx, found, io.Discard); err != nil {
			return err
		}
		return db.ReadArtifact(ctx, found, a.Process.Out)
	}
	v := selector.ViewArtifact(found)
	if to == "" {
		to = SafeName(v.Name, found.ID)
	}
	if err := a.CheckNew(to, force); err != nil {
		return err
	}
	if err := a.WriteOutput(to, 0o644, func(w io.Writer) error { return db.ReadArtifact(ctx, found, w) }); err != nil {
		return err
	}
	doc := struct {
		view.Artifact
		Path string `json:"path"`
	}{v, to}
	return a.Print(doc, func(io.Writer, view.Options) error {
		a.Say("✓ wrote %s: %d bytes, sha256 %s", to, found.Size, found.SHA256)
		return nil
	})
}

// SaveNew writes an artifact's bytes to a file that is not there yet, once it is whole.
func SaveNew(ctx context.Context, db *store.DB, one store.Artifact, path string) error {
	err := cli.WriteNew(path, func(w io.Writer) error { return db.ReadArtifact(ctx, one, w) })
	if errors.Is(err, fs.ErrExist) {
		return cli.Usage("%s is there already: name another file", path)
	}
	return err
}

// SafeName is a file name for what somebody else called a file: no directory, no
// control character, not hidden, and no name that Windows keeps for itself.
func SafeName(name, id string) string {
	name = name[strings.LastIndexAny(name, `/\:`)+1:]
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F || strings.ContainsRune(`<>"|?*`, r) {
			return '_'
		}
		return r
	}, view.SanitizeLine(name))
	name = strings.TrimRight(strings.TrimLeft(name, ". "), ". ")
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	if name == "" || len(name) > 200 || reserved.MatchString(stem) {
		return "artifact-" + cli.Short(id)
	}
	return name
}

var reserved = regexp.MustCompile(`^(CON|PRN|AUX|NUL|COM[0-9]|LPT[0-9])$`)
