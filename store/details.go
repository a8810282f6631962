package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Details are what takes room in the store.
type Details struct {
	Info
	LogBytes  int64 // of Bytes, what is not in the file yet
	FreeBytes int64 // of Bytes, what new rows will use first
	Trials    int
	Events    int
	Blobs     int
	BlobBytes int64 // plain; in the file they are compressed
	Tables    []TableSize
}

// TableSize is the room that a table and its indexes take.
type TableSize struct {
	Name  string
	Bytes int64
}

// Details reads the whole file: it takes time in proportion to its size.
func (db *DB) Details(ctx context.Context) (Details, error) {
	const doing = "describe store"
	info, err := db.Info(ctx)
	d := Details{Info: info}
	if err != nil {
		return d, err
	}
	if d.LogBytes, err = fileSize(db.path + "-wal"); err != nil {
		return d, fmt.Errorf("%s: %w", doing, err)
	}
	err = one(db.r.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM trials), (SELECT count(*) FROM events), (SELECT count(*) FROM blobs),
		(SELECT coalesce(sum(size), 0) FROM blobs), (SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size)`),
		&d.Trials, &d.Events, &d.Blobs, &d.BlobBytes, &d.FreeBytes)
	if err != nil {
		return d, db.fail(doing, err)
	}
	rows, err := db.r.QueryContext(ctx, `SELECT m.tbl_name, sum(s.pgsize) AS bytes FROM dbstat('main', 1) s JOIN sqlite_schema m ON m.name = s.name
		GROUP BY m.tbl_name ORDER BY bytes DESC, m.tbl_name`)
	err = each(rows, err, func(rows *sql.Rows) error {
		var t TableSize
		err := rows.Scan(&t.Name, &t.Bytes)
		d.Tables = append(d.Tables, t)
		return err
	})
	return d, db.fail(doing, err)
}
