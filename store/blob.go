package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// inlineBytes is the largest payload that stays in its row. Larger ones become
// blobs: a page of the file is 4 KiB, and what does not fit is chained.
const inlineBytes = 4 << 10

// maxBlobBytes bounds one blob, and what a damaged file may make us allocate.
const maxBlobBytes = 512 << 20

// blob is content on its way into the blobs table.
type blob struct {
	sum  [sha256.Size]byte
	size int
	data []byte // a zstd frame
}

func newCompressor() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
}

func newDecompressor() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxBlobBytes))
}

// compress makes a blob of content. It needs no turn at the database.
func (db *DB) compress(content []byte) (*blob, error) {
	if len(content) > maxBlobBytes {
		return nil, fmt.Errorf("%d bytes are more than the %d that fit in one blob", len(content), maxBlobBytes)
	}
	zip, err := db.zip()
	if err != nil {
		return nil, err
	}
	return &blob{sum: sha256.Sum256(content), size: len(content), data: zip.EncodeAll(content, nil)}, nil
}

// saveBlob stores content once and returns its row.
func saveBlob(ctx context.Context, tx *sql.Tx, b *blob) (int64, error) {
	var id int64
	err := tx.QueryRowContext(ctx, "SELECT id FROM blobs WHERE sha256 = ?", b.sum[:]).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	err = tx.QueryRowContext(ctx, "INSERT INTO blobs (sha256, size, data) VALUES (?, ?, ?) RETURNING id",
		b.sum[:], b.size, b.data).Scan(&id)
	return id, err
}

// saveContent compresses and stores content.
func (db *DB) saveContent(ctx context.Context, tx *sql.Tx, content []byte) (int64, error) {
	b, err := db.compress(content)
	if err != nil {
		return 0, err
	}
	return saveBlob(ctx, tx, b)
}

// content reads a blob back and checks that it is what was stored.
func (db *DB) content(ctx context.Context, id int64) ([]byte, error) {
	var sum, data []byte
	var size int
	err := db.r.QueryRowContext(ctx, "SELECT sha256, size, data FROM blobs WHERE id = ?", id).Scan(&sum, &size, &data)
	if err != nil {
		return nil, err
	}
	return db.unpack(sum, size, data)
}

// unpack makes content of a blob's row and checks that it is what was stored.
func (db *DB) unpack(sum []byte, size int, data []byte) ([]byte, error) {
	unzip, err := db.unzip()
	if err != nil {
		return nil, err
	}
	if size < 0 || size > maxBlobBytes {
		return nil, fmt.Errorf("%w: blob %x says it has %d bytes", ErrCorrupt, sum, size)
	}
	plain, err := unzip.DecodeAll(data, make([]byte, 0, size))
	if err != nil {
		return nil, fmt.Errorf("%w: blob %x: %w", ErrCorrupt, sum, err)
	}
	if got := sha256.Sum256(plain); !bytes.Equal(got[:], sum) {
		return nil, fmt.Errorf("%w: blob %x holds other content", ErrCorrupt, sum)
	}
	return plain, nil
}
