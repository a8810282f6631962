package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// partBytes is how much of an artifact lies in one blob, and so about how much
// memory reading or writing one takes.
const partBytes = 1 << 20

// MaxArtifactBytes is how long an artifact may be.
const MaxArtifactBytes = 512 << 20

// Artifact is a file that was attached to a workspace, a run or a run agent,
// without its bytes.
type Artifact struct {
	ID          string
	Workspace   string
	RunID       string // "" for none
	RunAgentID  string // "" for none
	Type        string
	ContentType string
	Visibility  string
	Metadata    json.RawMessage // an object
	SHA256      string          // hex
	Size        int64
	CreatedAt   time.Time

	content int64 // row
}

// SaveArtifact keeps a file. Content is kept once, however many artifacts have
// it. Who writes waits meanwhile, and a process that dies leaves nothing. An
// artifact of a run agent is one of its run.
func (db *DB) SaveArtifact(ctx context.Context, a Artifact, from io.Reader) (Artifact, error) {
	id := db.newID()
	err := db.write(ctx, "save artifact", func(tx *sql.Tx) error {
		run, agent, err := attachedTo(ctx, tx, a)
		if err != nil {
			return err
		}
		content, err := db.saveParts(ctx, tx, from)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO artifacts (uid, workspace, run_id, agent_id, type, content_type, visibility, metadata, content_id, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, id, workspace(a.Workspace), run, agent, a.Type, a.ContentType, a.Visibility, string(a.Metadata), content, db.stamp())
		return err
	})
	if err != nil {
		return Artifact{}, err
	}
	return db.Artifact(ctx, a.Workspace, id)
}

// attachedTo are the rows of an artifact's run and run agent, nil for none.
func attachedTo(ctx context.Context, tx *sql.Tx, a Artifact) (run, agent any, err error) {
	var row, of int64
	if a.RunAgentID != "" {
		err := tx.QueryRowContext(ctx, "SELECT id, run_id FROM run_agents WHERE uid = ?", a.RunAgentID).Scan(&row, &of)
		if errors.Is(err, sql.ErrNoRows) {
			err = fmt.Errorf("run agent %q: %w", a.RunAgentID, ErrNotFound)
		}
		return of, row, err
	}
	if a.RunID == "" {
		return nil, nil, nil
	}
	err = tx.QueryRowContext(ctx, "SELECT id FROM runs WHERE uid = ?", a.RunID).Scan(&row)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("run %q: %w", a.RunID, ErrNotFound)
	}
	return row, nil, err
}

