package pack

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"strconv"

	"github.com/agentclash/agentclash/scoring"
)

// ManifestVersion is the schema_version of manifests this version writes and
// reads: the form in which packs are stored.
const ManifestVersion = 1

// manifest is the stored form of a pack. Fields stand in the order of their
// keys, so that the bytes are those of a sorted document.
type manifest struct {
	Challenges     []Challenge       `json:"challenges"`
	EvaluationSpec scoring.Spec      `json:"evaluation_spec"`
	Filesystem     map[string]any    `json:"filesystem"`
	InputSets      []InputSet        `json:"input_sets"`
	InterfaceSpec  *InterfaceSpec    `json:"interface_spec,omitempty"`
	Modality       string            `json:"modality,omitempty"`
	Pack           Meta              `json:"pack"`
	Regressions    []AddedCase       `json:"regression_cases,omitempty"`
	Sandbox        *Sandbox          `json:"sandbox,omitempty"`
	Scenario       *Scenario         `json:"scenario,omitempty"`
	SchemaVersion  int               `json:"schema_version"`
	Security       *scoring.Security `json:"security,omitempty"`
	ToolPolicy     map[string]any    `json:"tool_policy"`
	Tools          map[string]any    `json:"tools,omitzero"`
	Version        manifestNumbers   `json:"version"`
}

type manifestNumbers struct {
	Assets             []Asset             `json:"assets"`
	DeploymentDefaults *DeploymentDefaults `json:"deployment_defaults,omitempty"`
	ExecutionMode      string              `json:"execution_mode,omitempty"`
	Number             int32               `json:"number"`
	SandboxTemplateID  *string             `json:"sandbox_template_id,omitempty"`
}

// Manifest is the pack as one JSON document, the same bytes for the same pack.
// The evaluation spec in it is as the author wrote it; who reads it normalizes
// it. Asset bytes are not in it.
func (p *Pack) Manifest() ([]byte, error) {
	m := manifest{
		Challenges:     p.Challenges,
		EvaluationSpec: p.Version.EvaluationSpec,
		Filesystem:     p.Version.Filesystem,
		InputSets:      p.InputSets,
		InterfaceSpec:  p.InterfaceSpec,
		Modality:       p.Modality,
		Pack:           p.Pack,
		Regressions:    p.added,
		Sandbox:        p.Version.Sandbox,
		Scenario:       p.Scenario,
		SchemaVersion:  ManifestVersion,
		Security:       p.Security,
		ToolPolicy:     p.Version.ToolPolicy,
		Tools:          p.Tools,
		Version: manifestNumbers{
			Assets:             p.Version.Assets,
			DeploymentDefaults: p.Version.DeploymentDefaults,
			ExecutionMode:      p.Version.ExecutionMode,
			Number:             p.Version.Number,
		},
	}
	if p.Version.Sandbox != nil {
		m.Version.SandboxTemplateID = &p.Version.Sandbox.SandboxTemplateID
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write manifest of pack %q: %w", p.Pack.Slug, err)
	}
	return b, nil
}

// FromManifest rebuilds a pack from what [Pack.Manifest], [Pack.Assets] and
// [Pack.Reference] gave: its manifest and digest are the same again. It does not check the pack,
// so that what was valid once can be read by a stricter version.
func FromManifest(doc []byte, assets map[string][]byte, reference []byte) (*Pack, error) {
	var m manifest
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	if m.SchemaVersion != ManifestVersion {
		return nil, fmt.Errorf("read manifest: schema_version is %d, this version reads %d", m.SchemaVersion, ManifestVersion)
	}
	p := &Pack{
		Pack: m.Pack,
		Version: Version{
			Number:             m.Version.Number,
			ExecutionMode:      m.Version.ExecutionMode,
			ToolPolicy:         m.ToolPolicy,
			Filesystem:         m.Filesystem,
			Sandbox:            m.Sandbox,
			DeploymentDefaults: m.Version.DeploymentDefaults,
			EvaluationSpec:     m.EvaluationSpec,
			Assets:             m.Version.Assets,
		},
		Tools:         m.Tools,
		Challenges:    m.Challenges,
		InputSets:     m.InputSets,
		Security:      m.Security,
		Modality:      m.Modality,
		InterfaceSpec: m.InterfaceSpec,
		Scenario:      m.Scenario,
		added:         m.Regressions,
		assets:        maps.Clone(assets),
		resolved:      map[StoredAsset]bool{},
		reference:     reference,
	}
	p.nativeNumbers()
	p.normalize()
	for _, a := range p.everyAsset() {
		name, bad := assetPath(a.Path)
		if _, ok := p.assets[name]; bad == "" && a.ArtifactID == "" && !ok {
			return nil, fmt.Errorf("read manifest of pack %q: the bytes of asset %q are missing", p.Pack.Slug, a.Path)
		}
		if _, ok := p.assets[name]; ok && a.ArtifactID != "" {
			p.resolved[StoredAsset{ArtifactID: a.ArtifactID, Path: name}] = true
		}
	}
	p.index = newIndex(p)
	return p, nil
}

