package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// NewBuild is agentclash build: what agents are apart from their models, by versions that
// a run freezes.
func NewBuild(a *cli.App) *cobra.Command {
	return cli.Group("build", "Keep what an agent is apart from its model, by versions",
		newBuildList(a), newBuildCreate(a), newBuildGet(a),
		cli.Group("version", "Look after the versions of a build", newVersionList(a), newVersionCreate(a), newVersionGet(a), newVersionUpdate(a),
			newVersionValidate(a), newVersionReady(a), newVersionTemplates(a)))
}

// buildDocument is what a build's row holds.
type buildDocument struct {
	Description string `json:"description,omitempty"`
}

// agentFile is the repository's agent spec of a build, "" when it has none.
func agentFile(a *cli.App, build string) string {
	for _, ext := range []string{".yaml", ".yml", ".json"} {
		path := filepath.Join(a.RepoDir(), filepath.Base(spec.AgentsDir), strings.TrimSpace(build)+ext)
		if spec.CheckName(build) == nil && cli.Exists(path) {
			return path
		}
	}
	return ""
}

// agentFileNames are the builds that the repository has agent specs of, sorted.
func agentFileNames(a *cli.App) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(a.RepoDir(), filepath.Base(spec.AgentsDir)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), ext)
		if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, ext) && spec.CheckName(name) == nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, err
}

// agentSpec is an agent spec that was read.
type agentSpec struct {
	spec.Agent
	document json.RawMessage
	digest   string
}

// readAgent reads an agent spec. Its system_file lies beside it, unless the path
// leads elsewhere; within is the directory that it must not lead out of, "" for any.
func readAgent(a *cli.App, file, within string) (agentSpec, error) {
	type read struct {
		agent      spec.Agent
		systemFile string
	}
	got, err := ReadResource(a, "agent spec", file, func(name string, src []byte) (read, pack.Problems) {
		agent, system, problems := spec.ParseAgent(name, src)
		return read{agent, system}, problems
	})
	if err != nil {
		return agentSpec{}, err
	}
	if got.systemFile != "" {
		path := got.systemFile
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(a.Path(file)), path)
		}
		if within != "" {
			if err := cli.Inside(within, path); err != nil {
				return agentSpec{}, cli.Usage("%s: system_file: %w", a.Shown(file), err)
			}
		}
		text, err := cli.ResourceFile(path)
		if err != nil {
			return agentSpec{}, cli.Usage("%s: read the system prompt: %w", file, err)
		}
		got.agent.System = string(text)
	}
	doc, digest, err := got.agent.Document()
	return agentSpec{got.agent, doc, digest}, err
}

// findBuild finds a build: one of the store, or one that the repository has an agent
// spec of, whose ID is "".
func findBuild(ctx context.Context, a *cli.App, selector string) (store.Resource, error) {
	r, err := Resource(ctx, a, store.Build, "build", selector)
	if f := (*cli.Failure)(nil); errors.As(err, &f) && f.Status == cli.StatusNotFound && agentFile(a, selector) != "" {
		return store.Resource{Kind: store.Build, Name: strings.TrimSpace(selector), Document: json.RawMessage("{}")}, nil
	}
	return r, err
}

// keptBuild is build, which the store has when it returns.
func keptBuild(ctx context.Context, a *cli.App, selector string) (store.Resource, *store.DB, error) {
	r, err := findBuild(ctx, a, selector)
	if err == nil && r.ID == "" {
		r, err = KeepResource(ctx, a, store.Build, r.Name, buildDocument{})
	}
	if err != nil {
		return r, nil, err
	}
	db, err := a.Store(ctx)
	return r, db, err
}

// versions are those of a build that the store may not have.
func versions(ctx context.Context, a *cli.App, r store.Resource) ([]store.BuildVersion, error) {
	db, ok, err := a.Reading(ctx)
	if err != nil || !ok || r.ID == "" {
		return nil, err
	}
	return db.BuildVersions(ctx, r.ID)
}

