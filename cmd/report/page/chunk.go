package page

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/agentclash/agentclash/scoring"
)

const (
	// MaxPage is how many bytes a page has at most.
	MaxPage = 5_000_000
	// chunkText is how much text is packed together. A page opens a chunk in no time,
	// and what trials have in common is written once in it.
	chunkText = 96 << 10
	// maxFacts is how much of a trial's events, as JSON, can be saved from the page.
	maxFacts = 256 << 10
	// allText is the text of all trials that is tried first; what compresses badly
	// has less, but no trial less than leastText.
	allText   = 48 << 20
	mostText  = 1 << 20
	leastText = 4 << 10
	// passes is how often the evidence is packed at most, each time with less text.
	passes = 3
)

// packer packs lines into chunks of a limited size altogether.
type packer struct {
	chunks [][]byte // gzip in base64
	used   int
	room   int
	open   bytes.Buffer
	places []*place // of the lines of the chunk that is open
	full   bool
}

// add puts a line into a chunk. Where there is no room for it the packer is full,
// and the lines of the chunk that was open are nowhere.
func (p *packer) add(line []byte, at *place) error {
	*at = place{len(p.chunks), len(p.places)}
	p.places = append(p.places, at)
	p.open.Write(line)
	p.open.WriteByte('\n')
	if p.open.Len() >= chunkText {
		return p.flush()
	}
	return nil
}

func (p *packer) flush() error {
	if p.open.Len() == 0 {
		return nil
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.DefaultCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(p.open.Bytes()); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	text := []byte(base64.StdEncoding.EncodeToString(b.Bytes()))
	if p.used+len(text)+chunkMarkup > p.room {
		p.full = true
		for _, at := range p.places {
			*at = place{nowhere[0], nowhere[1]}
		}
	} else {
		p.chunks, p.used = append(p.chunks, text), p.used+len(text)+chunkMarkup
	}
	p.open.Reset()
	p.places = nil
	return nil
}

// chunkMarkup is what stands around a chunk in the page.
const chunkMarkup = len(`<script type="text/plain" id="chunk-10000"></script>` + "\n")

// order is the order in which trials get room: what failed or was invalid first.
func (d *document) order() []int {
	list := make([]int, 0, len(d.Rows))
	for i, r := range d.Rows {
		if r.ended() {
			list = append(list, i)
		}
	}
	first := func(i int) int {
		if d.Rows[i].Status == string(scoring.OutcomePassed) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(first(a), first(b)) })
	return list
}

// pack packs the evidence of the rows, then artifacts and events, into at most room
// bytes, and notes where it is.
func (d *document) pack(r Report, room int) ([][]byte, error) {
	order := d.order()
	text := min(max(allText/max(len(order), 1), leastText), mostText)
	for pass := 1; ; pass++ {
		p := &packer{room: room}
		done, err := d.packDetails(p, order, r.Read, text)
		if err != nil {
			return nil, err
		}
		if done == len(order) || pass == passes || text == leastText {
			d.LeftOut.Details = len(order) - d.placed()
			if err := d.packArtifacts(p, r.ReadArtifact); err != nil {
				return nil, err
			}
			err = d.packFacts(p, order[:done], r.Read)
			return p.chunks, err
		}
		// what went in tells how well these texts compress
		text = max(min(text/2, int(float64(text)*0.8*float64(done)/float64(len(order)))), leastText)
	}
}

// placed counts the rows whose evidence is in the page.
func (d *document) placed() (n int) {
	for _, r := range d.Rows {
		if r.evidence.chunk >= 0 {
			n++
		}
	}
	return n
}

func (d *document) packDetails(p *packer, order []int, read func(string) (Evidence, error), text int) (done int, err error) {
	d.LeftOut.Shortened = 0
	for i := range d.Rows {
		d.Rows[i].evidence = place{nowhere[0], nowhere[1]}
	}
	for n, i := range order {
		e, err := read(d.Rows[i].TrialID)
		if err != nil {
			return n, err
		}
		raw, err := NewDetail(e).fit(text)
		if err != nil {
			return n, err
		}
		if !bytes.HasSuffix(raw, []byte(`"left_out_steps":0,"cut_texts":0}`)) {
			d.LeftOut.Shortened++
		}
		if err := p.add(raw, &d.Rows[i].evidence); err != nil {
			return n, err
		}
		if p.full {
			return d.placed(), nil
		}
	}
	if err := p.flush(); err != nil {
		return len(order), err
	}
	if p.full {
		return d.placed(), nil
	}
	return len(order), nil
}

// packFacts adds events while there is room for them.
func (d *document) packFacts(p *packer, order []int, read func(string) (Evidence, error)) error {
	p.full = false
	for _, i := range order {
		e, err := read(d.Rows[i].TrialID)
		if err != nil {
			return err
		}
		raw, err := Facts(e.Events)
		if err != nil {
			return err
		}
		if len(raw) <= maxFacts {
			line, err := json.Marshal(string(raw))
			if err != nil {
				return err
			}
			if err := p.add(line, &d.Rows[i].facts); err != nil {
				return err
			}
		}
		if p.full {
			break
		}
	}
	err := p.flush()
	for _, r := range d.Rows {
		if r.ended() && r.facts.chunk < 0 {
			d.LeftOut.Facts++
		}
	}
	return err
}

// chunkID is the id of the element of a chunk.
func chunkID(i int) string { return "chunk-" + strconv.Itoa(i) }
