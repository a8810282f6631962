package similarity

import "math/bits"

// The number of edits between two sequences and the length of their longest
// common subsequence, worked out 64 cells at a time: a word holds how the
// cells of one column of the classic table differ from the cell above. The
// results are exact.

const wordBits = 64

// trimmed takes away what two sequences begin and end with alike.
func trimmed[T comparable](a, b []T) (restA, restB []T) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

// firstBand is how many edits are tried first, beside those that the lengths
// ask for.
const firstBand = wordBits

// Edits is the Levenshtein distance of two texts: the least number of runes to
// insert, delete or replace. The time is len(a)*len(b)/64 at worst, times a
// small constant; few edits are found near the diagonal of the table, so a
// narrow band is tried before wider ones and the whole.
func Edits(a, b []rune) int {
	a, b = trimmed(a, b)
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 0 {
		return len(b)
	}
	known := make(map[rune]int32)
	t := editTable{rows: symbols(a, known), columns: symbols(b, known), across: make([]int8, len(b))}
	t.equal = make([]uint64, len(known))
	for most := len(b) - len(a) + firstBand; most < len(b)/4; most *= 4 {
		if d := t.within(most); d <= most {
			return d
		}
	}
	return t.within(len(b))
}

// symbols writes a text as small numbers, the same for the same rune.
func symbols(text []rune, known map[rune]int32) []int32 {
	out := make([]int32, len(text))
	for i, r := range text {
		id, ok := known[r]
		if !ok {
			id = int32(len(known))
			known[r] = id
		}
		out[i] = id
	}
	return out
}

// editTable is the classic table of two sequences, the longer one across,
// worked out in blocks of 64 rows.
type editTable struct {
	rows, columns []int32
	equal         []uint64 // by symbol: the rows of the block that hold it
	across        []int8   // by column: the step from the cell to its left, in the last row so far
}

// within is the edit distance when it is at most most; otherwise it is some
// number greater than that. Of so many edits only some can be insertions and
// only some deletions, so that cells further to the right or to the left of the
// diagonal are not looked at. What comes in from there counts one more for each
// step, which is never too little.
func (t *editTable) within(most int) int {
	longer := len(t.columns) - len(t.rows)
	right, left := (most+longer)/2, (most-longer)/2
	for j := range t.across {
		t.across[j] = 1
	}
	distance := 0 // of the cell before the first column of the block, in the last row so far
	from := 0
	for top := 0; top < len(t.rows); top += wordBits {
		block := t.rows[top:min(top+wordBits, len(t.rows))]
		start := max(0, top-left)
		for ; from < start; from++ {
			distance += int(t.across[from])
		}
		t.block(block, start, min(len(t.columns), top+len(block)+right))
		distance += len(block)
	}
	for ; from < len(t.columns); from++ {
		distance += int(t.across[from])
	}
	return distance
}

// block takes the row above a block through the block, from one column up to
// another (Myers 1999, in the form for blocks of Hyyrö 2003).
func (t *editTable) block(rows []int32, start, end int) {
	for i, symbol := range rows {
		t.equal[symbol] |= 1 << i
	}
	last := uint(len(rows)-1) % wordBits
	equals, across := t.equal, t.across[start:end]
	up, down := ^uint64(0), uint64(0) // rows that are one more, one less than the one above
	for j, symbol := range t.columns[start:end] {
		in := int64(across[j])
		inMore, inLess := uint64(-in)>>63, uint64(in)>>63
		equal := equals[symbol]
		diagonal := equal | down
		equal |= inLess
		zero := (((equal & up) + up) ^ up) | equal
		more, less := down|^(zero|up), up&zero
		across[j] = int8(more>>last&1) - int8(less>>last&1)
		more, less = more<<1|inMore, less<<1|inLess
		up, down = less|^(diagonal|more), more&diagonal
	}
	for _, symbol := range rows {
		t.equal[symbol] = 0
	}
}

// commonLength is the length of the longest common subsequence of two
// sequences of small numbers. equal has room for each of them and is all 0,
// before and after.
func commonLength(a, b []int32, equal []uint64) int {
	whole := len(a)
	a, b = trimmed(a, b)
	alike := whole - len(a)
	if len(a) > len(b) {
		a, b = b, a
	}
	carries := make([]uint8, len(b)) // by column: what the blocks above carry over
	for top := 0; top < len(a); top += wordBits {
		alike += commonBlock(a[top:min(top+wordBits, len(a))], b, equal, carries)
	}
	return alike
}

// commonBlock takes what the rows above carry over through a block of rows
// (Hyyrö 2004) and says how much longer the subsequence is with them.
func commonBlock(rows, columns []int32, equal []uint64, carries []uint8) int {
	for i, symbol := range rows {
		equal[symbol] |= 1 << i
	}
	flat := ^uint64(0) // rows that add nothing
	for j, symbol := range columns {
		m := equal[symbol]
		sum, carry := bits.Add64(flat, flat&m, uint64(carries[j]))
		carries[j] = uint8(carry)
		flat = sum | flat&^m
	}
	for _, symbol := range rows {
		equal[symbol] = 0
	}
	return len(rows) - bits.OnesCount64(flat<<(wordBits-len(rows)))
}
