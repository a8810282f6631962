package view

import (
	"io"
	"strconv"
)

// BundleDocument is what run export and run import say of a bundle.
type BundleDocument struct {
	RunID      string `json:"run_id"`
	RunName    string `json:"run_name"`
	File       string `json:"file"`
	Bytes      int64  `json:"bytes"`
	Digest     string `json:"sha256"` // of all but the digest at the file's end
	Trials     int    `json:"trials"`
	Events     int    `json:"events"`
	Blobs      int    `json:"blobs"`
	Rescorings int    `json:"rescorings"`
	Gates      int    `json:"gates"`
	// OtherRuns are runs that an imported one has to do with; they are not in the
	// bundle.
	OtherRuns List[OtherRun] `json:"other_runs,omitempty"`
}

// OtherRun is a run that another names.
type OtherRun struct {
	As    string `json:"as"` // reused, retry_of or merged_from
	RunID string `json:"run_id"`
	Name  string `json:"name"`
	Here  bool   `json:"here"` // it is in this store
}

// Bundle writes what is in a bundle.
func Bundle(w io.Writer, d BundleDocument, o Options) error {
	p := newPrinter(w, o)
	var b Details
	b.Add("Run", runName(d.RunName, d.RunID, o))
	b.Add("File", d.File)
	b.Add("Bytes", strconv.FormatInt(d.Bytes, 10))
	b.Add("SHA-256", shortDigest(d.Digest, o))
	b.Add("Holds", count(d.Trials, "trial")+", "+count(d.Events, "event")+", "+count(d.Blobs, "blob")+", "+
		count(d.Rescorings, "rescoring")+", "+count(d.Gates, "gate"))
	p.details(b)
	return p.flush()
}
