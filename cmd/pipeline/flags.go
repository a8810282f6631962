package pipeline

import (
	"time"

	"github.com/agentclash/agentclash/cmd/ci"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ciRunOptions are the flags of ci run.
type ciRunOptions struct {
	manifest    manifestFlags
	timeout     time.Duration
	follow      bool
	record      bool
	noBaseline  bool
	artifactDir string
	resultFile  string
	summaryFile string
	stepSummary bool
	outputs     bool
	event       string
	meta        ci.Metadata // what flags say
	pullRequest int
	reports     verdict.ReportFlags
}

func newCIRun(a *cli.App) *cobra.Command {
	var o ciRunOptions
	c := &cobra.Command{
		Use: "run", Short: "Run a manifest's candidate, gate it and write reports",
		Long: `Run a manifest's candidate, hold it against the baseline by the gate's policy, keep
its failures as regression cases and write reports. What is run is what eval start
runs. A baseline that nothing could be compared with is told before the run.

Exit status: by gate.fail_on 0 pass, 1 fail, 2 warn, 3 not enough evidence (a
missing baseline is that); 10 the manifest, or what it names, is not valid; 20
store, sandbox or provider failed, or after a pass a report could not be written;
30 --timeout passed; 31 the run failed or was cancelled; 64 a flag is wrong; 130
interrupted.`,
		Example: `  agentclash ci run --artifact-dir out --report junit=out/junit.xml --report comment=out/comment.md
  agentclash ci run --manifest .agentclash/nightly.yaml --timeout 2h --json`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return ciRun(c.Context(), a, o) },
	}
	o.addFlags(c.Flags())
	return c
}

func (o *ciRunOptions) addFlags(f *pflag.FlagSet) {
	o.manifest.addFlags(f)
	f.DurationVar(&o.timeout, "timeout", 30*time.Minute, "how long the job may take; what was finished is kept, and run resume goes on")
	f.BoolVar(&o.follow, "follow", false, "show what happens while it happens")
	f.BoolVar(&o.record, "record", false, "ask the models, though the manifest has a replay, and keep the answers as the new recording")
	f.BoolVar(&o.noBaseline, "no-baseline", false, "run though there is no baseline to compare with, for the first one to be made of it; the status is 3 all the same")
	f.StringVar(&o.artifactDir, "artifact-dir", "", "directory for run.json, scorecard.json, comparison.json, gate.json and result.json")
	f.StringVar(&o.resultFile, "result-file", "", "file for the result")
	f.StringVar(&o.summaryFile, "summary-file", "", "file for a summary in Markdown")
	f.BoolVar(&o.stepSummary, "github-step-summary", true, "add the summary to the file that GITHUB_STEP_SUMMARY names")
	f.BoolVar(&o.outputs, "github-output", false, githubOutputUsage)
	f.StringVar(&o.event, "github-event", "", "GitHub's event file (default: GITHUB_EVENT_PATH)")
	for _, flag := range []struct {
		to          *string
		name, usage string
	}{
		{&o.meta.Provider, "ci-provider", "service that runs the job"}, {&o.meta.Repository, "ci-repository", "repository"},
		{&o.meta.Branch, "ci-branch", "branch of the change"}, {&o.meta.Ref, "ci-ref", "ref of the change"}, {&o.meta.Commit, "ci-commit", "commit"},
		{&o.meta.Workflow, "ci-workflow", "name of the workflow"}, {&o.meta.WorkflowRunID, "ci-workflow-run-id", "id of its run"},
		{&o.meta.Attempt, "ci-workflow-run-attempt", "attempt of its run"}, {&o.meta.RunURL, "ci-workflow-run-url", "address of its run"},
		{&o.meta.Event, "ci-event", "event that started the job"}, {&o.meta.DefaultBranch, "ci-default-branch", "default branch of the repository"},
	} {
		f.StringVar(flag.to, flag.name, "", flag.usage+" (default: what the environment says)")
	}
	f.IntVar(&o.pullRequest, "ci-pull-request", 0, "number of the pull request (default: what the environment says)")
	o.reports.AddFlags(f)
}

// check refuses flags, and turns the paths that were typed into paths from the
// repository's root.
func (o *ciRunOptions) check(a *cli.App, m manifestFile) error {
	switch {
	case o.timeout <= 0:
		return cli.Usage("--timeout must be above 0")
	case o.pullRequest < 0:
		return cli.Usage("--ci-pull-request must not be negative")
	case o.outputs && a.Process.Getenv("GITHUB_OUTPUT") == "":
		return cli.Usage("--github-output: GITHUB_OUTPUT names no file")
	case o.follow && a.Output != "table":
		return cli.Usage("--follow and --%s both use stdout: leave one out; --result-file keeps the result", a.Output)
	}
	if err := o.reports.Check(a, o.follow); err != nil {
		return err
	}
	for _, path := range []*string{&o.resultFile, &o.summaryFile} {
		if *path == "" {
			continue
		}
		if err := a.CheckOutput(*path); err != nil {
			return cli.Usage("%w", err)
		}
	}
	if o.artifactDir != "" {
		if err := a.CheckOutput(o.artifactDir + "/result.json"); err != nil {
			return cli.Usage("--artifact-dir: %w", err)
		}
	}
	if m.root == "" {
		return nil
	}
	for _, path := range []*string{&o.artifactDir, &o.resultFile, &o.summaryFile, &o.event} {
		*path = fromRoot(a, m, *path)
	}
	for i := range o.reports.Files {
		o.reports.Files[i].Path = fromRoot(a, m, o.reports.Files[i].Path)
	}
	return nil
}

// metadata is what the environment says, and before that what flags say.
func (o *ciRunOptions) metadata(a *cli.App) (ci.Metadata, error) {
	meta, err := ciMetadata(a, o.event)
	if err != nil {
		return meta, err
	}
	return meta.Over(o.meta, o.pullRequest), nil
}
