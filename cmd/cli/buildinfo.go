package cli

import (
	"runtime"
	"runtime/debug"
)

// version is set at link time; a build without it says what the Go toolchain
// recorded.
var version string

// BuildInfo is what a build knows of itself.
type BuildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// ReadBuildInfo says which build this is, as far as it was told or the toolchain
// recorded it.
func ReadBuildInfo() BuildInfo {
	b := BuildInfo{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		}
	}
	return b
}
