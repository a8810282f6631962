package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Why a file is not read. Errors of this package wrap at most one of them.
var (
	// ErrForeign: the file is something else.
	ErrForeign = errors.New("it is no bundle of agentclash")
	// ErrDamaged: the file is not as it was written.
	ErrDamaged = errors.New("the bundle is damaged or incomplete")
	// ErrNewer: a newer agentclash has written it.
	ErrNewer = errors.New("the bundle was written by a newer agentclash")
	// ErrTooLarge: there is more in it than may be.
	ErrTooLarge = errors.New("the bundle is too large")
	// ErrWrong: what it says contradicts itself.
	ErrWrong = errors.New("the bundle contradicts itself")
)

// Limits of what is unpacked.
const (
	DefaultLimit = 8 << 30   // plain bytes of a bundle
	maxEntry     = 512 << 20 // of a blob, a file of a pack, the run with its plan
	maxLines     = 64 << 20  // of a file of lines
	maxHead      = 64 << 10
	maxWindow    = 8 << 20 // of the compression, which is memory
	maxFiles     = 4 << 20 // entries
)

// File is a bundle whose bytes are as they were written. What stands in it may
// still be wrong: see [Check].
type File struct {
	Head   Head
	Digest string // sha256 hex of what the trailer covers
	Bytes  int64  // of the file

	r     io.ReaderAt
	limit int64
}

