package pack_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/pack"
)

// Documents that were damaged at random, the same way every time, are held to
// the promises of checkParsed, and are read the same way twice.
func TestMutations(t *testing.T) {
	t.Parallel()
	lots, each := 8, 100
	if slow() {
		each = 400
	}
	seeds := documents(t)
	for lot := range uint64(lots) {
		t.Run(fmt.Sprint(lot), func(t *testing.T) {
			t.Parallel()
			m := mutator{rand.New(rand.NewPCG(1, lot)), seeds}
			for range each {
				src := m.mutant()
				p, problems := pack.Parse("pack.yaml", src, beside())
				checkParsed(t, src, p, problems)
				checkUsable(t, p)
				_, again := pack.Parse("pack.yaml", src, beside())
				if diff := cmp.Diff(problems, again); diff != "" {
					t.Errorf("read twice (-first +second):\n%s", diff)
				}
				if t.Failed() {
					t.Fatalf("after %q", src)
				}
			}
		})
	}
}

// slow says that there is time for all of what is otherwise tried in part.
func slow() bool { return os.Getenv("AGENTCLASH_SLOW") != "" }

// mutator damages documents.
type mutator struct {
	*rand.Rand
	seeds [][]byte
}

func (m mutator) seed() []byte { return m.seeds[m.IntN(len(m.seeds))] }

// mutant is a document with one to three things done to it, mostly such that
// leave it YAML.
func (m mutator) mutant() []byte {
	mild := []func([]byte) []byte{m.dropLine, m.repeatLine, m.foreignLine, m.foreignValue}
	wild := []func([]byte) []byte{m.flip, m.insert, m.cut, m.indent, m.graft}
	src := slices.Clone(m.seed())
	for range 1 + m.IntN(3) {
		ways := mild
		if m.IntN(4) == 0 {
			ways = wild
		}
		src = ways[m.IntN(len(ways))](src)
	}
	return src
}

func (m mutator) flip(src []byte) []byte {
	if len(src) > 0 {
		src[m.IntN(len(src))] ^= 1 << m.IntN(8)
	}
	return src
}

// insert puts in a piece of what YAML and templates are made of.
func (m mutator) insert(src []byte) []byte {
	pieces := []string{":", "- ", "{", "}", "[", "]", "&a ", "*a", "<<: ", "!!int ", "!x ", "\"", "'", "|\n", "#", "\n", "\t", "\r", "\u2028", "\x00", "\xff",
		"null", "~", "1e400", "-1", ".nan", "${", "{{", "secrets.", "..", "\n---\n", "é"}
	return slices.Insert(src, m.IntN(len(src)+1), []byte(pieces[m.IntN(len(pieces))])...)
}

func (m mutator) cut(src []byte) []byte { return src[:m.IntN(len(src)+1)] }

// onLine replaces one line by what change makes of it.
func (m mutator) onLine(src []byte, change func(line []byte) []byte) []byte {
	lines := bytes.SplitAfter(src, []byte("\n"))
	i := m.IntN(len(lines))
	lines[i] = change(slices.Clone(lines[i]))
	return bytes.Join(lines, nil)
}

func (m mutator) dropLine(src []byte) []byte {
	return m.onLine(src, func([]byte) []byte { return nil })
}

func (m mutator) repeatLine(src []byte) []byte {
	return m.onLine(src, func(line []byte) []byte { return bytes.Repeat(line, 2) })
}

func (m mutator) indent(src []byte) []byte {
	return m.onLine(src, func(line []byte) []byte {
		if m.IntN(2) == 0 {
			return append([]byte("  "), line...)
		}
		return bytes.TrimPrefix(line, []byte("  "))
	})
}

// otherLine is a line of another document.
func (m mutator) otherLine() []byte {
	lines := bytes.SplitAfter(m.seed(), []byte("\n"))
	return lines[m.IntN(len(lines))]
}

// foreignLine puts another line where one was, as far to the right.
func (m mutator) foreignLine(src []byte) []byte {
	return m.onLine(src, func(line []byte) []byte {
		indent := line[:len(line)-len(bytes.TrimLeft(line, " "))]
		return append(slices.Clip(indent), bytes.TrimLeft(m.otherLine(), " ")...)
	})
}

// foreignValue keeps a line's key and takes the value of another line.
func (m mutator) foreignValue(src []byte) []byte {
	return m.onLine(src, func(line []byte) []byte {
		key, _, ok := bytes.Cut(line, []byte(": "))
		_, value, also := bytes.Cut(m.otherLine(), []byte(": "))
		if !ok || !also {
			return line
		}
		return slices.Concat(key, []byte(": "), value)
	})
}

// graft puts the end of another document at the end of this one.
func (m mutator) graft(src []byte) []byte {
	other := m.seed()
	return append(m.cut(src), other[m.IntN(len(other)+1):]...)
}