// byBuild fills in what a deployment takes from the build it names: of the version
// that is said, else of the repository's agent spec as it is now, else of the newest
// version, ready ones first.
func byBuild(ctx context.Context, a *cli.App, d plan.Deployment) (plan.Deployment, error) {
	if d.Build == "" {
		return d, nil
	}
	agent, v, err := builtAgent(ctx, a, d.Build)
	if err != nil {
		return d, inDeployment(d, err)
	}
	d.Build, d.Built = v.Ref(), &plan.Built{Name: v.Build, Digest: v.Digest, Document: v.Document}
	d = agent.Fill(d)
	if err := checkSettings(a, d); err != nil {
		return d, cli.Usage("deployment %q: %w", d.Name, err)
	}
	return d, nil
}

// builtAgent is an agent of a build. A content that was never used has the number
// that it will have.
func builtAgent(ctx context.Context, a *cli.App, ref string) (spec.Agent, store.BuildVersion, error) {
	name, _, pinned := strings.Cut(ref, "@")
	if pinned {
		v, err := version(ctx, a, ref)
		if err != nil {
			return spec.Agent{}, v, err
		}
		agent, err := spec.ReadDocument(v.Document)
		return agent, v, err
	}
	r, err := findBuild(ctx, a, name)
	if err != nil {
		return spec.Agent{}, store.BuildVersion{}, err
	}
	versions, err := versions(ctx, a, r)
	if err != nil {
		return spec.Agent{}, store.BuildVersion{}, err
	}
	if file := agentFile(a, r.Name); file != "" {
		s, err := readRepoAgent(a, file)
		if err != nil {
			return spec.Agent{}, store.BuildVersion{}, err
		}
		v := store.BuildVersion{Build: r.Name, Number: 1, Digest: s.digest, Document: s.document}
		if len(versions) > 0 {
			v.Number = versions[len(versions)-1].Number + 1
		}
		if i := slices.IndexFunc(versions, func(old store.BuildVersion) bool { return old.Digest == s.digest }); i >= 0 {
			v = versions[i]
		}
		return s.Agent, v, nil
	}
	if len(versions) == 0 {
		return spec.Agent{}, store.BuildVersion{}, cli.Usage("the build %s has no version and no file %s/%s.yaml", r.Name, spec.AgentsDir, r.Name).
			Hint("agentclash build version create %s --spec-file FILE", r.Name)
	}
	v := versions[len(versions)-1]
	for _, other := range versions {
		if !other.ReadyAt.IsZero() {
			v = other
		}
	}
	agent, err := spec.ReadDocument(v.Document)
	return agent, v, err
}

// PinBuilds keeps the versions that a run is of, and freezes them.
func PinBuilds(ctx context.Context, a *cli.App, p *plan.Plan) error {
	for i, agent := range p.Agents {
		built := agent.Deployment.Built
		if built == nil {
			continue
		}
		r, db, err := keptBuild(ctx, a, built.Name)
		if err != nil {
			return err
		}
		v, err := db.SaveBuildVersion(ctx, r.ID, built.Digest, built.Document, true)
		if err != nil {
			return err
		}
		p.Agents[i].Deployment.Build = v.Ref()
	}
	return nil
}

func viewBuild(ctx context.Context, a *cli.App, r store.Resource) (view.Build, error) {
	var doc buildDocument
	if err := json.Unmarshal(r.Document, &doc); err != nil {
		return view.Build{}, fmt.Errorf("read build %s: %w: %w", r.Name, store.ErrCorrupt, err)
	}
	b := view.Build{ID: r.ID, Name: r.Name, Description: doc.Description, CreatedAt: selector.When(r.CreatedAt)}
	versions, err := versions(ctx, a, r)
	if err != nil {
		return b, err
	}
	for _, v := range versions {
		b.Versions = append(b.Versions, viewVersion(v))
	}
	file := agentFile(a, r.Name)
	if file == "" {
		return b, nil
	}
	b.File, b.FileStatus = a.Shown(file), "changed"
	s, err := readRepoAgent(a, file)
	if err != nil {
		b.FileStatus = "invalid"
		return b, nil
	}
	for _, v := range versions {
		if v.Digest == s.digest {
			b.FileStatus = v.Ref()
		}
	}
	return b, nil
}

