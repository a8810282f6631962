package query

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

const pointerSize = bits.UintSize / 8

// runSQL reads a database that is in memory only. SQLite is told that the file
// is not to be trusted; no other database can be attached, and no extension
// loaded. It is called below the driver for database/sql, which rewrites values
// by the declared types of their columns and runs several statements at once.
func runSQL(q Question, o *output) error {
	file, err := database(q.Data, q.WAL)
	if err != nil {
		return err
	}
	if strings.ContainsRune(q.Query, 0) {
		return refuse("the query holds a NUL character")
	}
	db, err := openDB(file)
	if err != nil {
		return err
	}
	return db.query(q.Query, o)
}

type db struct {
	tls    *libc.TLS
	handle uintptr
	cell   uintptr // room for a pointer that SQLite hands back
	tail   uintptr // and for another
}

// openDB never closes: the process ends with the question.
func openDB(file []byte) (*db, error) {
	tls := libc.NewTLS()
	d := &db{tls: tls, cell: tls.Alloc(16), tail: tls.Alloc(16)}
	name, err := libc.CString(":memory:")
	if err != nil {
		return nil, err
	}
	const how = sqlite3.SQLITE_OPEN_READWRITE | sqlite3.SQLITE_OPEN_MEMORY | sqlite3.SQLITE_OPEN_NOMUTEX
	rc := sqlite3.Xsqlite3_open_v2(tls, name, d.cell, how, 0)
	if d.handle = pointer(d.cell); rc != sqlite3.SQLITE_OK {
		return nil, d.failure(rc)
	}
	for id, value := range map[int32]int32{
		sqlite3.SQLITE_LIMIT_LENGTH:              32 << 20,
		sqlite3.SQLITE_LIMIT_SQL_LENGTH:          MaxQuery + 1,
		sqlite3.SQLITE_LIMIT_ATTACHED:            0,
		sqlite3.SQLITE_LIMIT_WORKER_THREADS:      0,
		sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000,
	} {
		sqlite3.Xsqlite3_limit(tls, d.handle, id, value)
	}
	for _, pragma := range []string{"trusted_schema=OFF", "cell_size_check=ON", "temp_store=MEMORY", "query_only=ON"} {
		if err := d.query("PRAGMA "+pragma, &output{}); err != nil {
			return nil, err
		}
	}
	return d, d.load(file)
}

// load makes a file's bytes the database, read-only.
func (d *db) load(file []byte) error {
	if len(file) == 0 {
		return nil // an empty file is an empty database
	}
	data, err := libc.CString(string(file))
	if err != nil {
		return err
	}
	schema, err := libc.CString("main")
	if err != nil {
		return err
	}
	size := int64(len(file))
	rc := sqlite3.Xsqlite3_deserialize(d.tls, d.handle, schema, data, size, size, sqlite3.SQLITE_DESERIALIZE_READONLY)
	if rc != sqlite3.SQLITE_OK {
		return d.failure(rc)
	}
	return nil
}

func (d *db) failure(rc int32) error {
	if d.handle == 0 {
		return refuse("sqlite: %s", libc.GoString(sqlite3.Xsqlite3_errstr(d.tls, rc)))
	}
	return refuse("sqlite: %s", libc.GoString(sqlite3.Xsqlite3_errmsg(d.tls, d.handle)))
}

// query runs the one statement of a text.
func (d *db) query(text string, o *output) error {
	sql, err := libc.CString(text)
	if err != nil {
		return err
	}
	statement, rest, err := d.next(sql)
	if err != nil {
		return err
	}
	if statement == 0 {
		return refuse("the query holds no statement")
	}
	if more, _, err := d.next(rest); err != nil || more != 0 {
		return refuse("one statement at a time, please: the query goes on after the first")
	}
	if sqlite3.Xsqlite3_stmt_readonly(d.tls, statement) == 0 {
		return refuse("query_sql only reads: change the database with a program of your own")
	}
	return d.rows(statement, o)
}

