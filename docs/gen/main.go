package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra/doc"

	"github.com/agentclash/agentclash/cmd"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/contract"
	"github.com/agentclash/agentclash/cmd/manual"
)

func main() {
	out := flag.String("out", "", "directory for manual pages (man) and completion scripts (completions)")
	pages := flag.String("reference", "", "directory for the reference pages")
	flag.Parse()
	if err := write(*out, *pages); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(out, pages string) error {
	if out == "" && pages == "" {
		return errors.New("-out or -reference says what to write")
	}
	var err error
	if pages != "" {
		err = save(pages, referencePages())
	}
	if err == nil && out != "" {
		err = manuals(filepath.Join(out, "man"))
	}
	if err == nil && out != "" {
		err = completions(filepath.Join(out, "completions"))
	}
	return err
}

// save writes files into a directory that holds nothing else.
func save(dir string, files map[string][]byte) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// referencePages are the pages of docs/reference by their names.
func referencePages() map[string][]byte {
	root := cmd.Tree(cli.System())
	files := map[string][]byte{"README.md": []byte(manual.Index(root, contract.ExitCodes()))}
	for _, c := range manual.Shown(root) {
		files[c.Name()+".md"] = []byte(manual.Page(c))
	}
	return files
}

// manuals writes one manual page for each command, dated by SOURCE_DATE_EPOCH.
func manuals(dir string) error {
	if err := save(dir, nil); err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH must be the seconds since 1970 of the commit: %w", err)
	}
	root := cmd.Tree(cli.System())
	root.DisableAutoGenTag = true
	date := time.Unix(seconds, 0).UTC()
	return doc.GenManTree(root, &doc.GenManHeader{Title: "AGENTCLASH", Section: "1", Source: "agentclash", Manual: "agentclash", Date: &date}, dir)
}

// completions writes the script of each shell, as the program itself prints it.
func completions(dir string) error {
	files := map[string][]byte{}
	for shell, name := range map[string]string{"bash": "agentclash.bash", "zsh": "_agentclash", "fish": "agentclash.fish", "powershell": "agentclash.ps1"} {
		var out bytes.Buffer
		p := cli.System()
		p.Out = &out
		if status := cmd.Main(p, []string{"completion", shell}); status != 0 {
			return fmt.Errorf("completion %s: status %d", shell, status)
		}
		files[name] = out.Bytes()
	}
	return save(dir, files)
}
