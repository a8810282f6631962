package config_test

import (
	"strings"
	"testing"

	"github.com/agentclash/agentclash/cmd/config"
)

// TestSetKeepsTheRest changes one line and looks at all others.
func TestSetKeepsTheRest(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ src, value, want string }{
		"empty":             {"", "json", "output: json\n"},
		"only comments":     {"# mine\n\n", "json", "# mine\n\noutput: json\n"},
		"no line end":       {"color: never", "json", "color: never\noutput: json\n"},
		"in the middle":     {"# a\ncolor: never  # b\n\noutput: 'table' # why\n# c\nsandbox: docker\n", "json", "# a\ncolor: never  # b\n\noutput: json # why\n# c\nsandbox: docker\n"},
		"windows lines":     {"color: never\r\n", "yaml", "color: never\r\noutput: yaml\n"},
		"null before":       {"output:\ncolor: never\n", "json", "output: json\ncolor: never\n"},
		"document mark":     {"---\noutput: table\n", "json", "---\noutput: json\n"},
		"a word for a bool": {"", "yes", "output: \"yes\"\n"},
		"a number":          {"", "12", "output: 12\n"},
		"a colon":           {"", "a: b", "output: 'a: b'\n"},
	} {
		got, err := config.Set([]byte(row.src), "output", row.value)
		if err != nil || string(got) != row.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, row.want)
		}
	}
}

func TestUnset(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"":                                      "",
		"# a\noutput: json # b\ncolor: never\n": "# a\ncolor: never\n",
		"color: never\n":                        "color: never\n",
		"output: json":                          "",
	} {
		got, err := config.Unset([]byte(src), "output")
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, %v; want %q", src, got, err, want)
		}
	}
}

// TestChangesThatWouldGuess are refused: nothing is lost.
func TestChangesThatWouldGuess(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"flow":        "{output: json, color: never}\n",
		"several":     "output: >\n  json\ncolor: never\n",
		"documents":   "output: json\n---\ncolor: never\n",
		"no mapping":  "- output\n",
		"broken":      "output: [\n",
		"value below": "output:\n  json\n",
	} {
		for what, change := range map[string]func() ([]byte, error){
			"set":   func() ([]byte, error) { return config.Set([]byte(src), "output", "yaml") },
			"unset": func() ([]byte, error) { return config.Unset([]byte(src), "output") },
		} {
			if got, err := change(); err == nil {
				t.Errorf("%s of %s: became %q", what, name, got)
			}
		}
	}
}

func TestParseSaysWhere(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		source    config.Source
		src, want string
	}{
		"typing error":  {config.User, "color: never\nsanbox: docker\n", `f.yaml:2: there is no setting "sanbox": did you mean sandbox?`},
		"user's":        {config.Project, "output: json\n", "f.yaml:1: output is for a user's own configuration"},
		"project's":     {config.User, "workspace: a\n", "did you mean default_workspace?"},
		"unlike any":    {config.Project, "zzzzzzzz: a\n", "there are workspace, sandbox, image, concurrency"},
		"twice":         {config.User, "output: json\noutput: yaml\n", "f.yaml:2: output stands there twice"},
		"list":          {config.User, "output: [json]\n", "f.yaml:1: output must be table, json or yaml"},
		"alias":         {config.User, "color: &a never\noutput: *a\n", "f.yaml:2: output must be"},
		"not a mapping": {config.User, "json\n", "it must be a mapping"},
	} {
		_, err := config.Parse("f.yaml", row.source, []byte(row.src))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
}

// TestOrder takes the sources away one by one, the one that wins first.
func TestOrder(t *testing.T) {
	t.Parallel()
	project, err := config.Parse("p.yaml", config.Project, []byte("workspace_id: hosted\nsandbox: scratch\n"))
	if err != nil {
		t.Fatal(err)
	}
	user, err := config.Parse("u.yaml", config.User, []byte("color: never\n\nsandbox: e2b\n"))
	if err != nil {
		t.Fatal(err)
	}
	env := "docker"
	in := config.Inputs{Getenv: func(string) string { return env }, Files: []*config.File{project, user}}
	s, _ := config.Find(config.Sandbox)
	look := func(flag *string, value string, source config.Source, at string) {
		t.Helper()
		v, err := in.Resolve(s, flag)
		if err != nil || v.Value != value || v.Source != source || v.At != at {
			t.Errorf("%q of %s at %q, %v; want %q of %s at %q", v.Value, v.Source, v.At, err, value, source, at)
		}
	}
	look(new("auto"), "auto", config.Flag, "--sandbox")
	look(nil, "docker", config.Environment, "SANDBOX_PROVIDER")
	env = "  "
	look(nil, "scratch", config.Project, "p.yaml:2")
	if v, over := in.Over(s, config.User); !over || v.Source != config.Project {
		t.Errorf("over the user's is %v, %v", v, over)
	}
	if _, over := in.Over(s, config.Project); over {
		t.Error("something is over the project's")
	}
	in.Files = in.Files[1:]
	look(nil, "e2b", config.User, "u.yaml:3")
	in.Files = nil
	look(nil, "auto", config.BuiltIn, "")
}

func TestWrongValuesSayWhere(t *testing.T) {
	t.Parallel()
	f, err := config.Parse("u.yaml", config.User, []byte("concurrency: 1000\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := config.Find(config.Concurrency)
	in := config.Inputs{Getenv: func(string) string { return "" }, Files: []*config.File{f}}
	if _, err = in.Resolve(s, nil); err == nil || err.Error() != `u.yaml:1: concurrency must be a number from 0 to 256, not "1000"` {
		t.Errorf("%v", err)
	}
}

// TestDefaultsAreTaken holds each built-in value against its own setting.
func TestDefaultsAreTaken(t *testing.T) {
	t.Parallel()
	list := config.Settings()
	if len(list) < 5 {
		t.Fatalf("found %d settings, which cannot be all", len(list))
	}
	for _, s := range list {
		if err := s.Check(s.Key, s.Default); err != nil {
			t.Error(err)
		}
		if err := s.Check(s.Key, "\x1b[31m"); err == nil {
			t.Errorf("%s takes control characters", s.Key)
		}
	}
}

// FuzzSet: what was written is what is read, and all else stays.
func FuzzSet(f *testing.F) {
	f.Add("output: json # a\ncolor: never\n", "yaml")
	f.Add("{output: json}\n", "x")
	f.Add("\r ", "0")
	f.Add("\"output\": |\n  json\n", "\t")
	f.Fuzz(func(t *testing.T, src, value string) {
		out, err := config.Set([]byte(src), "output", value)
		if err != nil {
			return
		}
		again, err := config.Set(out, "output", value)
		if err == nil && string(again) != string(out) {
			t.Fatalf("%q, then %q (%v)", out, again, err)
		}
		if parsed, err := config.Parse("f", config.User, out); err == nil && !parsed.Has(config.Output) {
			t.Fatalf("%q has no output", out)
		}
	})
}
