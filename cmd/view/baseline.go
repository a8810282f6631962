package view

import "io"

// BaselineDocument is what `baseline show` and `baseline set` print as JSON.
type BaselineDocument struct {
	WorkspaceID string    `json:"workspace_id"`
	Configured  bool      `json:"configured"`
	Bookmark    *Bookmark `json:"bookmark"`
}

// Baseline writes the saved baseline; it writes nothing when there is none.
func Baseline(w io.Writer, d BaselineDocument, o Options) error {
	if d.Bookmark == nil {
		return nil
	}
	var b Details
	b.Add("Workspace", d.WorkspaceID)
	b.Add("Run", runName(d.Bookmark.RunName, d.Bookmark.RunID, o))
	b.Status("Run status", d.Bookmark.RunStatus)
	b.Add("Agent", d.Bookmark.RunAgentLabel+" ("+o.ID(d.Bookmark.RunAgentID)+")")
	b.Add("Set", o.Time(d.Bookmark.SetAt))
	return b.Write(w, o)
}
