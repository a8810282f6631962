package view

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Deployment is a named runnable target as `deployment list` prints it.
type Deployment struct {
	ID       string `json:"deployment_id"` // "" for one of a file
	Name     string `json:"name"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Kind     string `json:"kind"`   // model, command or http
	Target   string `json:"target"` // what it runs, for people
	BaseURL  string `json:"base_url"`
	API      string `json:"api,omitempty"`
	Account  string `json:"account"` // where the key is found, never the key
	// PromptCache is whether the vendor is asked to cache prompts; nil: as it is by default.
	PromptCache *bool `json:"prompt_cache,omitempty"`
	// Build, RuntimeProfile and ModelAlias are what it names, "" for nothing.
	Build          string `json:"build,omitempty"`
	RuntimeProfile string `json:"runtime_profile,omitempty"`
	ModelAlias     string `json:"model_alias,omitempty"`
	// Origin is where it is written: store, or the repository's file.
	Origin    string     `json:"origin"`
	CreatedAt *time.Time `json:"created_at"` // nil for one of a file
}

// DeploymentList writes one row a deployment.
func DeploymentList(w io.Writer, page Page[Deployment], o Options) error {
	t := Table{Columns: []Column{
		whole("ID"), left("NAME"), left("RUNS"), left("BASE URL"), left("API"), left("CACHE"), left("ACCOUNT"), whole("ORIGIN"), whole("CREATED"),
	}}
	for _, d := range page.Items {
		t.Add(Text(o.ID(d.ID)), Text(d.Name), Text(d.Target), Text(d.BaseURL), Text(d.API), Text(onOff(d.PromptCache)), Text(d.Account),
			Text(d.Origin), Text(o.timePtr(d.CreatedAt)))
	}
	return t.Write(w, o)
}

// onOff is a switch in words, "" when nobody has set it.
func onOff(set *bool) string {
	switch {
	case set == nil:
		return ""
	case *set:
		return "on"
	default:
		return "off"
	}
}

// DeploymentDocument is one deployment with all that it says: `deployment get`.
type DeploymentDocument struct {
	Deployment
	// Definition is all that it says, as it is kept.
	Definition any `json:"definition"`
}

// DeploymentGet writes a deployment's row, and its definition.
func DeploymentGet(w io.Writer, d DeploymentDocument, o Options) error {
	raw, err := json.MarshalIndent(d.Definition, "", "  ")
	if err != nil {
		return err
	}
	if err := DeploymentList(w, Page[Deployment]{Items: []Deployment{d.Deployment}, Total: 1, Limit: 1}, o); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n%s\n", Sanitize(string(raw)))
	return err
}
