package ci

import _ "embed"

// Sample is a manifest with comments, to be changed.
//
//go:embed sample.yaml
var Sample []byte
