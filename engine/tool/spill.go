package tool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/sandbox"
)

// spillDir is where results go that are too long to be shown: where the agent
// can read them.
func (w workplace) spillDir() string {
	root := sandbox.Workspace
	if w.roots.Narrow() {
		root = w.roots.Write[0]
	}
	return root + "/.agentclash/spill"
}

// What is shown of a text that is too long: its first lines and its last.
const (
	maxPayload   = 32 << 10
	headLines    = 40
	headBytes    = 6 << 10
	tailLines    = 10
	tailBytes    = 2 << 10
	previewBreak = "\n[... the middle is left out ...]\n"
)

// wrap puts a payload into the envelope of the tools whose results can be long.
// One that is too long is written to a file in the workspace, named by its
// content, and shown in part.
func (w workplace) wrap(ctx context.Context, payload any) (Result, error) {
	text, err := compact(payload)
	if err != nil {
		return Result{}, err
	}
	if len(text) <= maxPayload {
		return success(struct {
			Truncated  bool            `json:"truncated"`
			Content    json.RawMessage `json:"content"`
			TotalBytes int             `json:"total_bytes"`
			TotalLines int             `json:"total_lines"`
		}{false, json.RawMessage(text), len(text), 1})
	}
	var lines bytes.Buffer
	if err := json.Indent(&lines, []byte(text), "", " "); err != nil {
		return Result{}, err
	}
	full := lines.String()
	out := struct {
		Truncated    bool   `json:"truncated"`
		Preview      string `json:"preview"`
		Path         string `json:"full_output_path,omitempty"`
		TotalBytes   int    `json:"total_bytes"`
		TotalLines   int    `json:"total_lines"`
		PreviewLines int    `json:"preview_lines"`
		Note         string `json:"note"`
	}{Truncated: true, Preview: preview(full), TotalBytes: len(full), TotalLines: strings.Count(full, "\n") + 1}
	out.PreviewLines = strings.Count(out.Preview, "\n") + 1
	sum := sha256.Sum256([]byte(full))
	path := fmt.Sprintf("%s/%s_%s.txt", w.spillDir(), w.tool, hex.EncodeToString(sum[:6]))
	switch err := w.box.WriteFile(ctx, path, []byte(full)); {
	case ended(ctx, err) != nil:
		return Result{}, err
	case err != nil:
		out.Note = fmt.Sprintf("the rest could not be kept (%v): ask for less", err)
	default:
		out.Path, out.Note = path, "the whole result is in full_output_path: read on with read_file and its offset, or search it with search_text"
	}
	return success(out)
}

// preview is the head and the tail of a text.
func preview(text string) string {
	head, tail := firstLines(text), lastLines(text)
	if len(head)+len(tail) >= len(text) {
		return text
	}
	return strings.ToValidUTF8(head, "") + previewBreak + strings.ToValidUTF8(tail, "")
}

func firstLines(text string) string {
	text = text[:min(len(text), headBytes)]
	for i, n := 0, 0; i < len(text); i++ {
		if text[i] != '\n' {
			continue
		}
		if n++; n == headLines {
			return text[:i]
		}
	}
	return text
}

func lastLines(text string) string {
	text = text[max(0, len(text)-tailBytes):]
	for i, n := len(text)-1, 0; i >= 0; i-- {
		if text[i] != '\n' {
			continue
		}
		if n++; n == tailLines {
			return text[i+1:]
		}
	}
	return text
}
