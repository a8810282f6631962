package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
)

const (
	// storeRoom is how much must be free on the store's disk for nothing to be said.
	storeRoom = 256 << 20
	// orphanTime bounds the look for containers that were left behind.
	orphanTime = 5 * time.Second
)

// otherHome is what to type where the home directory will not do.
const otherHome = "export AGENTCLASH_HOME=DIR"

func checkStore(ctx context.Context, a *cli.App) view.Check {
	path, err := a.StorePath()
	if err != nil {
		return view.Check{Name: "store", Status: view.CheckFail, Detail: err.Error(), NextStep: otherHome}
	}
	c := view.Check{Name: "store", Status: view.CheckOK, Metadata: map[string]any{"path": path}}
	_, ok, err := sandboxes.Tidied(ctx, a)
	if err == nil && !ok {
		return checkNewStore(c, path)
	}
	if err == nil {
		err = a.Opened.Db.Check(ctx)
	}
	var info store.Info
	if err == nil {
		info, err = a.Opened.Db.Info(ctx)
	}
	if err != nil {
		c.Status, c.Detail, c.NextStep = view.CheckFail, err.Error(), otherHome
		return c
	}
	c.Detail = fmt.Sprintf("%s, schema %d, %d runs, %.1f MB", info.Path, info.Schema, info.Runs, float64(info.Bytes)/1e6)
	c.Metadata["schema"], c.Metadata["journal"] = info.Schema, info.Journal
	switch {
	case info.ReadOnly:
		c.Status, c.Detail, c.NextStep = view.CheckWarn, c.Detail+"; it can be read, not written", otherHome
	case info.Journal != "wal":
		c.Status, c.NextStep = view.CheckWarn, otherHome
		c.Detail += "; its log is not a WAL (" + info.Journal + "), which a network file system may be the reason of: others wait while one writes"
	}
	return room(c, filepath.Dir(path))
}

// checkNewStore checks where a store would be made.
func checkNewStore(c view.Check, path string) view.Check {
	dir := filepath.Dir(path)
	for {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	f, err := os.CreateTemp(dir, ".agentclash-doctor-*")
	if err != nil {
		c.Status, c.Detail, c.NextStep = view.CheckFail, fmt.Sprintf("%s cannot be made: %v", path, err), otherHome
		return c
	}
	err = errors.Join(f.Close(), os.Remove(f.Name()))
	if err != nil {
		c.Status, c.Detail, c.NextStep = view.CheckFail, fmt.Sprintf("%s cannot be made: %v", path, err), otherHome
		return c
	}
	c.Status, c.Detail = view.CheckInfo, path+" does not exist yet: the first run makes it"
	return room(c, dir)
}

// room adds how much is free on the disk of the store.
func room(c view.Check, dir string) view.Check {
	free, ok := diskFree(dir)
	if !ok {
		return c
	}
	c.Detail += fmt.Sprintf(", %.1f GB free", float64(free)/1e9)
	c.Metadata["free_bytes"] = free
	if free < storeRoom {
		c.Status, c.NextStep = view.CheckWarn, "free some disk, or "+otherHome
	}
	return c
}

// checkStored looks at what runs are made of: packs, deployments, a baseline.
func checkStored(ctx context.Context, a *cli.App, workspace string) []view.Check {
	const noPack, noDeployment = "agentclash challenge-pack init my-pack.yaml", "agentclash deployment create --name next --model openai/gpt-4.1-mini"
	var checks []view.Check
	count := func(name string, n int, err error, next string) {
		c := view.Check{Name: name, Status: view.CheckOK, Detail: strconv.Itoa(n)}
		switch {
		case err != nil:
			c.Status, c.Detail = view.CheckFail, err.Error()
		case n == 0:
			c.Status, c.Detail, c.NextStep = view.CheckInfo, "none", next
		}
		checks = append(checks, c)
	}
	db, ok, err := a.Reading(ctx)
	if err != nil {
		return nil // the store's own check has said so
	}
	if !ok {
		count("challenge_packs", 0, nil, noPack)
		deployments, err := agents.StoredDeployments(ctx, a) // the repository may have some
		count("deployments", len(deployments), err, "")
		count("baseline", 0, nil, "")
		return checks
	}
	packs, err := db.Packs(ctx, workspace)
	count("challenge_packs", len(packs), err, noPack)
	deployments, err := agents.StoredDeployments(ctx, a)
	count("deployments", len(deployments), err, noDeployment)
	marks, err := db.Baselines(ctx, workspace)
	next := "agentclash baseline set latest"
	if _, runs, rerr := db.Runs(ctx, store.RunFilter{Workspace: workspace, Limit: 1}); rerr == nil && runs == 0 {
		next = "" // there is nothing to compare with so far
	}
	count("baseline", len(marks), err, next)
	return checks
}

// checkOrphans looks for what dead processes left: runs that can be resumed, and
// sandboxes. What the store's check found in passing is gone already.
func checkOrphans(ctx context.Context, a *cli.App, workspace string, engine bool) view.Check {
	c := view.Check{Name: "orphans", Status: view.CheckOK, Detail: "nothing is left behind"}
	var parts []string
	left, err := sandboxes.CollectScratch(ctx, a, true)
	if err != nil {
		return view.Check{Name: "orphans", Status: view.CheckWarn, Detail: "look for scratch directories: " + err.Error(), NextStep: "agentclash sandbox gc"}
	}
	boxes := len(left)
	if engine {
		ctx, stop := context.WithTimeout(ctx, orphanTime)
		defer stop()
		found, err := sandboxes.CollectDocker(ctx, a, true)
		if err != nil {
			return view.Check{Name: "orphans", Status: view.CheckWarn, Detail: "look for containers: " + err.Error(), NextStep: "agentclash sandbox gc"}
		}
		boxes += len(found.Containers)
	}
	if boxes > 0 {
		c.Status, c.NextStep = view.CheckWarn, "agentclash sandbox gc"
		parts = append(parts, fmt.Sprintf("%d sandbox(es) of dead processes", boxes))
	}
	db, ok, err := a.Reading(ctx)
	if err != nil || !ok {
		return orphans(c, parts)
	}
	runs, total, err := db.Runs(ctx, store.RunFilter{Workspace: workspace, Statuses: []string{store.Interrupted}, Limit: 1})
	if err == nil && total > 0 {
		parts = append(parts, fmt.Sprintf("%d interrupted run(s)", total))
		if boxes == 0 {
			c.Status, c.NextStep = view.CheckInfo, "agentclash run resume "+cli.Short(runs[0].ID)
		}
	}
	return orphans(c, parts)
}

func orphans(c view.Check, parts []string) view.Check {
	if len(parts) > 0 {
		c.Detail = strings.Join(parts, ", ")
	}
	return c
}
