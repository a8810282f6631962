package pack

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Each pack NAME of the catalogue has NAME.yaml, NAME.reference.yaml, and its
// assets, if any, in the directory NAME. One file system for each, so that a
// pack can be handed out as a whole.
var (
	//go:embed catalog/code-fix*
	codeFixFiles embed.FS
	//go:embed catalog/json-extraction*
	jsonExtractionFiles embed.FS
	//go:embed catalog/prompt-injection*
	promptInjectionFiles embed.FS
	//go:embed catalog/quantities*
	quantitiesFiles embed.FS
	//go:embed catalog/refund-desk*
	refundDeskFiles embed.FS
	//go:embed catalog/secret-hygiene*
	secretHygieneFiles embed.FS
	//go:embed catalog/security-boundary*
	securityBoundaryFiles embed.FS
	//go:embed catalog/summarization*
	summarizationFiles embed.FS
	//go:embed catalog/support-triage*
	supportTriageFiles embed.FS
	//go:embed catalog/text-to-sql*
	textToSQLFiles embed.FS
	//go:embed catalog/web-research*
	webResearchFiles embed.FS
)

// catalogued is a pack of the catalogue.
type catalogued struct {
	name  string
	files embed.FS
}

// catalog is the one table of the catalogue, in the order it is shown.
func catalog() []catalogued {
	return []catalogued{
		{"json-extraction", jsonExtractionFiles},
		{"quantities", quantitiesFiles},
		{"summarization", summarizationFiles},
		{"support-triage", supportTriageFiles},
		{"refund-desk", refundDeskFiles},
		{"web-research", webResearchFiles},
		{"prompt-injection", promptInjectionFiles},
		{"code-fix", codeFixFiles},
		{"text-to-sql", textToSQLFiles},
		{"secret-hygiene", secretHygieneFiles},
		{"security-boundary", securityBoundaryFiles},
	}
}

// CatalogEntry is what there is to know of a pack of the catalogue before it is
// chosen, read from the pack.
type CatalogEntry struct {
	Slug    string
	Name    string
	Family  string
	Mode    string
	Cases   int    // in all input sets
	Summary string // one line
}

// Catalog lists the packs that people start from: those that need no sandbox
// first.
func Catalog() []CatalogEntry {
	var entries []CatalogEntry
	for _, c := range catalog() {
		p, err := c.pack()
		if err != nil {
			panic(err) // embedded
		}
		e := CatalogEntry{Slug: c.name, Name: p.Pack.Name, Family: p.Pack.Family, Mode: p.Mode()}
		if p.Pack.Description != nil {
			e.Summary = *p.Pack.Description
		}
		for _, set := range p.InputSets {
			e.Cases += len(set.Cases)
		}
		entries = append(entries, e)
	}
	return entries
}

// CatalogPack returns a pack of the catalogue with its assets. An error wraps
// ErrNotFound when there is none of that name, and says which one was probably
// meant.
func CatalogPack(name string) (*Pack, error) {
	c, err := findCatalogued(name)
	if err != nil {
		return nil, err
	}
	return c.pack()
}

// CatalogFiles returns a pack of the catalogue as a tree of files, in which
// NAME.yaml, NAME.reference.yaml and the assets lie as they refer to each
// other: a copy of it is a pack to edit. Its errors are those of [CatalogPack].
func CatalogFiles(name string) (fs.FS, error) {
	c, err := findCatalogued(name)
	if err != nil {
		return nil, err
	}
	return fs.Sub(c.files, "catalog")
}

func (c catalogued) pack() (*Pack, error) {
	p, problems, err := LoadFS(c.files, "catalog/"+c.name+".yaml")
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("read catalogue pack %q: %w", c.name, err)
	}
	return p, nil
}

func findCatalogued(name string) (catalogued, error) {
	all := catalog()
	if i := slices.IndexFunc(all, func(c catalogued) bool { return c.name == name }); i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.name
	}
	return catalogued{}, fmt.Errorf("find catalogue pack %q: %w: there are %s%s",
		clip(name), ErrNotFound, strings.Join(names, ", "), didYouMean(name, names))
}
