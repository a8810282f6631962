package ci

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Metadata is what a job's environment says of itself. All of it may have been
// chosen by whoever opened a pull request.
type Metadata struct {
	Provider      string `json:"provider"` // github, gitlab or what a flag says
	Repository    string `json:"repository,omitempty"`
	PullRequest   int    `json:"pull_request_number,omitempty"`
	Branch        string `json:"branch,omitempty"`
	Ref           string `json:"ref,omitempty"`
	Commit        string `json:"commit_sha,omitempty"`
	Workflow      string `json:"workflow,omitempty"`
	WorkflowRunID string `json:"workflow_run_id,omitempty"`
	Attempt       string `json:"workflow_run_attempt,omitempty"`
	RunURL        string `json:"workflow_run_url,omitempty"`
	Event         string `json:"event_name,omitempty"`
	DefaultBranch string `json:"default_branch,omitempty"`

	// Labels, Base and Head are of the pull request or push, for should-run.
	Labels []string `json:"-"`
	Base   string   `json:"-"`
	Head   string   `json:"-"`
}

// Local is the provider of a job that no known service runs.
const Local = "local"

// Environment is what the environment says, with the event file of GitHub, nil for
// none. A damaged event is an error: what it says of the branch decides what is
// written.
func Environment(getenv func(string) string, event []byte) (Metadata, error) {
	switch {
	case getenv("GITHUB_ACTIONS") == "true" || len(event) > 0:
		return github(getenv, event)
	case getenv("GITLAB_CI") != "":
		return gitlab(getenv), nil
	}
	return Metadata{Provider: Local}, nil
}

// githubEvent is what is read of an event file.
type githubEvent struct {
	Number      int    `json:"number"`
	Before      string `json:"before"`
	After       string `json:"after"`
	PullRequest *struct {
		Number int `json:"number"`
		Labels []struct {
			Name string `json:"name"`
		} `json:"labels"`
		Base struct {
			SHA string `json:"sha"`
		} `json:"base"`
		Head struct {
			SHA string `json:"sha"`
		} `json:"head"`
	} `json:"pull_request"`
	MergeGroup *struct {
		BaseSHA string `json:"base_sha"`
		HeadSHA string `json:"head_sha"`
	} `json:"merge_group"`
	Repository struct {
		FullName      string `json:"full_name"`
		DefaultBranch string `json:"default_branch"`
	} `json:"repository"`
}

var pullRef = regexp.MustCompile(`^refs/pull/([0-9]{1,9})/`)

func github(getenv func(string) string, raw []byte) (Metadata, error) {
	var e githubEvent
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &e); err != nil {
			return Metadata{}, fmt.Errorf("read the event file: %w", err)
		}
	}
	m := Metadata{
		Provider: "github", Repository: cmp.Or(getenv("GITHUB_REPOSITORY"), e.Repository.FullName), Ref: getenv("GITHUB_REF"),
		Commit: getenv("GITHUB_SHA"), Workflow: getenv("GITHUB_WORKFLOW"), WorkflowRunID: getenv("GITHUB_RUN_ID"),
		Attempt: getenv("GITHUB_RUN_ATTEMPT"), Event: getenv("GITHUB_EVENT_NAME"), DefaultBranch: e.Repository.DefaultBranch,
	}
	if m.WorkflowRunID != "" && m.Repository != "" && getenv("GITHUB_SERVER_URL") != "" {
		m.RunURL = getenv("GITHUB_SERVER_URL") + "/" + m.Repository + "/actions/runs/" + m.WorkflowRunID
	}
	m.Branch = getenv("GITHUB_HEAD_REF") // of a pull request
	if branch, ok := strings.CutPrefix(m.Ref, "refs/heads/"); m.Branch == "" && ok {
		m.Branch = branch
	}
	if p := e.PullRequest; p != nil {
		m.PullRequest, m.Base, m.Head = p.Number, p.Base.SHA, p.Head.SHA
		for _, l := range p.Labels {
			m.Labels = append(m.Labels, l.Name)
		}
		if m.Event == "" {
			m.Event = "pull_request"
		}
	} else if g := e.MergeGroup; g != nil {
		m.Base, m.Head = g.BaseSHA, g.HeadSHA
	} else if strings.Trim(e.Before, "0") != "" {
		m.Base, m.Head = e.Before, e.After
	}
	if found := pullRef.FindStringSubmatch(m.Ref); m.PullRequest == 0 && found != nil {
		m.PullRequest, _ = strconv.Atoi(found[1]) // at most nine digits
	}
	return m, nil
}

