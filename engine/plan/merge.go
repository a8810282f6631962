package plan

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/pack"
)

// MergedRun is a run that another was put together from.
type MergedRun struct {
	RunID string `json:"run_id"`
	Name  string `json:"name"`
	Shard string `json:"shard"` // as 3/8
	Cases int    `json:"cases"`
}

// Merge plans the run that its shards are together, in any order: the plan that
// the run would have had without being cut, with ids, a name and a date of its
// own. It refuses parts that are not those of one run, and says which and why.
func Merge(parts []Plan, src *pack.Pack, req Request) (*Plan, error) {
	parts, err := inOrder(parts)
	if err != nil {
		return nil, err
	}
	for _, p := range parts[1:] {
		if err := sameRun(parts[0], p); err != nil {
			return nil, err
		}
	}
	p := parts[0]
	p.RunID, p.CreatedAt, p.Workspace, p.Name, p.Session = req.NewID(), req.Now().UTC(), req.Workspace, req.Name, req.Session
	if p.Cases, err = allCases(parts); err != nil {
		return nil, err
	}
	p.Agents = slices.Clone(p.Agents)
	for i := range p.Agents {
		p.Agents[i].ID = req.NewID()
	}
	p.Options, p.Affected, p.RetryOf, p.Merged = wholeOptions(parts), nil, "", nil
	for _, part := range parts {
		s := part.Options.Shard
		p.Merged = append(p.Merged, MergedRun{RunID: part.RunID, Name: part.Name, Shard: s.String(), Cases: len(part.Cases)})
		p.Cache, p.Imported = p.Cache || part.Cache, p.Imported || part.Imported
		for _, id := range part.Affected {
			if !slices.Contains(p.Affected, id) {
				p.Affected = append(p.Affected, id)
			}
		}
	}
	p.Recording = wholeRecording(parts)
	if p.Name == "" {
		p.Name = p.newName()
	}
	if err := p.Reopen(src, Progress{}); err != nil {
		return nil, err
	}
	cases := make([]pack.Case, len(p.Cases))
	for i, ref := range p.Cases {
		if cases[i], err = p.Case(ref.Key); err != nil {
			return nil, err
		}
	}
	if p.Simulators, err = simulators(cases, p.Agents); err != nil {
		return nil, err
	}
	p.schedule(req.NewID)
	return &p, nil
}

// inOrder sorts the parts and sees that each is there once.
func inOrder(parts []Plan) ([]Plan, error) {
	if len(parts) == 0 {
		return nil, fmt.Errorf("there is nothing to merge")
	}
	for _, p := range parts {
		if p.Options.Shard == nil {
			return nil, fmt.Errorf("run %s is no shard: it has all its cases", p.Name)
		}
	}
	first := parts[0].Options.Shard
	if first.Of < 1 || first.Of > MaxShards || first.Cases < 0 || first.Cases > MaxTrials {
		return nil, fmt.Errorf("run %s says that it is shard %s, of %d cases: that cannot be", parts[0].Name, first, first.Cases)
	}
	byIndex := make([]Plan, first.Of)
	for _, p := range parts {
		s := p.Options.Shard
		if s.Of != first.Of || s.Index < 1 || s.Index > s.Of {
			return nil, fmt.Errorf("run %s is shard %s, and run %s is shard %s: they were cut into different numbers of parts", parts[0].Name, first, p.Name, s)
		}
		if other := byIndex[s.Index-1]; other.RunID != "" {
			return nil, fmt.Errorf("shard %s is there twice: run %s and run %s", s, other.Name, p.Name)
		}
		byIndex[s.Index-1] = p
	}
	var missing []string
	for i, p := range byIndex {
		if p.RunID == "" {
			missing = append(missing, (&Shard{Index: i + 1, Of: first.Of}).String())
		}
	}
	if len(missing) > 0 {
		const shown = 20
		more := max(len(missing)-shown, 0)
		return nil, fmt.Errorf("missing of %d shards: %s", first.Of, list(missing[:len(missing)-more], more))
	}
	return byIndex, nil
}

func list(items []string, more int) string {
	var b bytes.Buffer
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(item)
	}
	if more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// sameRun refuses two parts that no one run was cut into.
