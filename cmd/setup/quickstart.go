package setup

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// The statuses of a quickstart's steps, besides ok and info.
const (
	stepTodo    = "todo"
	stepBlocked = "blocked"
)

// keepKey is how a key is given that a run can use.
const keepKey = "agentclash secret set OPENAI_API_KEY"

// maxLooked is how many YAML files of the working directory are looked at, and
// maxLookedBytes how large they may be.
const (
	maxLooked      = 50
	maxLookedBytes = 1 << 20
)

// NewQuickstart is agentclash quickstart, which writes nothing and always exits 0.
func NewQuickstart(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "quickstart", Short: "Say how far this is from a gate, and what to type next",
		Long: `Say how far this machine and directory are from a gate: a pack, a run of it that
is trusted as the baseline, and a run that is compared with it. Nothing is written
and nothing is sent over the network.

Each step is ok, todo, blocked (by one before it) or info. Exit status: 0.`,
		Example: "  agentclash quickstart\n  agentclash quickstart --json --query .next_command",
		Args:    cli.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runQuickstart(c.Context(), a) },
	}
}

func runQuickstart(ctx context.Context, a *cli.App) error {
	workspace, err := a.WorkspaceName()
	if err != nil {
		return err
	}
	d := view.QuickstartDocument{Workspace: workspace, Steps: steps(ctx, a, workspace)}
	for _, s := range d.Steps {
		if s.Status == stepTodo && d.NextCommand == "" {
			d.NextCommand = s.NextStep
		}
	}
	return a.Print(d, func(w io.Writer, o view.Options) error { return view.Quickstart(w, d, o) })
}

// progress is what there is of the steps so far.
type progress struct {
	packs, runs, baselines, later int
	agent                         string // the flag that names the latest run's agent, "" for one that the binary carries
	err                           error  // the store cannot be read
}

// come reads the store as it is, and says how far its workspace has come.
func come(ctx context.Context, a *cli.App, workspace string) (p progress) {
	db, ok, err := a.Reading(ctx)
	if err != nil || !ok {
		p.err = err
		return p
	}
	packs, err := db.Packs(ctx, workspace)
	if err != nil {
		p.err = err
		return p
	}
	p.packs = len(packs)
	done := store.RunFilter{Workspace: workspace, Statuses: []string{store.Completed}, Limit: 1}
	latest, runs, err := db.Runs(ctx, done)
	if err != nil {
		p.err = err
		return p
	}
	p.runs = runs
	if runs > 0 {
		if p.agent, p.err = agentOf(ctx, db, latest[0].ID); p.err != nil {
			return p
		}
	}
	marks, err := db.Baselines(ctx, workspace)
	p.err, p.baselines = err, len(marks)
	if err == nil && runs > 0 && !slices.ContainsFunc(marks, func(m store.BaselineMark) bool { return m.RunID == latest[0].ID }) {
		p.later = runs
	}
	return p
}

// agentOf is the flag that names a run's first agent again.
func agentOf(ctx context.Context, db *store.DB, runID string) (string, error) {
	list, err := db.RunAgents(ctx, runID)
	if err != nil || len(list) == 0 {
		return "", err
	}
	d := list[0].Deployment
	switch plain := d.Provider + "/" + d.Model; {
	case strings.HasPrefix(d.Model, selector.BuiltinPrefix):
		return "", nil // it answers for its own pack alone
	case d.Alias != "" || d.Script != "" || d.Kind != "" || d.Name != plain && d.Provider != provider.Scripted:
		return "--deployment " + d.Name, nil
	default:
		return "--model " + plain, nil
	}
}

// agentFor is the flag that names an agent for the pack of a file: its reference
// agent, the one of the latest run, a deployment, a model that there is a key for.
// "" is none.
func agentFor(ctx context.Context, a *cli.App, file string, p progress, key view.Check) string {
	if reference := pack.ReferencePath(file); file != "" && cli.Exists(a.Path(reference)) {
		return "--model scripted/" + reference
	}
	if p.agent != "" {
		return p.agent
	}
	if list, err := agents.StoredDeployments(ctx, a); err == nil && len(list) > 0 {
		return "--deployment " + list[0].Name
	}
	models := map[string]string{provider.OpenAI: "gpt-4.1-mini", provider.Anthropic: "claude-haiku-4-5", provider.Gemini: "gemini-2.5-flash"}
	for _, s := range agents.Servers() {
		if from := key.Metadata[s.Provider]; from != nil && from != "missing" {
			return "--model " + s.Provider + "/" + cmp.Or(models[s.Provider], "MODEL")
		}
	}
	return ""
}