func gitlab(getenv func(string) string) Metadata {
	m := Metadata{
		Provider: "gitlab", Repository: getenv("CI_PROJECT_PATH"), Ref: getenv("CI_COMMIT_REF_NAME"),
		Branch: cmp.Or(getenv("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"), getenv("CI_COMMIT_BRANCH")),
		Commit: getenv("CI_COMMIT_SHA"), Workflow: getenv("CI_JOB_NAME"), WorkflowRunID: getenv("CI_PIPELINE_ID"),
		RunURL: getenv("CI_PIPELINE_URL"), Event: getenv("CI_PIPELINE_SOURCE"), DefaultBranch: getenv("CI_DEFAULT_BRANCH"),
		Base: getenv("CI_MERGE_REQUEST_DIFF_BASE_SHA"), Head: getenv("CI_COMMIT_SHA"),
	}
	if n, err := strconv.Atoi(getenv("CI_MERGE_REQUEST_IID")); err == nil && n > 0 {
		m.PullRequest = n
	}
	if labels := getenv("CI_MERGE_REQUEST_LABELS"); labels != "" {
		m.Labels = strings.Split(labels, ",")
	}
	if before := getenv("CI_COMMIT_BEFORE_SHA"); m.Base == "" && strings.Trim(before, "0") != "" {
		m.Base = before
	}
	return m
}

// trusted are the events by which only people who may write to the repository
// start a job on its default branch.
var trusted = []string{"", "push", "schedule", "workflow_dispatch", "web", "api", "trigger", "pipeline"}

// The reasons for which nothing is written that only the default branch may write.
const (
	ReasonPullRequest     = "pull_request_event"
	ReasonNoDefaultBranch = "missing_default_branch"
	ReasonOtherBranch     = "non_default_branch"
	ReasonOtherEvent      = "untrusted_event"
)

// OnMain says why a job is none of the default branch, "" when it is.
func (m Metadata) OnMain() string {
	switch {
	case m.PullRequest > 0 || strings.HasPrefix(m.Event, "pull_request") || m.Event == "merge_request_event":
		return ReasonPullRequest
	case !slices.Contains(trusted, m.Event):
		return ReasonOtherEvent
	case m.DefaultBranch == "":
		return ReasonNoDefaultBranch
	case m.Branch != m.DefaultBranch:
		return ReasonOtherBranch
	}
	return ""
}

// Over is the metadata with what flags say in the place of what the environment
// does.
func (m Metadata) Over(flags Metadata, pullRequest int) Metadata {
	for _, f := range []struct {
		to   *string
		said string
	}{
		{&m.Provider, flags.Provider}, {&m.Repository, flags.Repository}, {&m.Branch, flags.Branch}, {&m.Ref, flags.Ref},
		{&m.Commit, flags.Commit}, {&m.Workflow, flags.Workflow}, {&m.WorkflowRunID, flags.WorkflowRunID}, {&m.Attempt, flags.Attempt},
		{&m.RunURL, flags.RunURL}, {&m.Event, flags.Event}, {&m.DefaultBranch, flags.DefaultBranch},
	} {
		if f.said != "" {
			*f.to = f.said
		}
	}
	if pullRequest > 0 {
		m.PullRequest = pullRequest
	}
	return m
}
