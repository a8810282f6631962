package pack

import "io/fs"

// SchemaFrom is Schema with other rows.
func SchemaFrom(files fs.FS) ([]byte, error) { return schemaFrom(files) }

// The limits that docs/packs.md names.
const (
	MaxDepth      = maxDepth
	MaxAliasBytes = maxAliasBytes
	MaxAssets     = maxAssets
	MaxProblems   = maxProblems
)
