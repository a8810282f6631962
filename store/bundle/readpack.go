package bundle

import (
	"errors"
	"fmt"
)

// reading is a pack whose files are being read.
type reading struct {
	Pack
	dir   string
	files []string // that are to come, in order
}

// packFile reads a file of a pack, and hands the pack on with its last.
func (r *reader) packFile(name string, content []byte) error {
	if r.pack == nil {
		p := &reading{dir: fmt.Sprintf("%d/", r.seen.Packs+1)}
		if name != p.dir+"pack.json" {
			return errors.New("it is no pack's first file")
		}
		if err := unmarshal(content, &p.Pack); err != nil {
			return err
		}
		p.files = append(p.files, p.dir+"manifest.json")
		if p.Referenced {
			p.files = append(p.files, p.dir+"reference")
		}
		for i := range p.Paths {
			p.files = append(p.files, fmt.Sprintf("%sassets/%d", p.dir, i+1))
		}
		p.Assets = make(map[string][]byte)
		r.pack = p
		return nil
	}
	p := r.pack
	if name != p.files[0] {
		return fmt.Errorf("%s should have come", p.files[0])
	}
	switch name {
	case p.dir + "manifest.json":
		p.Manifest = content
	case p.dir + "reference":
		p.Reference = content
	default:
		path := p.Paths[len(p.Paths)-len(p.files)]
		if _, twice := p.Assets[path]; twice {
			return fmt.Errorf("asset %q comes twice", path)
		}
		p.Assets[path] = content
	}
	if p.files = p.files[1:]; len(p.files) > 0 {
		return nil
	}
	r.pack = nil
	r.seen.Packs++
	return r.put(p.Pack)
}
