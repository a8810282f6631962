// Package setup holds the commands that arrange a machine and a repository: settings,
// workspaces, the readiness of both.
package setup