// next prepares the next statement of a text, 0 when there is none.
func (d *db) next(sql uintptr) (statement, rest uintptr, err error) {
	for libc.GoString(sql) != "" {
		if rc := sqlite3.Xsqlite3_prepare_v2(d.tls, d.handle, sql, -1, d.cell, d.tail); rc != sqlite3.SQLITE_OK {
			return 0, 0, d.failure(rc)
		}
		if sql = pointer(d.tail); pointer(d.cell) != 0 {
			return pointer(d.cell), sql, nil
		}
	}
	return 0, sql, nil
}

// rows writes the result as an array of objects whose members stand in the
// order of the columns.
func (d *db) rows(statement uintptr, o *output) error {
	keys := d.keys(statement)
	o.buf.WriteByte('[')
	for {
		switch rc := sqlite3.Xsqlite3_step(d.tls, statement); rc {
		case sqlite3.SQLITE_ROW:
		case sqlite3.SQLITE_DONE:
			o.buf.WriteByte(']')
			return nil
		default:
			return d.failure(rc)
		}
		row := d.row(statement, keys)
		if o.Truncated = o.Count == MaxRows; o.Truncated || !o.room(len(row)+2) {
			o.buf.WriteByte(']')
			return nil
		}
		if o.Count > 0 {
			o.buf.WriteString(",\n")
		}
		o.buf.Write(row)
		o.Count++
	}
}

// keys are the column names as JSON; of several with one name the later ones
// get a number, since an object holds a key once.
func (d *db) keys(statement uintptr) [][]byte {
	seen := map[string]bool{}
	keys := make([][]byte, sqlite3.Xsqlite3_column_count(d.tls, statement))
	for i := range keys {
		base := libc.GoString(sqlite3.Xsqlite3_column_name(d.tls, statement, int32(i)))
		name := base
		for n := 2; seen[name]; n++ {
			name = fmt.Sprintf("%s:%d", base, n)
		}
		seen[name] = true
		keys[i] = quoted(name)
	}
	return keys
}

func (d *db) row(statement uintptr, keys [][]byte) []byte {
	var b bytes.Buffer
	for i, key := range keys {
		b.WriteByte("{,"[min(i, 1)])
		b.Write(key)
		b.WriteByte(':')
		b.Write(d.value(statement, int32(i)))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// value is one value of a row as JSON: a blob as its SQL literal, an infinite
// number as text.
func (d *db) value(statement uintptr, i int32) []byte {
	switch sqlite3.Xsqlite3_column_type(d.tls, statement, i) {
	case sqlite3.SQLITE_INTEGER:
		return strconv.AppendInt(nil, sqlite3.Xsqlite3_column_int64(d.tls, statement, i), 10)
	case sqlite3.SQLITE_FLOAT:
		return float(sqlite3.Xsqlite3_column_double(d.tls, statement, i))
	case sqlite3.SQLITE_TEXT:
		text := sqlite3.Xsqlite3_column_text(d.tls, statement, i)
		return quoted(string(libc.GoBytes(text, int(sqlite3.Xsqlite3_column_bytes(d.tls, statement, i)))))
	case sqlite3.SQLITE_BLOB:
		blob := sqlite3.Xsqlite3_column_blob(d.tls, statement, i)
		return quoted("x'" + hex.EncodeToString(libc.GoBytes(blob, int(sqlite3.Xsqlite3_column_bytes(d.tls, statement, i)))) + "'")
	}
	return []byte("null")
}

func float(f float64) []byte {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return quoted(strconv.FormatFloat(f, 'g', -1, 64))
	}
	b, err := json.Marshal(f)
	if err != nil {
		return []byte("null") // a finite number always marshals
	}
	if !bytes.ContainsAny(b, ".e") {
		b = append(b, ".0"...) // it is not an integer in the database either
	}
	return b
}

func quoted(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(strings.ToValidUTF8(s, "\uFFFD")); err != nil {
		return []byte(`""`) // a string always encodes
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// pointer reads what SQLite wrote to a cell.
func pointer(cell uintptr) uintptr {
	b := libc.GoBytes(cell, pointerSize)
	if pointerSize == 8 {
		return uintptr(binary.NativeEndian.Uint64(b))
	}
	return uintptr(binary.NativeEndian.Uint32(b))
}
