// Package pack owns the challenge-pack file format: it loads, decodes with
// positions, normalizes, checks, and turns a pack into its manifest and digest.
//
// It decides whether a file is a valid pack and says everything that is wrong
// with it at once; what of a pack an agent may see ([Pack.AgentView],
// [Pack.WorkspaceFiles]) and what only its graders get ([Pack.GraderFiles]); and
// which packs come with the program. It runs nothing and opens no store; the
// scoring contract inside a pack belongs to package scoring, which checks that
// part, and the placeholders to pack/template.
//
// Reading a file goes through five steps, one file of this package each: the
// YAML tree (tree.go), the structs (decode.go), one form for every spelling
// (normalize.go), the table of checks (check.go), and the assets' bytes
// (asset.go). A later version of the format adds fields to bundle.go and rows to
// the table.
package pack