// nativeNumbers gives free-form values the number types that decoding YAML
// gives them.
func (p *Pack) nativeNumbers() {
	native(p.Tools)
	native(p.Version.ToolPolicy)
	native(p.Version.Filesystem)
	for _, c := range p.Challenges {
		native(c.Definition)
	}
	for _, s := range p.InputSets {
		for _, c := range s.Cases {
			native(c.Payload)
			for i := range c.Inputs {
				c.Inputs[i].Value = native(c.Inputs[i].Value)
			}
			nativeValues(c.Expectations)
			if c.UserSimulator == nil {
				continue
			}
			for _, phase := range c.UserSimulator.Phases {
				for _, turn := range phase.Turns {
					nativeValues(turn.Expects)
				}
			}
		}
	}
}

func nativeValues(list []Expectation) {
	for i := range list {
		list[i].Value = native(list[i].Value)
	}
}

func native(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			v[k] = native(item)
		}
	case []any:
		for i, item := range v {
			v[i] = native(item)
		}
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			return v
		}
		return f
	}
	return v
}

// Digest identifies the content of a pack: SHA-256, in hex, of its manifest,
// of its assets' paths and bytes, and of its reference agent if it has one.
func (p *Pack) Digest() (string, error) {
	doc, err := p.Manifest()
	if err != nil {
		return "", err
	}
	h := newDigest("agentclash pack v1", doc)
	for _, name := range sortedKeys(p.assets) {
		h.write([]byte(name), p.assets[name])
	}
	if len(p.reference) > 0 {
		h.write([]byte("reference"), p.reference)
	}
	return h.sum(), nil
}

// CaseDigest identifies what one trial of a case is given: SHA-256, in hex, of
// the case, its challenge, and every file staged for the agent or its graders.
// The input set's own name is no part of it.
func (p *Pack) CaseDigest(inputSet, caseKey string) (string, error) {
	set, err := p.InputSet(inputSet)
	if err != nil {
		return "", err
	}
	c, ok := p.lookup().cases[caseID{set.Key, caseKey}]
	if !ok {
		return "", fmt.Errorf("find case %q in input set %q: %w", caseKey, set.Key, ErrNotFound)
	}
	return p.caseDigest(*c), nil
}

func (p *Pack) caseDigest(c Case) string {
	challenge, _ := p.Challenge(c.ChallengeKey)
	h := newDigest("agentclash case v1", compact(challenge), []byte(c.Key()), StoredCase(c))
	for _, files := range [][]StagedFile{p.WorkspaceFiles(c), p.GraderFiles(c)} {
		h.write([]byte(strconv.Itoa(len(files))))
		for _, f := range files {
			h.write([]byte(f.Path), f.Data)
		}
	}
	return h.sum()
}

// digest hashes a list of byte strings, each with its length, so that no two
// lists hash alike by running into one another.
type digest struct{ h hash.Hash }

func newDigest(domain string, parts ...[]byte) digest {
	d := digest{sha256.New()}
	d.write([]byte(domain))
	d.write(parts...)
	return d
}

func (d digest) write(parts ...[]byte) {
	for _, p := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		d.h.Write(size[:])
		d.h.Write(p)
	}
}

func (d digest) sum() string { return hex.EncodeToString(d.h.Sum(nil)) }
