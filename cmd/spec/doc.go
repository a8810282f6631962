// Package spec reads what people write about their resources: deployments, agent
// specs, runtime profiles, model aliases, spend policies and catalogues, as YAML
// or JSON. It decides which fields there are, says everything that is wrong with a
// file at once with its place, and gives a content one form and one digest. It
// reads no file itself and knows no store.
package spec
