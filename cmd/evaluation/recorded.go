package evaluation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/pack"
)

// prepareTape takes the directory that is recorded into and opens the cache: what
// is wrong with them is said before the run is stored.
func prepareTape(a *cli.App, e *execution) error {
	var err error
	if want := e.plan.Recording; want != nil && want.Mode == plan.Recorded && !e.taped {
		holder := fmt.Sprintf("run %s (%s, process %d)", e.plan.Name, cli.Short(e.plan.RunID), cli.Self().PID)
		if e.resumed {
			e.claim, err = record.Retake(want.Dir, holder)
		} else {
			e.claim, err = record.Take(want.Dir, holder, want.Overwrite)
		}
		if err != nil {
			return tapeFailure(err)
		}
	}
	if !e.plan.Cache {
		return nil
	}
	e.shelf, err = shelf(a)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrExist) {
		return cli.Usage("%w", err).Hint("move what stands there away, or leave out --cache")
	}
	return err
}

// releaseTape lets go of what prepareTape took.
func (e execution) releaseTape() {
	if e.claim != nil {
		e.claim.Release()
	}
	if e.shelf != nil {
		_ = e.shelf.Close()
	}
}

// tapeFailure is what is wrong with a recording: the machine's trouble, or else
// what was typed.
func tapeFailure(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return cli.Usage("%w", err)
}

// givenTexts are what the agents, judges and users of a run may be told: all that
// its pack and its deployments say.
func givenTexts(planned *plan.Plan, p *pack.Pack) ([]string, error) {
	docs := make([][]byte, 1, 1+len(planned.Agents))
	var err error
	if docs[0], err = p.Manifest(); err != nil {
		return nil, err
	}
	for _, agent := range planned.Agents {
		raw, err := json.Marshal(agent.Deployment)
		if err != nil {
			return nil, err
		}
		docs = append(docs, raw)
	}
	var texts []string
	for _, doc := range docs {
		var v any
		if err := json.Unmarshal(doc, &v); err != nil {
			return nil, err
		}
		texts = textsOf(texts, v)
	}
	for _, asset := range p.Assets() {
		texts = append(texts, string(asset))
	}
	slices.Sort(texts)
	return slices.Compact(texts), nil
}

// textsOf adds the texts in a JSON value.
func textsOf(list []string, v any) []string {
	switch v := v.(type) {
	case string:
		return append(list, v)
	case []any:
		for _, inner := range v {
			list = textsOf(list, inner)
		}
	case map[string]any:
		for key, inner := range v {
			list = textsOf(append(list, key), inner)
		}
	}
	return list
}

// hiddenValues are what a replay must not state: what was taken out when the
// recording was made, and the keys and secrets that can be found here. None has
// to be.
func hiddenValues(a *cli.App, planned *plan.Plan, p *pack.Pack, player *record.Player) ([]string, error) {
	given, err := givenTexts(planned, p)
	if err != nil {
		return nil, err
	}
	values := player.Header().Recognize(given)
	for _, d := range askable(planned) {
		t, keyVar := agents.Target{Deployment: d}, ""
		for _, s := range agents.Servers() {
			if s.Provider == d.Provider {
				keyVar = s.KeyVar
			}
		}
		if key, err := agents.Key(a, t, keyVar); err == nil {
			values = append(values, strings.TrimSpace(key))
		}
		if d.IsHTTP() {
			for name, value := range d.HTTP.Headers {
				_, used, _ := agents.HeaderValue(a, t, name, value) // one that is not set is in nothing
				values = append(values, used...)
			}
		}
	}
	for _, name := range p.ToolSecrets() {
		if v, ok, err := agents.Secret(a, name); err == nil && ok {
			values = append(values, strings.TrimSpace(v))
		}
	}
	return slices.DeleteFunc(values, func(v string) bool { return len(v) < cli.MinSecretBytes }), nil
}

// askable are the models and endpoints that a plan would ask.
func askable(planned *plan.Plan) []plan.Deployment {
	var list []plan.Deployment
	for _, agent := range planned.Agents {
		list = append(list, agent.Deployment)
	}
	for _, m := range planned.Judges {
		list = append(list, plan.Deployment{Provider: m.Provider, Account: m.Account})
	}
	for _, m := range planned.Simulators {
		list = append(list, plan.Deployment{Provider: m.Provider, Account: m.Account})
	}
	return list
}

// recordedAgent is a run agent as a recording says it: with all that was set of
// it, and nothing of where keys are.
func recordedAgent(agent plan.RunAgent) (record.Agent, error) {
	d := agent.Deployment
	d.Account, d.MaxConcurrent = "", 0
	if d.HTTP != nil {
		d.HTTP = &plan.HTTPTarget{URL: d.HTTP.URL}
	}
	raw, err := json.Marshal(d)
	return record.Agent{Label: agent.Label, Model: d.Provider + "/" + d.Model, Deployment: raw}, err
}

// startDeployments are what is to be run: what was named, or else the agents of
// the recording that is replayed.
func startDeployments(ctx context.Context, a *cli.App, o StartOptions) ([]plan.Deployment, error) {
	player := o.Tape.player
	if player == nil || o.agents() > 0 {
		list, err := agents.Deployments(ctx, a, o.Deployments, o.Models)
		var f *cli.Failure
		if player != nil && errors.As(err, &f) && f.Status == cli.StatusNotFound {
			return nil, f.Hint("leave out --deployment: --replay %s runs the agents that were recorded", o.Tape.Replay)
		}
		return append(list, o.Inline...), err
	}
	var list []plan.Deployment
	for _, agent := range player.Header().Agents {
		var d plan.Deployment
		dec := json.NewDecoder(bytes.NewReader(agent.Deployment))
		dec.DisallowUnknownFields()
		err := dec.Decode(&d)
		if err == nil && d.IsCommand() {
			return nil, cli.Usage("replay %s: the agent %q is a program, which a recording does not hold: name it with --deployment", o.Tape.Replay, agent.Label).
				Hint("agentclash eval start ... --deployment NAME --replay %s", o.Tape.Replay)
		}
		if err != nil || d.Name != agent.Label || d.IsHTTP() != (d.HTTP != nil) || d.Command != nil {
			return nil, cli.Usage("replay %s: what it says of the agent %q cannot be read: name the agent with --deployment or --model", o.Tape.Replay, agent.Label)
		}
		list = append(list, d)
	}
	return list, nil
}

// unrecorded says of a trial that is not in the recording what to type.
func unrecorded(dir string, h record.Header, miss *record.Miss) error {
	f := &cli.Failure{Status: cli.StatusError, Code: record.CodeMiss, Err: fmt.Errorf("replay %s: %w", dir, miss)}
	if slices.ContainsFunc(h.Agents, func(agent record.Agent) bool { return agent.Label == miss.Place.Agent }) {
		return f.Hint("%s", recordAnew(dir))
	}
	return f.Hint("leave out --deployment and --model: --replay %s runs the agents that were recorded", dir)
}