// Open reads what a file is and checks its digest. At most limit plain bytes are
// ever unpacked of it, the manifest apart.
func Open(r io.ReaderAt, size, limit int64) (*File, error) {
	f := &File{r: r, Bytes: size, limit: limit}
	var magic [4]byte
	if _, err := r.ReadAt(magic[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !bytes.Equal(magic[:], []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		return nil, ErrForeign
	}
	if err := f.head(); err != nil {
		return nil, err
	}
	return f, f.whole()
}

// head reads the first entry: what is not a bundle, or a newer one, is told apart
// from what is damaged.
func (f *File) head() error {
	unzip, err := f.unzip()
	if err != nil {
		return err
	}
	defer unzip.Close()
	archive := tar.NewReader(unzip)
	h, err := archive.Next()
	if err != nil {
		if failed := f.whole(); failed != nil {
			return failed
		}
		return ErrForeign
	}
	if h.Name != headName || h.Size > maxHead {
		return ErrForeign
	}
	content, err := io.ReadAll(archive)
	if err == nil {
		err = json.Unmarshal(content, &f.Head) // one that is newer may say more
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w: read %s: %w", ErrDamaged, headName, err)
	case f.Head.Format != Format:
		return ErrForeign
	case f.Head.Version > Version:
		return fmt.Errorf("%w (%s): its format is %d, this one reads %d", ErrNewer, f.Head.Program, f.Head.Version, Version)
	case f.Head.Version != Version:
		return fmt.Errorf("%w: there is no format %d", ErrForeign, f.Head.Version)
	}
	return nil
}

// whole compares the file with the digest at its end.
func (f *File) whole() error {
	if f.Bytes < trailerBytes {
		return fmt.Errorf("%w: it has %d bytes", ErrDamaged, f.Bytes)
	}
	var end [trailerBytes]byte
	if _, err := f.r.ReadAt(end[:], f.Bytes-trailerBytes); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if binary.LittleEndian.Uint32(end[:]) != trailerMagic || binary.LittleEndian.Uint32(end[4:]) != sha256.Size {
		return fmt.Errorf("%w: its end is missing", ErrDamaged)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f.body()); err != nil {
		return err
	}
	got := sum.Sum(nil)
	if !bytes.Equal(got, end[8:]) {
		return fmt.Errorf("%w: its digest is %.12x, it should be %.12x", ErrDamaged, got, end[8:])
	}
	f.Digest = hex.EncodeToString(got)
	return nil
}

func (f *File) body() io.Reader { return io.NewSectionReader(f.r, 0, f.Bytes-trailerBytes) }

func (f *File) unzip() (*zstd.Decoder, error) {
	return zstd.NewReader(f.body(), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
}

// Read hands the records to sink, whose error ends the reading and is returned as
// it is, and checks them against the manifest. Only when it returns nil has the
// bundle been all that it says.
func (f *File) Read(sink Sink) (Manifest, error) {
	unzip, err := f.unzip()
	if err != nil {
		return Manifest{}, err
	}
	defer unzip.Close()
	r := &reader{archive: tar.NewReader(unzip), sink: sink, left: f.limit, limit: f.limit}
	if err := r.all(); err != nil {
		return Manifest{}, err
	}
	// nothing may come after the archive
	if n, err := io.Copy(io.Discard, io.LimitReader(unzip, maxHead)); err != nil || n > 0 {
		return Manifest{}, fmt.Errorf("%w: there is something after its last entry", ErrDamaged)
	}
	return r.said, nil
}

// reader is one reading of a bundle.
type reader struct {
	archive *tar.Reader
	sink    Sink
	left    int64 // plain bytes that may still come
	limit   int64
	files   int
	rank    int // of the section that was read last
	last    string
	pack    *reading // that is not complete yet
	seen    Manifest // what was there
	said    Manifest // what should have been
	ended   bool
}

// order is the rank of each section.
var order = []string{headName, runName, packsDir, blobsDir, trialsDir, eventsDir, rescoresDir, gatesDir, manifestName}

func (r *reader) all() error {
	for {
		h, err := r.archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%w: after %q: %w", ErrDamaged, r.last, err)
		}
		if err := r.entry(h); err != nil {
			return err
		}
	}
	if !r.ended {
		return fmt.Errorf("%w: it has no %s", ErrDamaged, manifestName)
	}
	if !slices.Equal(r.said.Entries, r.seen.Entries) || r.said.Counts != r.seen.Counts {
		return fmt.Errorf("%w: its entries are not those of its %s", ErrDamaged, manifestName)
	}
	return nil
}

// entry reads one file of the archive.
func (r *reader) entry(h *tar.Header) error {
	rank := slices.IndexFunc(order, func(s string) bool {
		return h.Name == s || strings.HasSuffix(s, "/") && strings.HasPrefix(h.Name, s)
	})
	if r.files++; rank < 0 || rank < r.rank || r.ended || h.Typeflag != tar.TypeReg || r.files > maxFiles {
		return fmt.Errorf("%w: entry %q has no place after %q", ErrDamaged, h.Name, r.last)
	}
	r.rank, r.last = rank, h.Name
	content, err := r.content(h, order[rank])
	if err != nil {
		return err
	}
	if r.pack != nil && !strings.HasPrefix(h.Name, packsDir) {
		return fmt.Errorf("%w: %s is not all there", ErrDamaged, r.pack.place())
	}
	if err := r.section(order[rank], h.Name, content); err != nil {
		var refused *refusal
		if errors.As(err, &refused) {
			return refused.err
		}
		return fmt.Errorf("%w: %s: %w", ErrDamaged, h.Name, err)
	}
	return nil
}

// content reads an entry and takes it down for the manifest.
func (r *reader) content(h *tar.Header, section string) ([]byte, error) {
	most := int64(maxEntry)
	if strings.HasSuffix(section, "/") && section != packsDir && section != blobsDir {
		most = maxLines
	}
	if h.Size < 0 || h.Size > most {
		return nil, fmt.Errorf("%w: %s has %d bytes, at most %d are read", ErrTooLarge, h.Name, h.Size, most)
	}
	if section != manifestName {
		if r.left -= h.Size; r.left < 0 {
			return nil, fmt.Errorf("%w: it unpacks to more than %d bytes", ErrTooLarge, r.limit)
		}
	}
	// no more is set aside than has come: a header may promise anything
	content, err := io.ReadAll(r.archive)
	if err != nil || int64(len(content)) != h.Size {
		return nil, fmt.Errorf("%w: %s is cut short", ErrDamaged, h.Name)
	}
	if section == manifestName {
		return content, nil
	}
	r.seen.PlainBytes += h.Size
	if section != blobsDir {
		sum := sha256.Sum256(content)
		r.seen.Entries = append(r.seen.Entries, Entry{h.Name, h.Size, hex.EncodeToString(sum[:])})
	}
	return content, nil
}

func (r *reader) section(section, name string, content []byte) error {
	switch section {
	case headName:
		return nil // Open has read it
	case runName:
		var run Run
		if err := unmarshal(content, &run); err != nil {
			return err
		}
		return r.put(run)
	case packsDir:
		return r.packFile(strings.TrimPrefix(name, packsDir), content)
	case blobsDir:
		b := Blob{Sum: sha256.Sum256(content), Content: content}
		if name != blobsDir+b.Name() {
			return errors.New("its content is another")
		}
		r.seen.Blobs++
		return r.put(b)
	case manifestName:
		r.ended = true
		return unmarshal(content, &r.said)
	}
	return r.lines(section, content)
}

// refusal is an error of the sink.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }

func (r *reader) put(rec Record) error {
	if err := r.sink.Put(rec); err != nil {
		return &refusal{err}
	}
	return nil
}

// lines reads a file of records.
func (r *reader) lines(section string, content []byte) error {
	for line := range bytes.Lines(content) {
		rec, err := r.line(section, line)
		if err != nil {
			return err
		}
		if err := r.put(rec); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) line(section string, line []byte) (Record, error) {
	switch section {
	case trialsDir:
		r.seen.Trials++
		return decode[Trial](line)
	case eventsDir:
		r.seen.Events++
		return decode[Event](line)
	case gatesDir:
		r.seen.Gates++
		return decode[Gate](line)
	}
	if bytes.HasPrefix(line, []byte(`{"rescoring_id":`)) {
		r.seen.Rescorings++
		return decode[Rescoring](line)
	}
	return decode[Rescored](line)
}

func decode[T Record](line []byte) (Record, error) {
	var v T
	err := unmarshal(line, &v)
	return v, err
}

// unmarshal reads JSON that has no keys but those known.
func unmarshal(content []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after its end")
	}
	return nil
}