func sameRun(a, b Plan) error {
	who := fmt.Sprintf("shard %s (run %s) and shard %s (run %s)", a.Options.Shard, a.Name, b.Options.Shard, b.Name)
	differ := func(what string, was, is any) error {
		return fmt.Errorf("%s are not of one run: %s %v and %v", who, what, was, is)
	}
	x, y := a.Options, b.Options
	switch {
	case a.Pack.Slug != b.Pack.Slug || a.Pack.Digest != b.Pack.Digest:
		return differ("they ran the packs", packName(a.Pack), packName(b.Pack))
	case a.SpecDigest != b.SpecDigest:
		return differ("their evaluation specs are", short(a.SpecDigest), short(b.SpecDigest))
	case a.InputSet != b.InputSet:
		return differ("their input sets are", a.InputSet, b.InputSet)
	case a.Mode != b.Mode:
		return differ("their execution modes are", a.Mode, b.Mode)
	case x.Shard.Digest != y.Shard.Digest || x.Shard.Cases != y.Shard.Cases:
		return differ("they were cut from different lists of cases, of", x.Shard.Cases, y.Shard.Cases)
	case x.Seed != y.Seed:
		return differ("their seeds are", x.Seed, y.Seed)
	case x.Repetitions != y.Repetitions:
		return differ("their repetitions are", x.Repetitions, y.Repetitions)
	case x.RetryInvalid != y.RetryInvalid:
		return differ("retry-invalid is", x.RetryInvalid, y.RetryInvalid)
	case x.MinPassRate != y.MinPassRate:
		return differ("min-pass-rate is", x.MinPassRate, y.MinPassRate)
	case x.MaxInvalid != y.MaxInvalid:
		return differ("max-invalid is", x.MaxInvalid, y.MaxInvalid)
	case x.BudgetUSD != y.BudgetUSD:
		return differ("budget-usd is", x.BudgetUSD, y.BudgetUSD)
	case x.HumanWait != y.HumanWait:
		return differ("human-wait is", x.HumanWait, y.HumanWait)
	case recorded(a) != recorded(b):
		return differ("their recordings are", recorded(a), recorded(b))
	case a.Prices.AsOf != b.Prices.AsOf:
		return differ("their list prices are of", a.Prices.AsOf, b.Prices.AsOf)
	}
	return sameParts(a, b, who)
}

// sameParts compares what is compared as a whole.
func sameParts(a, b Plan, who string) error {
	if len(a.Agents) != len(b.Agents) {
		return fmt.Errorf("%s are not of one run: they have %d and %d agents", who, len(a.Agents), len(b.Agents))
	}
	for i, agent := range a.Agents {
		other := b.Agents[i]
		if agent.Label != other.Label {
			return fmt.Errorf("%s are not of one run: agent %d is %q and %q", who, i+1, agent.Label, other.Label)
		}
		if err := sameValue(agent.Deployment, other.Deployment, who, fmt.Sprintf("agent %q is deployed differently", agent.Label)); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		what string
		a, b any
	}{
		{"their sandboxes are different", a.Sandbox, b.Sandbox},
		{"their list prices are different", a.Prices, b.Prices},
		{"their judges are different", a.Judges, b.Judges},
	} {
		if err := sameValue(part.a, part.b, who, part.what); err != nil {
			return err
		}
	}
	return nil
}

// sameValue says where two values first differ.
func sameValue(a, b any, who, what string) error {
	x, err := event.Marshal(a)
	if err != nil {
		return err
	}
	y, err := event.Marshal(b)
	if err != nil || bytes.Equal(x, y) {
		return err
	}
	where := ""
	if list := differences(x, y); len(list) > 0 {
		where = fmt.Sprintf(" (%s: %s and %s)", list[0].Path, list[0].Was, list[0].Is)
	}
	return fmt.Errorf("%s are not of one run: %s%s", who, what, where)
}

func packName(p event.PackRef) string {
	return fmt.Sprintf("%s@%d+%s", p.Slug, p.Version, short(p.Digest))
}

func short(digest string) string { return digest[:min(12, len(digest))] }

// recorded is what a part did with a recording; where it lies is the machine's.
func recorded(p Plan) string {
	if p.Recording == nil {
		return "none"
	}
	return p.Recording.Mode + " " + short(p.Recording.Digest)
}

// allCases puts the cases of the parts where they stood.
func allCases(parts []Plan) ([]CaseRef, error) {
	first := parts[0].Options.Shard
	cases := make([]CaseRef, first.Cases)
	filled := 0
	for _, p := range parts {
		s := p.Options.Shard
		if len(s.Places) != len(p.Cases) {
			return nil, fmt.Errorf("shard %s (run %s) has %d cases and %d places for them", s, p.Name, len(p.Cases), len(s.Places))
		}
		for i, at := range s.Places {
			if at < 0 || at >= len(cases) || cases[at].Key != "" {
				return nil, fmt.Errorf("shard %s (run %s): case %q is in another shard as well, or has no place", s, p.Name, p.Cases[i].Key)
			}
			cases[at] = p.Cases[i]
			filled++
		}
	}
	if filled != len(cases) || casesDigest(cases) != first.Digest {
		return nil, fmt.Errorf("the shards have %d cases together, and not the %d that they were cut from", filled, first.Cases)
	}
	return cases, nil
}

// wholeOptions are the options of the run that was cut. What only says how a
// machine went about it is the largest of the parts'; a budget is all of theirs.
func wholeOptions(parts []Plan) Options {
	o := parts[0].Options
	o.Shard, o.BudgetUSD = nil, o.BudgetUSD*float64(len(parts))
	for _, p := range parts[1:] {
		o.Concurrency = max(o.Concurrency, p.Options.Concurrency)
		if d := p.Options.Deadline; o.Deadline.IsZero() || d.IsZero() {
			o.Deadline = time.Time{}
		} else if d.After(o.Deadline) {
			o.Deadline = d
		}
		if ms := p.Options.MaxWaitMS; o.MaxWaitMS != nil && (ms == nil || *ms > *o.MaxWaitMS) {
			o.MaxWaitMS = ms
		}
	}
	return o
}

// wholeRecording keeps where a recording lies only when it is one for all.
func wholeRecording(parts []Plan) *Recording {
	if parts[0].Recording == nil {
		return nil
	}
	r := *parts[0].Recording
	for _, p := range parts[1:] {
		if p.Recording.Dir != r.Dir {
			r.Dir = ""
		}
	}
	return &r
}