// saveParts stores a content part by part and returns its row.
func (db *DB) saveParts(ctx context.Context, tx *sql.Tx, from io.Reader) (int64, error) {
	var parts []int64
	sum, size, buffer := sha256.New(), int64(0), make([]byte, partBytes)
	for {
		n, err := io.ReadFull(from, buffer)
		size += int64(n)
		if size > MaxArtifactBytes {
			return 0, fmt.Errorf("it has more than %d MiB", MaxArtifactBytes>>20)
		}
		if n > 0 {
			_, _ = sum.Write(buffer[:n]) // a hash never fails to write
			part, err := db.saveContent(ctx, tx, buffer[:n])
			if err != nil {
				return 0, err
			}
			parts = append(parts, part)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	digest := sum.Sum(nil)
	var row int64
	err := tx.QueryRowContext(ctx, "SELECT id FROM contents WHERE sha256 = ?", digest).Scan(&row)
	if !errors.Is(err, sql.ErrNoRows) {
		return row, err
	}
	if err := tx.QueryRowContext(ctx, "INSERT INTO contents (sha256, size) VALUES (?, ?) RETURNING id", digest, size).Scan(&row); err != nil {
		return 0, err
	}
	for i, part := range parts {
		if _, err := tx.ExecContext(ctx, "INSERT INTO content_parts (content_id, position, blob_id) VALUES (?, ?, ?)", row, i, part); err != nil {
			return 0, err
		}
	}
	return row, nil
}

const artifactColumns = `SELECT a.uid, a.workspace, coalesce(r.uid, ''), coalesce(g.uid, ''), a.type, a.content_type, a.visibility, a.metadata,
	c.sha256, c.size, a.created_at, a.content_id FROM artifacts a JOIN contents c ON c.id = a.content_id
	LEFT JOIN runs r ON r.id = a.run_id LEFT JOIN run_agents g ON g.id = a.agent_id `

func scanArtifact(scan func(...any) error) (a Artifact, err error) {
	var sum []byte
	var metadata string
	var created sql.NullInt64
	if err := scan(&a.ID, &a.Workspace, &a.RunID, &a.RunAgentID, &a.Type, &a.ContentType, &a.Visibility, &metadata, &sum, &a.Size, &created, &a.content); err != nil {
		return a, err
	}
	if !json.Valid([]byte(metadata)) {
		return a, fmt.Errorf("artifact %q: %w", a.ID, ErrCorrupt)
	}
	a.Metadata, a.SHA256, a.CreatedAt = json.RawMessage(metadata), hex.EncodeToString(sum), clock(created)
	return a, nil
}

// ArtifactFilter says which artifacts are listed; empty fields take all.
type ArtifactFilter struct {
	Workspace  string
	RunID      string
	RunAgentID string
	Type       string
	Limit      int // 0: all
	Offset     int
}

// Artifacts lists artifacts, newest first, and says how many there are in all.
func (db *DB) Artifacts(ctx context.Context, f ArtifactFilter) (list []Artifact, total int, err error) {
	if db.schema < resourceSchema {
		return nil, 0, nil
	}
	const doing = "list artifacts"
	const where = `WHERE a.workspace = ?1 AND (?2 = '' OR r.uid = ?2) AND (?3 = '' OR g.uid = ?3) AND (?4 = '' OR a.type = ?4)`
	args := []any{workspace(f.Workspace), f.RunID, f.RunAgentID, f.Type}
	err = db.r.QueryRowContext(ctx, `SELECT count(*) FROM artifacts a LEFT JOIN runs r ON r.id = a.run_id LEFT JOIN run_agents g ON g.id = a.agent_id `+where, args...).Scan(&total)
	if err != nil {
		return nil, 0, db.fail(doing, err)
	}
	limit := f.Limit
	if limit == 0 {
		limit = -1
	}
	rows, err := db.r.QueryContext(ctx, artifactColumns+where+" ORDER BY a.created_at DESC, a.id DESC LIMIT ?5 OFFSET ?6", append(args, limit, f.Offset)...)
	err = each(rows, err, func(rows *sql.Rows) error {
		a, err := scanArtifact(rows.Scan)
		list = append(list, a)
		return err
	})
	if err != nil {
		return nil, 0, db.fail(doing, err)
	}
	return list, total, nil
}

// Artifact finds one artifact of a workspace: by its id, or by six or more digits
// of its end.
func (db *DB) Artifact(ctx context.Context, ws, selector string) (Artifact, error) {
	doing := fmt.Sprintf("find artifact %q", selector)
	if db.schema < resourceSchema {
		return Artifact{}, fmt.Errorf("%s: %w", doing, ErrNotFound)
	}
	var c candidates
	err := c.gather(db.r.QueryContext(ctx, `SELECT id, uid, type FROM artifacts WHERE workspace = ?1 AND (uid = ?2 OR `+tailMatches("uid", "?3")+`
		OR ?2 = '`+Latest+`' AND id = (SELECT max(id) FROM artifacts WHERE workspace = ?1)) ORDER BY id DESC`,
		workspace(ws), selector, tail(selector)))
	if err != nil {
		return Artifact{}, db.fail(doing, err)
	}
	row, err := c.pick("artifact", selector)
	if err != nil {
		return Artifact{}, db.fail(doing, err)
	}
	a, err := scanArtifact(db.r.QueryRowContext(ctx, artifactColumns+"WHERE a.id = ?", row).Scan)
	return a, db.fail(doing, err)
}

// ReadArtifact writes the bytes of an artifact. The last part is handed on only
// when length and SHA-256 of the whole are what was stored: else ErrCorrupt. One that
// was deleted meanwhile is ErrNotFound.
func (db *DB) ReadArtifact(ctx context.Context, a Artifact, to io.Writer) error {
	doing := fmt.Sprintf("read artifact %q", a.ID)
	err := db.readArtifact(ctx, doing, a, to)
	if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotFound) && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	var there bool // its rows, and its bytes, may be another's by now
	if e := db.r.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM artifacts WHERE uid = ?)", a.ID).Scan(&there); e != nil || there {
		return err
	}
	return fmt.Errorf("%s: %w: it was deleted meanwhile", doing, ErrNotFound)
}

func (db *DB) readArtifact(ctx context.Context, doing string, a Artifact, to io.Writer) error {
	want, err := hex.DecodeString(a.SHA256)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	var parts []int64
	rows, err := db.r.QueryContext(ctx, "SELECT blob_id FROM content_parts WHERE content_id = ? ORDER BY position", a.content)
	err = each(rows, err, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		parts = append(parts, id)
		return err
	})
	if err != nil {
		return db.fail(doing, err)
	}
	sum, size := sha256.New(), int64(0)
	for i, id := range parts {
		part, err := db.content(ctx, id)
		if err != nil {
			return db.fail(doing, err)
		}
		_, _ = sum.Write(part) // a hash never fails to write
		size += int64(len(part))
		if i == len(parts)-1 && (size != a.Size || !bytes.Equal(sum.Sum(nil), want)) {
			return fmt.Errorf("%s: %w: its bytes are not the %d of %s", doing, ErrCorrupt, a.Size, a.SHA256)
		}
		if _, err := to.Write(part); err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
	if size != a.Size {
		return fmt.Errorf("%s: %w: it has %d bytes of %d", doing, ErrCorrupt, size, a.Size)
	}
	return nil
}
