package template

// Submit is the tool that hands in the final answer. No policy hides it.
const Submit = "submit"

// Kinds returns the tool kinds a pack may name, sorted. A shell is not a kind:
// `allow_shell` unlocks it.
func Kinds() []string {
	return []string{"browser", "build", "data", "file", "network", "terminal"}
}

// Names returns the names of every built-in tool of the pack format, sorted,
// including those that [Primitives] does not have in this version.
func Names() []string {
	return []string{
		"build", "exec", "http_request", "list_files", "query_json", "query_sql",
		"read_file", "run_tests", "search_files", "search_text", Submit, "write_file",
	}
}
