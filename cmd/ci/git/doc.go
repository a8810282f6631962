// Package git asks the git program what a change changed: nothing else. It is
// told where the repository is, never guesses a ref, never goes through a shell,
// runs no hook, filter or helper that a repository or its environment names, and
// opens no connection.
package git
