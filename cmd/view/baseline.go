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
	b.Add("Name", d.Bookmark.Name)
	b.Add("Run", runName(d.Bookmark.RunName, d.Bookmark.RunID, o))
	b.Status("Run status", d.Bookmark.RunStatus)
	b.Add("Agent", d.Bookmark.RunAgentLabel+" ("+o.ID(d.Bookmark.RunAgentID)+")")
	b.Add("Set", o.Time(d.Bookmark.SetAt))
	return b.Write(w, o)
}

// BaselineEntry is one row of `baseline list` and `baseline history`.
type BaselineEntry struct {
	PackSlug string `json:"pack_slug"`
	Bookmark
}

// BaselineList writes one row a baseline.
func BaselineList(w io.Writer, page Page[BaselineEntry], o Options) error {
	t := Table{Columns: []Column{
		left("PACK"), left("NAME"), left("RUN"), left("AGENT"), left("FROM"), whole("SET"), whole("ENDED"),
	}}
	for _, b := range page.Items {
		from := "run"
		if b.Imported {
			from = "file"
		}
		t.Add(Text(b.PackSlug), Text(b.Name), Text(runName(b.RunName, b.RunID, o)), Text(b.RunAgentLabel), Text(from),
			Text(o.Time(b.SetAt)), Text(o.Time(b.EndedAt)))
	}
	return t.Write(w, o)
}
