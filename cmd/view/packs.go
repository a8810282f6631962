package view

import (
	"io"
	"strconv"
	"time"
)

// PackEntry is a pack and its stored versions as `challenge-pack list` prints
// it.
type PackEntry struct {
	ID       string            `json:"challenge_pack_id"`
	Slug     string            `json:"slug"`
	Name     string            `json:"name"`
	Versions List[PackVersion] `json:"versions"`
}

// PackVersion is one stored version of a pack. Published is false for a
// snapshot that a run took of a file.
type PackVersion struct {
	ID        string    `json:"challenge_pack_version_id"`
	Version   int32     `json:"version"`
	Digest    string    `json:"digest"`
	Mode      string    `json:"execution_mode"`
	Published bool      `json:"published"`
	CreatedAt time.Time `json:"created_at"`
}

// PackList writes one row a version.
func PackList(w io.Writer, page Page[PackEntry], o Options) error {
	t := Table{Columns: []Column{
		whole("ID"), left("SLUG"), right("VERSION"), left("NAME"), spare(left("MODE")), whole("PUBLISHED"),
		spare(whole("DIGEST")), whole("CREATED"),
	}}
	for _, e := range page.Items {
		for _, v := range e.Versions {
			t.Add(Text(o.ID(v.ID)), Text(e.Slug), Text(strconv.Itoa(int(v.Version))), Text(e.Name), Text(v.Mode),
				Text(yesNo(v.Published)), Text(shortDigest(v.Digest, o)), Text(o.Time(v.CreatedAt)))
		}
	}
	return t.Write(w, o)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// shortDigest is the head of a digest on a terminal.
func shortDigest(digest string, o Options) string {
	const shown = 12
	if o.Terminal() && len(digest) > shown {
		return digest[:shown]
	}
	return digest
}

// CatalogEntry is a pack of the catalogue.
type CatalogEntry struct {
	Slug    string `json:"slug"`
	Name    string `json:"name"`
	Family  string `json:"family"`
	Mode    string `json:"execution_mode"`
	Cases   int    `json:"cases"`
	Summary string `json:"summary"`
}

// CatalogList writes one row a pack.
func CatalogList(w io.Writer, page Page[CatalogEntry], o Options) error {
	t := Table{Columns: []Column{whole("SLUG"), left("MODE"), right("CASES"), spare(left("FAMILY")), left("SUMMARY")}}
	for _, e := range page.Items {
		t.Add(Text(e.Slug), Text(e.Mode), Text(strconv.Itoa(e.Cases)), Text(e.Family), Text(e.Summary))
	}
	return t.Write(w, o)
}
