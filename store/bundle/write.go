package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// The sections of the archive, in their order.
const (
	headName     = "bundle.json"
	runName      = "run.json"
	packsDir     = "packs/"
	blobsDir     = "blobs/"
	trialsDir    = "trials/"
	eventsDir    = "events/"
	rescoresDir  = "rescorings/"
	gatesDir     = "gates/"
	manifestName = "manifest.json"
)

const (
	lineBytes = 4 << 20 // after which a file of lines is full
	window    = 1 << 20 // of the compression
)

// The trailer is a skippable frame of zstd: its magic number, the length of what
// it holds, and the digest.
const (
	trailerMagic = 0x184D2A50
	trailerBytes = 8 + sha256.Size
)

// Manifest is the last entry.
type Manifest struct {
	Entries []Entry `json:"entries"` // all but the blobs, whose names are their digests
	Counts
}

// Counts are how many records of each kind a bundle has.
type Counts struct {
	Packs      int   `json:"packs"`
	Blobs      int   `json:"blobs"`
	Trials     int   `json:"trials"`
	Events     int   `json:"events"`
	Rescorings int   `json:"rescorings"`
	Gates      int   `json:"gates"`
	PlainBytes int64 `json:"plain_bytes"` // of all entries before the manifest
}

// Entry is a file of the archive.
type Entry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Inspect looks at what is about to be written and may refuse it; place says for
// people what it is.
type Inspect func(place string, content []byte) error

// Writer writes a bundle, record by record. It is a [Sink].
type Writer struct {
	out      io.Writer // the file and sum
	sum      hash.Hash
	zip      *zstd.Encoder
	tar      *tar.Writer
	inspect  Inspect
	section  string       // of lines
	files    int          // of the section
	lines    bytes.Buffer // of the file that is filled
	manifest Manifest
}

// NewWriter begins a bundle. A nil inspect lets everything through.
func NewWriter(w io.Writer, head Head, inspect Inspect) (*Writer, error) {
	b := &Writer{sum: sha256.New(), inspect: inspect}
	b.out = io.MultiWriter(w, b.sum)
	zip, err := zstd.NewWriter(b.out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	b.zip, b.tar = zip, tar.NewWriter(zip)
	head.Format, head.Version = Format, Version
	return b, b.document(headName, "its head", head)
}

// Put writes a record, or refuses it.
func (w *Writer) Put(r Record) error {
	switch r := r.(type) {
	case Run:
		return w.document(runName, r.place(), r)
	case Pack:
		return w.pack(r)
	case Blob:
		w.manifest.Blobs++
		return w.entry(blobsDir+r.Name(), r.place(), r.Content)
	case Trial:
		w.manifest.Trials++
		return w.line(trialsDir, r)
	case Event:
		w.manifest.Events++
		return w.line(eventsDir, r)
	case Rescoring:
		w.manifest.Rescorings++
		return w.line(rescoresDir, r)
	case Rescored:
		return w.line(rescoresDir, r)
	case Gate:
		w.manifest.Gates++
		return w.line(gatesDir, r)
	}
	return fmt.Errorf("a bundle has no %T", r)
}

func (w *Writer) pack(p Pack) error {
	w.manifest.Packs++
	dir := fmt.Sprintf("%s%d/", packsDir, w.manifest.Packs)
	p.Paths, p.Referenced = make([]string, 0, len(p.Assets)), len(p.Reference) > 0
	for path := range p.Assets {
		p.Paths = append(p.Paths, path)
	}
	slices.Sort(p.Paths)
	if err := w.document(dir+"pack.json", p.place(), p); err != nil {
		return err
	}
	if err := w.entry(dir+"manifest.json", "the manifest of "+p.place(), p.Manifest); err != nil {
		return err
	}
	if p.Referenced {
		if err := w.entry(dir+"reference", "the reference agent of "+p.place(), p.Reference); err != nil {
			return err
		}
	}
	for i, path := range p.Paths {
		if err := w.entry(fmt.Sprintf("%sassets/%d", dir, i+1), fmt.Sprintf("asset %q of %s", path, p.place()), p.Assets[path]); err != nil {
			return err
		}
	}
	return nil
}

// document writes a value as an entry of its own.
func (w *Writer) document(name, place string, v any) error {
	content, err := marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", place, err)
	}
	return w.entry(name, place, content)
}

// entry writes a file of the archive.
func (w *Writer) entry(name, place string, content []byte) error {
	if err := w.look(place, content); err != nil {
		return err
	}
	if err := w.fill(""); err != nil {
		return err
	}
	return w.add(name, content)
}

func (w *Writer) look(place string, content []byte) error {
	if w.inspect == nil {
		return nil
	}
	return w.inspect(place, content)
}

// line adds a record to the lines of a section.
func (w *Writer) line(section string, r Record) error {
	text, err := marshal(r)
	if err != nil {
		return fmt.Errorf("write %s: %w", r.place(), err)
	}
	if err := w.look(r.place(), text); err != nil {
		return err
	}
	if section != w.section || w.lines.Len() > 0 && w.lines.Len()+len(text) > lineBytes {
		if err := w.fill(section); err != nil {
			return err
		}
	}
	w.lines.Write(text)
	w.lines.WriteByte('\n')
	return nil
}

// fill ends the file of lines that is being filled; section is that of the next.
func (w *Writer) fill(section string) error {
	if w.lines.Len() > 0 {
		w.files++
		if err := w.add(fmt.Sprintf("%s%06d.ndjson", w.section, w.files), w.lines.Bytes()); err != nil {
			return err
		}
		w.lines.Reset()
	}
	if section != w.section {
		w.section, w.files = section, 0
	}
	return nil
}

func (w *Writer) add(name string, content []byte) error {
	// no date, owner or mode of its own: the same run gives the same bytes
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o644, Format: tar.FormatUSTAR}
	if err := w.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if _, err := w.tar.Write(content); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if name == manifestName {
		return nil
	}
	w.manifest.PlainBytes += int64(len(content))
	if !strings.HasPrefix(name, blobsDir) {
		sum := sha256.Sum256(content)
		w.manifest.Entries = append(w.manifest.Entries, Entry{name, int64(len(content)), hex.EncodeToString(sum[:])})
	}
	return nil
}

// Close writes what is left, the manifest and the digest of the whole. It returns
// the digest, in hex. The file underneath is the caller's to close.
func (w *Writer) Close() (Manifest, string, error) {
	if err := w.fill(""); err != nil {
		return Manifest{}, "", err
	}
	content, err := marshal(w.manifest)
	if err == nil {
		err = w.add(manifestName, content)
	}
	if err == nil {
		err = w.tar.Close()
	}
	if err == nil {
		err = w.zip.Close()
	}
	if err != nil {
		return Manifest{}, "", err
	}
	sum := w.sum.Sum(nil)
	if _, err := w.out.Write(trailer(sum)); err != nil {
		return Manifest{}, "", err
	}
	return w.manifest, hex.EncodeToString(sum), nil
}

func trailer(sum []byte) []byte {
	t := binary.LittleEndian.AppendUint32(nil, trailerMagic)
	t = binary.LittleEndian.AppendUint32(t, uint32(len(sum))) //nolint:gosec // 32
	return append(t, sum...)
}

// marshal writes JSON with every character as it is: payloads keep their bytes.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
