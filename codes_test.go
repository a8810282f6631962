package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/errcode"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

// codesInSource finds every code that the program can state: in errors of commands,
// and of trials, runs and findings. It reads the syntax, so that a new one cannot be
// missed.
func codesInSource(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, room := range append(commandRooms(), "engine", "scoring", "engine/record", "engine/packtest") {
		r := readRoom(t, room)
		for _, f := range r.files {
			ast.Inspect(f, func(n ast.Node) bool {
				for _, e := range r.codesOf(n) {
					if code, ok := r.text(e); ok && code != "" {
						found[code] = true
					}
				}
				return true
			})
		}
	}
	for _, c := range provider.Codes() {
		found[string(c)] = true
	}
	// what engine/stop.go puts together
	for _, k := range []sandbox.Kind{sandbox.Engine, sandbox.Image, sandbox.Lost} {
		found["sandbox_"+string(k)] = true
	}
	for _, limit := range []string{sandbox.LimitMemory, sandbox.LimitPIDs, sandbox.LimitOpenFiles, sandbox.LimitWorkspace,
		sandbox.LimitOutput, sandbox.LimitFile, sandbox.LimitDisk} {
		found[limit+"_limit"] = true
	}
	// a gate whose baseline is gone ends with its verdict: cmd/evaluation/untildecided.go
	found[string(compare.Fail)], found[string(compare.InsufficientEvidence)] = true, true
	delete(found, scoring.CodeExecution) // the name of a validator
	if len(found) < 40 {
		t.Fatalf("found %d codes, which cannot be all", len(found))
	}
	return found
}

// room is the syntax of one package, and its constants.
type room struct {
	name   string
	files  []*ast.File
	consts map[string]string
}

func readRoom(t *testing.T, name string) room {
	t.Helper()
	r := room{name: name, consts: map[string]string{}}
	paths, err := filepath.Glob(filepath.Join(name, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		src, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		r.files = append(r.files, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == len(v.Names) {
				for i, name := range v.Names {
					if text, ok := r.text(v.Values[i]); ok {
						r.consts[name.Name] = text
					}
				}
			}
			return true
		})
	}
	return r
}

// text is a literal's or a constant's value.
func (r room) text(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.Ident:
		s, ok := r.consts[e.Name]
		return s, ok
	case *ast.SelectorExpr: // another room's constant, which that room has stated
		return "", false
	}
	return "", false
}

// codesOf are the expressions of a node that are codes.
func (r room) codesOf(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.ValueSpec: // const CodeMiss = "replay_miss"
		if !slices.Contains(commandRooms(), r.name) && len(n.Names) == 1 && len(n.Values) == 1 && isCodeName(n.Names[0].Name) && n.Type == nil {
			return n.Values
		}
	case *ast.KeyValueExpr: // code: "x"
		if id, ok := n.Key.(*ast.Ident); ok && r.isCode(id.Name) {
			return []ast.Expr{n.Value}
		}
	case *ast.CallExpr: // refusal("x", ...), byAgent("x", ...)
		name := n.Fun
		if s, ok := name.(*ast.SelectorExpr); ok {
			name = s.Sel
		}
		if id, ok := name.(*ast.Ident); ok && slices.Contains([]string{"refusal", "Refusal", "byAgent"}, id.Name) && len(n.Args) > 0 {
			return n.Args[:1]
		}
	case *ast.AssignStmt: // f.status, f.code = 66, "x"
		var list []ast.Expr
		for i, to := range n.Lhs {
			if s, ok := to.(*ast.SelectorExpr); ok && r.isCode(s.Sel.Name) && len(n.Rhs) == len(n.Lhs) {
				list = append(list, n.Rhs[i])
			}
		}
		return list
	case *ast.RangeStmt: // for _, row := range []struct{ code string ... }{{"x"}}
		return rowCodes(n.X)
	}
	return nil
}

