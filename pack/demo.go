package pack

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed demo
var demoFiles embed.FS

// Demos returns the names of the packs built into the program.
func Demos() []string { return []string{"quickstart", "quickstart-native"} }

// Demo returns a pack that is built into the program, with its assets and, as its
// reference agent, the one that passes it. An
// error wraps ErrNotFound when there is none of that name.
func Demo(name string) (*Pack, error) {
	p, problems, err := LoadFS(demoFiles, "demo/"+name+".yaml")
	if err != nil {
		return nil, fmt.Errorf("find built-in pack %q: %w: there are %s", clip(name), ErrNotFound, strings.Join(Demos(), ", "))
	}
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("read built-in pack %q: %w", name, err)
	}
	if p.reference, err = fs.ReadFile(DemoAgents(), name+"-good.yaml"); err != nil {
		return nil, fmt.Errorf("read the agent of built-in pack %q: %w", name, err)
	}
	return p, nil
}

// DemoAgents is a file system of scripted agents for the built-in packs: for
// each pack NAME a NAME-good.yaml that passes every case and a NAME-bad.yaml
// that does not.
func DemoAgents() fs.FS {
	agents, err := fs.Sub(demoFiles, "demo/agents")
	if err != nil {
		panic(err) // the name is a constant
	}
	return agents
}
