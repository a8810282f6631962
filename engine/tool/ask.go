package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/engine/tool/query"
	"github.com/agentclash/agentclash/sandbox"
)

// hotJournal begins a rollback journal that has something to roll back.
const hotJournal = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"

var errNoQueries = errors.New("nothing was set up to answer queries")

func queryJSON(ctx context.Context, at workplace, raw json.RawMessage) (Result, error) {
	var args struct {
		Query  string `json:"query"`
		File   string `json:"file_path"`
		JSON   string `json:"json"`
		Output string `json:"output_path"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return Result{}, err
	}
	q := query.Question{Language: query.JQ, Query: args.Query, Data: []byte(args.JSON)}
	inFile, inline := strings.TrimSpace(args.File) != "", strings.TrimSpace(args.JSON) != ""
	if inFile == inline {
		return Result{}, errors.New("give either file_path or json, and not both")
	}
	if inFile {
		var err error
		if q.Data, err = at.copyOf(ctx, args.File); err != nil {
			return Result{}, err
		}
	}
	a, err := at.ask(ctx, q)
	if err != nil {
		return Result{}, err
	}
	if args.Output != "" {
		return at.write(ctx, args.Output, a, map[string]any{"query": args.Query})
	}
	return at.wrap(ctx, struct {
		Query  string          `json:"query"`
		Result json.RawMessage `json:"result"`
		Note   string          `json:"note,omitempty"`
	}{args.Query, resultOf(a), note(a)})
}

// resultOf is what jq said as one value: null for nothing, the value itself,
// or a list of several.
func resultOf(a query.Answer) json.RawMessage {
	lines := bytes.TrimSuffix(a.Output, []byte("\n"))
	switch a.Count {
	case 0:
		return json.RawMessage("null")
	case 1:
		return lines
	}
	return fmt.Appendf(nil, "[%s]", bytes.ReplaceAll(lines, []byte("\n"), []byte(",")))
}

func note(a query.Answer) string {
	if !a.Truncated {
		return ""
	}
	return fmt.Sprintf("there are more than these %d results: ask for less", a.Count)
}

func querySQL(ctx context.Context, at workplace, raw json.RawMessage) (Result, error) {
	var args struct {
		Engine   string `json:"engine"`
		Query    string `json:"query"`
		Database string `json:"database_path"`
		Output   string `json:"output_path"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return Result{}, err
	}
	switch {
	case !strings.EqualFold(strings.TrimSpace(args.Engine), query.SQLite):
		return Result{}, fmt.Errorf("there is no engine %q: only %s", clip(args.Engine, 100), query.SQLite)
	case strings.TrimSpace(args.Database) == "":
		return Result{}, errors.New("database_path is required")
	}
	q := query.Question{Language: query.SQLite, Query: args.Query}
	var err error
	if q.Data, err = at.copyOf(ctx, args.Database); err != nil {
		return Result{}, err
	}
	if q.WAL, err = at.log(ctx, args.Database); err != nil {
		return Result{}, err
	}
	a, err := at.ask(ctx, q)
	if err != nil {
		return Result{}, err
	}
	if args.Output != "" {
		return at.write(ctx, args.Output, a, map[string]any{"engine": query.SQLite, "query": args.Query})
	}
	return at.wrap(ctx, struct {
		Engine string          `json:"engine"`
		Query  string          `json:"query"`
		Rows   json.RawMessage `json:"rows"`
		Note   string          `json:"note,omitempty"`
	}{query.SQLite, args.Query, a.Output, note(a)})
}

// copyOf reads a file that is to be asked about.
func (w workplace) copyOf(ctx context.Context, given string) ([]byte, error) {
	path, err := w.path(strings.TrimSpace(given))
	if err != nil {
		return nil, err
	}
	f, err := w.box.ReadFile(ctx, path, query.MaxData)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", given, err)
	}
	if f.Size > int64(len(f.Data)) {
		return nil, fmt.Errorf("%s is %d MiB long: at most %d MiB are asked about", given, f.Size>>20, query.MaxData>>20)
	}
	return f.Data, nil
}

// log reads the write-ahead log beside a database, if there is one. A rollback
// journal with something in it means that the file alone is not to be trusted.
func (w workplace) log(ctx context.Context, database string) ([]byte, error) {
	path, err := w.path(strings.TrimSpace(database))
	if err != nil {
		return nil, err
	}
	switch j, err := w.box.ReadFile(ctx, path+"-journal", int64(len(hotJournal))); {
	case ended(ctx, err) != nil:
		return nil, err
	case err == nil && string(j.Data) == hotJournal:
		return nil, fmt.Errorf("a transaction on %s is under way or was cut off (its -journal is there): end it, or open the database with a program of your own, and ask again", database)
	}
	wal, err := w.box.ReadFile(ctx, path+"-wal", query.MaxData)
	switch {
	case ended(ctx, err) != nil:
		return nil, err
	case err != nil:
		return nil, nil // none, or nothing that SQLite would take for one
	case wal.Size > int64(len(wal.Data)):
		return nil, fmt.Errorf("the log of %s is longer than %d MiB", database, query.MaxData>>20)
	}
	return wal.Data, nil
}

func (w workplace) ask(ctx context.Context, q query.Question) (query.Answer, error) {
	if w.queries == nil {
		return query.Answer{}, unanswered(errNoQueries)
	}
	a, err := w.queries.Ask(ctx, q)
	var refused *query.Error
	if err != nil && !errors.As(err, &refused) && ctx.Err() == nil {
		err = unanswered(err)
	}
	return a, err
}

// unanswered is this machine's failure, not the agent's: it ends the trial.
func unanswered(err error) error {
	return &sandbox.BoxError{Kind: sandbox.Engine, Detail: "this machine could not answer a query", Err: err}
}

// write puts an answer into a file instead of showing it.
func (w workplace) write(ctx context.Context, given string, a query.Answer, out map[string]any) (Result, error) {
	path, err := w.path(strings.TrimSpace(given))
	if err != nil {
		return Result{}, err
	}
	if err := w.box.WriteFile(ctx, path, a.Output); err != nil {
		return Result{}, fmt.Errorf("%s: %w", given, err)
	}
	out["output_path"], out["written"], out["total_bytes"] = strings.TrimSpace(given), true, len(a.Output)
	if n := note(a); n != "" {
		out["note"] = n
	}
	return w.wrap(ctx, out)
}
