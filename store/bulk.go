package store

import (
	"context"
	"database/sql"
	"strings"
)

// bulkRows is how many rows one INSERT carries. Ten make a row a fifth cheaper
// than one by one; more than that gains nothing.
const bulkRows = 10

// preparer is a pool or a transaction.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// bulk inserts rows of one shape, several to a statement.
type bulk struct {
	full, single *sql.Stmt
	columns      int
	args         []any
}

func newBulk(ctx context.Context, p preparer, table string, columns ...string) (*bulk, error) {
	row := "(?" + strings.Repeat(",?", len(columns)-1) + ")"
	head := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES " + row
	single, err := p.PrepareContext(ctx, head)
	if err != nil {
		return nil, err
	}
	full, err := p.PrepareContext(ctx, head+strings.Repeat(","+row, bulkRows-1))
	if err != nil {
		_ = single.Close() // the first error is the one to tell
		return nil, err
	}
	return &bulk{full: full, single: single, columns: len(columns)}, nil
}

// in is the same bulk within a transaction on the connection it was made for.
func (b *bulk) in(ctx context.Context, tx *sql.Tx) *bulk {
	return &bulk{full: tx.StmtContext(ctx, b.full), single: tx.StmtContext(ctx, b.single),
		columns: b.columns, args: b.args[:0]}
}

// add takes a row, which is in the table after flush at the latest.
func (b *bulk) add(ctx context.Context, values ...any) error {
	b.args = append(b.args, values...)
	if len(b.args) < bulkRows*b.columns {
		return nil
	}
	_, err := b.full.ExecContext(ctx, b.args...)
	b.args = b.args[:0]
	return err
}

func (b *bulk) flush(ctx context.Context) error {
	for i := 0; i < len(b.args); i += b.columns {
		if _, err := b.single.ExecContext(ctx, b.args[i:i+b.columns]...); err != nil {
			return err
		}
	}
	b.args = b.args[:0]
	return nil
}

func (b *bulk) close() {
	_ = b.full.Close() // closing a statement loses nothing
	_ = b.single.Close()
}
