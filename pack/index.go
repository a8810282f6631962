package pack

// index answers by key what would otherwise be searched again for every case.
type index struct {
	challenges map[string]int // the first of each key
	assets     map[string]int // of the version, the first of each key
	cases      map[caseID]*Case
	// expected are the paths of assets that any expectation refers to.
	expected map[string]bool
}

type caseID struct{ inputSet, caseKey string }

func newIndex(p *Pack) *index {
	x := &index{
		challenges: map[string]int{}, assets: map[string]int{}, cases: map[caseID]*Case{}, expected: map[string]bool{},
	}
	for i := range p.Challenges {
		putFirst(x.challenges, p.Challenges[i].Key, i)
	}
	for i := range p.Version.Assets {
		putFirst(x.assets, p.Version.Assets[i].Key, i)
	}
	complete := *p
	complete.index = x
	for _, set := range p.InputSets {
		for i := range set.Cases {
			c := &set.Cases[i]
			x.cases[caseID{set.Key, c.Key()}] = c
			for name := range complete.expectedPaths(*c) {
				x.expected[name] = true
			}
		}
	}
	return x
}

func putFirst(m map[string]int, key string, i int) {
	if _, ok := m[key]; !ok {
		m[key] = i
	}
}

// lookup is the pack's index. A pack that was put together by hand has none and
// is searched each time.
func (p *Pack) lookup() *index {
	if p.index == nil {
		return newIndex(p)
	}
	return p.index
}