// steps are those from nothing to a gate, in order.
func steps(ctx context.Context, a *cli.App, workspace string) []view.Check {
	p := come(ctx, a, workspace)
	if p.err != nil {
		return []view.Check{{Name: "store", Status: stepBlocked, Detail: p.err.Error(), NextStep: "agentclash doctor"}}
	}
	file := packHere(a)
	found := view.Check{Name: "pack", Status: stepTodo, Detail: "no challenge pack is stored or in this directory", NextStep: "agentclash challenge-pack init my-pack.yaml"}
	switch {
	case file != "":
		found = view.Check{Name: "pack", Status: view.CheckOK, Detail: file}
	case p.packs > 0:
		found = view.Check{Name: "pack", Status: view.CheckOK, Detail: fmt.Sprintf("%d stored", p.packs)}
	}
	key := checkKeys(a)
	agent := agentFor(ctx, a, file, p, key)
	key.Name, key.Metadata = "key", nil
	if key.Status == view.CheckFail {
		key.Status = view.CheckInfo
	}
	start := "agentclash eval start --pack builtin:quickstart --model scripted/builtin:quickstart-good"
	if file != "" {
		start = "agentclash eval start --pack " + file + " " + agent
	}
	if file != "" && agent == "" && key.NextStep != "" { // nothing can be run
		key.Status, key.Detail, key.NextStep = stepTodo, "none found, and the pack here has no scripted agent beside it", keepKey
	}
	return []view.Check{
		key, found,
		step("run", p.runs > 0, found.Status == view.CheckOK && key.Status != stepTodo, fmt.Sprintf("%d completed", p.runs), "run the pack", start+" --follow"),
		step("baseline", p.baselines > 0, p.runs > 0, fmt.Sprintf("%d set", p.baselines), "keep the run that you trust", "agentclash baseline set latest"),
		step("compare", p.baselines > 0 && p.later > 0, p.baselines > 0, "agentclash compare latest --gate says whether it may ship",
			"change the agent, and run it again with the gate", start+" --gate"),
		ciStep(a),
	}
}

// step is ok when it is done, blocked while what comes before it is not.
func step(name string, done, open bool, is, todo, next string) view.Check {
	switch {
	case done:
		return view.Check{Name: name, Status: view.CheckOK, Detail: is}
	case open:
		return view.Check{Name: name, Status: stepTodo, Detail: todo, NextStep: next}
	}
	return view.Check{Name: name, Status: stepBlocked, Detail: todo}
}

// ciStep is for later.
func ciStep(a *cli.App) view.Check {
	if cli.Exists(a.Path(".agentclash/ci.yaml")) {
		return view.Check{Name: "ci", Status: view.CheckOK, Detail: ".agentclash/ci.yaml"}
	}
	return view.Check{Name: "ci", Status: view.CheckInfo, Detail: "in a repository, the gate can run for each change", NextStep: "agentclash ci init"}
}

// packHere is a challenge pack in the working directory, "" when there is none.
func packHere(a *cli.App) string {
	for i, name := range yamlFiles(a.Process.Dir) {
		if i == maxLooked {
			break
		}
		if isPack(filepath.Join(a.Process.Dir, name)) {
			return name
		}
	}
	return ""
}

// yamlFiles are the names of a directory's, in order.
func yamlFiles(dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // what cannot be read has no pack
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); e.Type().IsRegular() && (ext == ".yaml" || ext == ".yml") {
			names = append(names, e.Name())
		}
	}
	return names
}

// isPack looks at the keys that begin a line.
func isPack(file string) bool {
	info, err := os.Stat(file)
	if err != nil || info.Size() > maxLookedBytes {
		return false
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	top := map[string]bool{}
	for line := range strings.Lines(string(src)) {
		if key, _, ok := strings.Cut(line, ":"); ok {
			top[key] = true
		}
	}
	return top["pack"] && top["challenges"]
}