func viewVersion(v store.BuildVersion) view.BuildVersion {
	status := "draft"
	if !v.ReadyAt.IsZero() {
		status = "ready"
	}
	return view.BuildVersion{ID: v.ID, Ref: v.Ref(), Number: v.Number, AgentKind: spec.LLMAgent, Status: status, Digest: v.Digest,
		CreatedAt: selector.When(v.CreatedAt), ReadyAt: selector.When(v.ReadyAt)}
}

func newBuildList(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List the builds of the store and of the repository", Args: cli.NoArgs,
		Example: "  agentclash build list",
	}
	return cli.List(a, c, "no builds: agentclash build create --name NAME, or a file "+spec.AgentsDir+"/NAME.yaml",
		func(ctx context.Context, _ []string) ([]view.Build, error) { return builds(ctx, a) }, view.BuildList)
}

// builds are those of the store, and those that the repository has a file of.
func builds(ctx context.Context, a *cli.App) ([]view.Build, error) {
	rows, err := Resources(ctx, a, store.Build)
	if err != nil {
		return nil, err
	}
	names, err := agentFileNames(a)
	if err != nil {
		return nil, fmt.Errorf("list the repository's agent specs: %w", err)
	}
	for _, name := range names {
		if !slices.ContainsFunc(rows, func(r store.Resource) bool { return strings.EqualFold(r.Name, name) }) {
			rows = append(rows, store.Resource{Kind: store.Build, Name: name, Document: json.RawMessage("{}")})
		}
	}
	slices.SortStableFunc(rows, func(x, y store.Resource) int {
		return strings.Compare(strings.ToLower(x.Name), strings.ToLower(y.Name))
	})
	var list []view.Build
	for _, r := range rows {
		b, err := viewBuild(ctx, a, r)
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

func newBuildCreate(a *cli.App) *cobra.Command {
	var name, description string
	c := &cobra.Command{
		Use: "create", Short: "Make a build, to have versions", Args: cli.NoArgs,
		Long: `Make a build, to have versions. A build of which the repository has an agent spec,
.agentclash/agents/NAME.yaml, needs no creating.`,
		Example: "  agentclash build create --name reviewer --description 'reviews changes'",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := spec.CheckName(name); err != nil {
				return cli.Usage("build create: %w", err).Hint("agentclash build create --help")
			}
			r, err := KeepResource(c.Context(), a, store.Build, name, buildDocument{Description: strings.TrimSpace(description)})
			if errors.Is(err, store.ErrConflict) {
				return cli.Classify(err).Hint("agentclash build get %s", name)
			}
			if err != nil {
				return err
			}
			b, err := viewBuild(c.Context(), a, r)
			if err != nil {
				return err
			}
			return a.Print(b, func(io.Writer, view.Options) error {
				a.Say("✓ build %s; next: agentclash build version create %s --template honest-agent", b.Name, b.Name)
				return nil
			})
		},
	}
	c.Flags().StringVar(&name, "name", "", "name of the build")
	c.Flags().StringVar(&description, "description", "", "what it is, for people")
	return c
}

func newBuildGet(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "get BUILD", Short: "Show a build and its versions", Args: cli.ExactArgs("BUILD"),
		Example: "  agentclash build get reviewer",
		RunE: func(c *cobra.Command, args []string) error {
			r, err := findBuild(c.Context(), a, args[0])
			if err != nil {
				return err
			}
			b, err := viewBuild(c.Context(), a, r)
			if err != nil {
				return err
			}
			return a.Print(b, func(w io.Writer, o view.Options) error { return view.BuildGet(w, b, o) })
		},
	}
}