// isCode says whether a field is the code of an error: its name has a capital in rooms
// of commands alone.
func (r room) isCode(field string) bool {
	return field == "code" || field == "Code" && slices.Contains(commandRooms(), r.name)
}

func isCodeName(name string) bool {
	return strings.HasPrefix(name, "Code") || strings.HasPrefix(name, "code")
}

// rowCodes are the values of the field code of a table in the source.
func rowCodes(e ast.Expr) []ast.Expr {
	table, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	array, ok := table.Type.(*ast.ArrayType)
	if !ok {
		return nil
	}
	row, ok := array.Elt.(*ast.StructType)
	if !ok {
		return nil
	}
	at, i := -1, 0
	for _, f := range row.Fields.List {
		for _, name := range f.Names {
			if name.Name == "code" {
				at = i
			}
			i++
		}
	}
	var list []ast.Expr
	for _, r := range table.Elts {
		if lit, ok := r.(*ast.CompositeLit); ok && at >= 0 && at < len(lit.Elts) {
			list = append(list, lit.Elts[at])
		}
	}
	return list
}

// TestEveryCodeHasAPage holds the table of explain against the source, both ways.
func TestEveryCodeHasAPage(t *testing.T) {
	t.Parallel()
	used := codesInSource(t)
	pages := map[string]bool{}
	for _, c := range errcode.All() {
		if pages[c.Code] {
			t.Errorf("%s has two pages", c.Code)
		}
		pages[c.Code] = true
		if !used[c.Code] {
			t.Errorf("explain has a page for %s, which nothing states", c.Code)
		}
		if !strings.HasSuffix(c.Means, ".") || !strings.HasSuffix(c.Do, ".") || strings.ContainsAny(c.Means+c.Do, "|`\n") {
			t.Errorf("the page of %s is not made of whole sentences", c.Code)
		}
	}
	for code := range used {
		if !pages[code] {
			t.Errorf("the program states the code %s, and cmd/errcode has no page for it", code)
		}
	}
}

// TestPagesNameRealCommands looks for every command and flag that a page names in
// the help of the program.
func TestPagesNameRealCommands(t *testing.T) {
	t.Parallel()
	help := map[string]*cobra.Command{}
	var all strings.Builder
	for _, page := range everyHelp(t) {
		help[strings.Join(strings.Fields(page.command.CommandPath())[1:], " ")] = page.command
		all.WriteString(page.text)
	}
	command, flag, named := regexp.MustCompile(`agentclash ([a-z-]+)(?: ([a-z-]+))?(?: ([a-z-]+))?`), regexp.MustCompile(`--[a-z-]+`), 0
	for _, c := range errcode.All() {
		for _, m := range command.FindAllStringSubmatch(c.Do, -1) {
			named++
			if path, ok := deepest(help, m[1:]); !ok {
				t.Errorf("the page of %s names %q, which is no command (%q is)", c.Code, m[0], path)
			}
		}
		for _, f := range flag.FindAllString(c.Do, -1) {
			named++
			if !strings.Contains(all.String(), f+" ") {
				t.Errorf("the page of %s names the flag %s, which no command has", c.Code, f)
			}
		}
	}
	if named < 40 {
		t.Fatalf("found %d commands and flags, which cannot be all", named)
	}
}

// deepest follows words down the tree of commands. It is a command when it ends at
// one that has none below it.
func deepest(help map[string]*cobra.Command, words []string) (path string, leaf bool) {
	for _, w := range words {
		next := strings.TrimSpace(path + " " + w)
		if _, ok := help[next]; !ok {
			break
		}
		path = next
	}
	return path, path != "" && !help[path].HasAvailableSubCommands()
}

// TestErrorsPage holds docs/errors.md against the table; -update writes it.
func TestErrorsPage(t *testing.T) {
	t.Parallel()
	const page = "docs/errors.md"
	if *update {
		if err := os.WriteFile(page, []byte(errcode.Page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, page) != errcode.Page() {
		t.Errorf("%s is not what the table says: make update", page)
	}
}
