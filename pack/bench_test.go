package pack_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/pack"
)

// thousandLines is a pack of 1,000 lines: one of ordinary size and many cases.
func thousandLines() []byte {
	var b strings.Builder
	b.WriteString(strings.Replace(edgeBase, "      - {challenge_key: c1, case_key: k1}\n", "", 1))
	for i := 0; strings.Count(b.String(), "\n") < 1000; i++ {
		fmt.Fprintf(&b, `      - challenge_key: c1
        case_key: case-%d
        payload:
          question: What is %d + %d?
        expectations:
          - key: answer
            kind: text
            value: "%d"
`, i, i, i, 2*i)
	}
	return []byte(b.String())
}

func BenchmarkParse1000Lines(b *testing.B) {
	src := thousandLines()
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if p, problems := pack.Parse("p.yaml", src, nil); p == nil {
			b.Fatal(problems)
		}
	}
}

// A thousand packs of ordinary size in one call, as a pre-commit hook has it.
func BenchmarkLoad1000Packs(b *testing.B) {
	for b.Loop() {
		for range 1000 {
			if p, problems, err := pack.Load("testdata/corpus/valid-everything.yaml"); p == nil {
				b.Fatal(err, problems)
			}
		}
	}
}

func BenchmarkManifest(b *testing.B) {
	p, problems := pack.Parse("p.yaml", thousandLines(), nil)
	if p == nil {
		b.Fatal(problems)
	}
	for b.Loop() {
		if _, err := p.Digest(); err != nil {
			b.Fatal(err)
		}
	}
}

// What a plan of 20,000 cases asks for before it starts.
func BenchmarkDigestsOf20000Cases(b *testing.B) {
	var src strings.Builder
	src.WriteString(edgeBase)
	for i := range 20000 {
		fmt.Fprintf(&src, "      - {challenge_key: c1, case_key: q%d}\n", i)
	}
	p, problems := pack.Parse("p.yaml", []byte(src.String()), nil)
	if p == nil {
		b.Fatal(problems)
	}
	for b.Loop() {
		for _, c := range p.InputSets[0].Cases {
			if _, err := p.CaseDigest("set", c.Key()); err != nil {
				b.Fatal(err)
			}
		}
	}
}
