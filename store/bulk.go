package store

import (
	"context"
	"database/sql"
	"strings"
)

// bulkRows is how many rows one INSERT carries at most. Ten make a row a fifth
// cheaper than one by one; more than that gains nothing.
const bulkRows = 10

// preparer is a pool or a transaction.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// bulk inserts rows of one shape, several to a statement.
type bulk struct {
	stmts   [bulkRows]*sql.Stmt // for one row, two, ...
	tx      *sql.Tx             // nil: the statements are used as they are
	columns int
	args    []any
}

func newBulk(ctx context.Context, p preparer, table string, columns ...string) (b *bulk, err error) {
	b = &bulk{columns: len(columns)}
	row := "(?" + strings.Repeat(",?", len(columns)-1) + ")"
	query := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES " + row
	for i := range b.stmts {
		if b.stmts[i], err = p.PrepareContext(ctx, query); err != nil { //nolint:sqlclosecheck // close does
			b.close()
			return nil, err
		}
		query += "," + row
	}
	return b, nil
}

// in is the same bulk within a transaction on the connection it was made for.
func (b *bulk) in(tx *sql.Tx) *bulk {
	return &bulk{stmts: b.stmts, tx: tx, columns: b.columns, args: make([]any, 0, bulkRows*b.columns)}
}

// add takes a row, which is in the table after flush at the latest.
func (b *bulk) add(ctx context.Context, values ...any) error {
	b.args = append(b.args, values...)
	if len(b.args) < bulkRows*b.columns {
		return nil
	}
	return b.flush(ctx)
}

// flush inserts the rows that were added and are not in the table yet.
func (b *bulk) flush(ctx context.Context) error {
	n := len(b.args) / b.columns
	if n == 0 {
		return nil
	}
	stmt := b.stmts[n-1]
	if b.tx != nil {
		stmt = b.tx.StmtContext(ctx, stmt) //nolint:sqlclosecheck // ends with its transaction
	}
	_, err := stmt.ExecContext(ctx, b.args...)
	b.args = b.args[:0]
	return err
}

func (b *bulk) close() {
	for _, s := range b.stmts {
		if s != nil {
			_ = s.Close() // closing a statement loses nothing
		}
	}
}
