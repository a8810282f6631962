package page

import (
	"encoding/base64"
	"encoding/json"

	"github.com/agentclash/agentclash/cmd/view"
)

const (
	// maxArtifacts is how many artifacts of a run are listed, the newest, and
	// maxArtifact how large one may be whose bytes are in the page.
	maxArtifacts = 200
	maxArtifact  = 1 << 20
)

// packedArtifact is an artifact with the place of its bytes in the page.
type packedArtifact struct {
	view.Artifact
	Agent string `json:"agent"` // label, "" for one of the whole run
	Chunk int    `json:"chunk"` // that holds nothing but its bytes, -1 for none
}

// attached are the artifacts of a report, before any of their bytes are packed.
func attached(r Report) (list []packedArtifact, left int) {
	labels := map[string]string{}
	for _, a := range r.Agents {
		labels[a.RunAgentID] = a.Label
	}
	list = []packedArtifact{}
	for i, a := range r.Artifacts {
		if i == maxArtifacts {
			break
		}
		list = append(list, packedArtifact{Artifact: a, Agent: labels[a.RunAgentID], Chunk: nowhere[0]})
	}
	return list, len(r.Artifacts) - len(list)
}

// packArtifacts adds the bytes of artifacts while there is room for them.
func (d *document) packArtifacts(p *packer, read func(string) ([]byte, error)) error {
	for i := range d.Artifacts {
		a := &d.Artifacts[i]
		if a.Size > maxArtifact || a.Size > int64(p.room-p.used) {
			d.LeftOut.Artifacts++
			continue
		}
		raw, err := read(a.ID)
		if err != nil {
			return err
		}
		line, err := json.Marshal(base64.StdEncoding.EncodeToString(raw))
		if err != nil {
			return err
		}
		p.full = false
		var at place
		if err := p.add(line, &at); err != nil {
			return err
		}
		if err := p.flush(); err != nil {
			return err
		}
		if a.Chunk = at.chunk; a.Chunk < 0 {
			d.LeftOut.Artifacts++
		}
	}
	return nil
}
