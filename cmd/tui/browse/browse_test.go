package browse_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/cmd/tui/browse"
	"github.com/agentclash/agentclash/cmd/tui/tuitest"
	"github.com/agentclash/agentclash/cmd/view"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

// sized is a screen of a size, without a terminal, that has read nothing yet.
func sized(ctx context.Context, l *library, width, height int) *browse.Page {
	return browse.NewPage(ctx, browse.Options{Source: l, Width: width, Height: height, Now: func() time.Time { return noon.Add(10 * time.Minute) }})
}

func opened(t *testing.T, l *library) *browse.Page {
	t.Helper()
	return sized(t.Context(), l, 80, 24).Answer()
}

func TestScreensGolden(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]string{
		"runs":       nil,
		"run":        {"enter"},
		"trials":     {"enter", "tab"},
		"trial":      {"enter", "tab", "tab", "tab", "down", "enter"},
		"transcript": {"enter", "tab", "down", "tab", "tab", "enter", "tab"},
		"compare":    {"down", "c", "down", "c"},
		"artifacts":  {"a"},
		"artifact":   {"enter", "a", "enter"},
		"help":       {"?"},
		"filter":     {"/", "status:completed", "enter"},
	} {
		for _, size := range [][2]int{{80, 24}, {160, 48}, {40, 10}} {
			p := sized(t.Context(), &library{runs: 300, trials: 200}, size[0], size[1]).Answer()
			tuitest.Golden(t, *update, fmt.Sprintf("%s.%dx%d", name, size[0], size[1]), p.Press(keys...).Text())
		}
	}
	tuitest.Golden(t, *update, "empty.80x24", opened(t, &library{}).Text())
	tuitest.Golden(t, *update, "live.80x24", opened(t, &library{runs: 2, live: true}).Press("down", "c").Text())
}

func shows(t *testing.T, p *browse.Page, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.Text(), text) {
			t.Fatalf("%q is not shown:\n%s", text, p.Text())
		}
	}
}

// In and out again, with what was selected still selected.
func TestGoingInAndOut(t *testing.T) {
	t.Parallel()
	l := &library{runs: 300, trials: 200}
	p := opened(t, l)
	shows(t, p, "runs 1-20 of 300", "› 0a000000")
	shows(t, p.Resize(40, 10).Press("?", "end"), "q, ctrl+c")
	p.Resize(80, 24).Press("esc")
	shows(t, p.Press("down", "down", "enter"), "runs › nightly-2 0a000002", "▸ scorecard", "Overall score")
	shows(t, p.Press("enter"), "▸ trials 1-20 of 200")
	shows(t, p.Press("down", "enter"), "› case-000#1 sonnet", "says-why (contains): fail, event 12", "It is polite", "▸ verdict")
	shows(t, p.Press("tab"), "▸ transcript", "Where is my parcel?")
	shows(t, p.Press("tab"), "▸ files", "Final output", "sorry")
	shows(t, p.Press("esc"), "▸ trials 1-20 of 200", "› case-000#1")
	shows(t, p.Press("backspace"), "runs 1-20 of 300", "› 0a000002")
	if p.Press("esc"); p.Left {
		t.Error("escape has left the screen")
	}
	if p.Press("q"); !p.Left {
		t.Error("q has not left the screen")
	}
}

// What is narrowed to and looked for is said, and dropped by escape.
func TestSearching(t *testing.T) {
	t.Parallel()
	p := opened(t, &library{runs: 300, trials: 200})
	shows(t, p.Press("/", "nightly-29", "enter"), "runs 11 /nightly-29", "0a000125", "esc drops /")
	shows(t, p.Press("esc"), "runs 1-20 of 300")
	shows(t, p.Press("/", "no such", "enter"), "none matches no such · esc shows all")
	p.Press("esc", "enter", "tab", "/", "outcome:invalid", "enter")
	shows(t, p, "trials 1-20 of 33 /outcome:invalid", "rate_limit in agent")
	p.Press("esc", "enter", "tab", "/", "PARCEL", "enter")
	shows(t, p, "/PARCEL 1 of 31", "» ")
	shows(t, p.Press("n"), "/PARCEL 2 of 31")
	shows(t, p.Press("N", "N"), "/PARCEL 31 of 31")
	// what is not there yet is found when it comes
	shows(t, p.Press("esc", "esc").Type("enter", "tab", "tab", "/", "sorry", "enter").Answer(), "/sorry 1 of 1")
	p.Press("esc", "esc", "enter", "tab")
	shows(t, p.Type("/").Press("x", "esc", "/", "nobody said this", "enter"), `"nobody said this" is not here`)
}

// A long text is looked through when it is searched or laid out anew, not at each key.
func TestALongTextIsLookedThroughOnce(t *testing.T) {
	few, many := longTranscript(t, 4), longTranscript(t, 400)
	shows(t, few, "/parcel 1 of 951")
	shows(t, many, "/parcel 1 of 92031")
	cost := func(p *browse.Page) float64 {
		return testing.AllocsPerRun(10, func() { p.Type("down") })
	}
	if a, b := cost(few), cost(many); b > 2*a {
		t.Errorf("a key takes %v allocations in a short text and %v in a long one", a, b)
	}
	shows(t, many.Resize(40, 10).Answer().Press("n"), "2 of 92031")
	shows(t, many.Press("/", " xyz", "enter"), `"parcel xyz" is not here`)
	shows(t, many.Press("/", "backspace", "backspace", "backspace", "backspace", "enter"), "2 of 92031")
}

func TestComparing(t *testing.T) {
	t.Parallel()
	l := &library{runs: 9, trials: 3}
	p := opened(t, l)
	shows(t, p.Press("down", "c"), "marked nightly-1", "base nightly-1 0a000001")
	shows(t, p.Press("down", "c"), "nightly-2 against nightly-1", "base 0a000001 candidate 0a000002")
	shows(t, p.Press("esc", "b"), "nightly-2 against baseline", "base  candidate 0a000002")
	shows(t, p.Press("esc", "C"), "base nightly-2 0a000002")
	shows(t, p.Press("c"), "no run is marked any more")
}

func TestArtifacts(t *testing.T) {
	t.Parallel()
	l := &library{runs: 9, trials: 3}
	p := opened(t, l)
	shows(t, p.Press("s"), "there is nothing to save here")
	shows(t, p.Press("enter", "a"), "artifacts 3", "notes.txt")
	if !l.called("artifacts " + view.ShortID(id(1, 0))) {
		t.Errorf("the artifacts of the run were not asked for: %v", l.calls)
	}
	shows(t, p.Press("enter"), strings.Repeat("ab", 27), "twelve bytes", `{"by":"me"}`)
	if p.Press("s", "esc"); len(l.saved) != 0 {
		t.Error("escape has saved a file")
	}
	shows(t, p.Press("s", "2", "enter"), "saved to notes.txt2")
	shows(t, p.Press("s", "backspace", "backspace", "backspace", "backspace", "backspace", "backspace", "backspace", "backspace", "backspace", "there.txt", "enter"),
		"not saved: there.txt is there already")
	if diff := cmp.Diff([]string{"0a000000 notes.txt2"}, l.saved); diff != "" {
		t.Errorf("saved (-want +got):\n%s", diff)
	}
	shows(t, p.Press("o"), "report: /home/reports/1.html")
}

// Nothing is read before it is shown, and a list only as far as it is.
func TestWhatIsNotShownIsNotRead(t *testing.T) {
	t.Parallel()
	l := &library{runs: 10_000, trials: 10_000}
	p := sized(t.Context(), l, 80, 24)
	if len(l.calls) > 0 {
		t.Errorf("read before anything was asked for: %v", l.calls)
	}
	p.Answer()
	if got := l.read.Load(); got > 64 {
		t.Errorf("%d runs were read to show 20", got)
	}
	shows(t, p.Press("end"), "runs 9,981-10,000 of 10,000")
	if got := l.read.Load(); got > 3*64 {
		t.Errorf("%d runs were read to show the first and the last ones", got)
	}
	for range 150 {
		p.Press("pgup")
	}
	if got := p.Rows(); got > 9*64 {
		t.Errorf("%d runs are kept", got)
	}
	shows(t, p.Press("home"), "runs 1-20 of 10,000")
	p.Press("enter")
	for _, late := range []string{"details", "trials", "facts", "verdict", "files"} {
		if l.called(late) {
			t.Errorf("%s were read before they were shown: %v", late, l.calls)
		}
	}
	shows(t, p.Press("tab", "end"), "trials 9,981-10,000 of 10,000")
	if p.Press("enter"); !l.called("verdict") || l.called("facts") || l.called("files") {
		t.Errorf("a trial has read %v", l.calls[len(l.calls)-3:])
	}
}

// A slow store holds up no key, and what it says of a page that was left is dropped.
func TestSlowReading(t *testing.T) {
	t.Parallel()
	l := &library{runs: 300, trials: 200}
	p := sized(t.Context(), l, 80, 24)
	shows(t, p, "reading…")
	p.Type("?")
	shows(t, p, "this help")
	p.Type("?").Answer()
	p.Type("enter") // whose scorecard is not waited for
	shows(t, p, "reading…", "nightly-0")
	p.Type("esc", "down", "enter").Answer()
	shows(t, p, "nightly-1 0a000001", "Overall score")
	if n := len(slices.DeleteFunc(slices.Clone(l.calls), func(c string) bool { return c != "scorecards" })); n != 2 {
		t.Errorf("%d scorecards were read", n)
	}
	p.Type("esc", "/", "nightly-2", "9", "9") // each character asks anew
	p.Answer()
	shows(t, p, "runs 1 /nightly-299")
}

func TestWhatGoesWrongIsSaid(t *testing.T) {
	t.Parallel()
	l := &library{runs: 3, trials: 3, fail: errors.New("the disk\x1b[2J is gone")}
	p := opened(t, l)
	shows(t, p, "the disk is gone · r reads again", "it could not be read")
	if p.Press("/", "esc"); !strings.Contains(p.Text(), "it could not be read: the disk is gone · r reads again") {
		t.Errorf("why is said no more:\n%s", p.Text())
	}
	calls := len(l.calls)
	if p.Press("?", "?"); len(l.calls) != calls {
		t.Errorf("what could not be read was read again by itself")
	}
	l.fail = nil
	shows(t, p.Press("r"), "nightly-0")
	l.fail = errors.New("gone again")
	shows(t, p.Press("enter"), "  it could not be read: gone again", "gone again · r reads again")
	l.fail = nil
	shows(t, p.Press("r"), "Overall score")
}

// A store that was replaced while it was looked at is said to be, and neither read
// further nor mixed with the other one.
func TestWhatWasReplacedIsNotReadFurther(t *testing.T) {
	t.Parallel()
	l := &library{runs: 300, trials: 3}
	p := opened(t, l)
	l.gone = errors.New("another file is there now: leave, and start anew, " + strings.Repeat("for it is so ", 20) + "indeed")
	shows(t, p.Press("end"), "runs 281-300 of 300", "not read", "another file is there now")
	shows(t, p.Press("home", "enter"), "nightly-0", "it could not be read: another file is there now", "indeed")
	shows(t, p.Press("tab"), "it could not be read: another file is there now")
}

// While a run goes on it is looked at again, and no longer.
func TestLive(t *testing.T) {
	t.Parallel()
	l := &library{runs: 3, trials: 40, live: true}
	p := opened(t, l)
	shows(t, p, "live", "running")
	l.runs = 4
	if !p.Look() {
		t.Error("nobody looks again at a run that goes on")
	}
	shows(t, p, "runs 4")
	p.Press("enter", "tab", "down", "enter", "tab") // a transcript
	calls := len(l.calls)
	p.Look()
	if len(l.calls) != calls+1 || l.calls[calls] != "facts" {
		t.Errorf("a look at a transcript has read %v", l.calls[calls:])
	}
	l.live = false
	p.Look()
	if p.Look() {
		t.Error("it is looked again at what is over")
	}
	if strings.Contains(p.Text(), "live") {
		t.Errorf("it is called live:\n%s", p.Text())
	}
}

// A run that is selected stays so when others are begun.
func TestTheSelectedRunStaysSelected(t *testing.T) {
	t.Parallel()
	l := &library{runs: 20, live: true}
	p := opened(t, l)
	shows(t, p.Press("down", "down"), "› 0a000002")
	p.Look()
	shows(t, p, "› 0a000002")
}

// Whatever is stored and whatever the size, the screen fits the terminal and holds
// nothing that a terminal would obey.
func TestHostileTextsDoNoHarm(t *testing.T) {
	t.Parallel()
	l := &library{runs: 200, trials: 200, evil: "\x1b[2J\x1b]0;owned\a\u202e数\r\n\t\u009b31m" + strings.Repeat("x数", 300)}
	random := rand.New(rand.NewPCG(1, 2))
	keys := []string{"enter", "esc", "tab", "down", "pgdown", "end", "home", "c", "b", "a", "o", "?", "/", "x", "n", "N", "s", "r", "backspace"}
	p := opened(t, l)
	for range 300 {
		if random.IntN(5) == 0 {
			p.Resize(random.IntN(180), random.IntN(50)).Answer()
		}
		p.Press(keys[random.IntN(len(keys))])
		if p.Err() != nil {
			t.Fatal(p.Err())
		}
		for _, line := range p.Lines() {
			for _, r := range line {
				if unicode.IsControl(r) || r == '\u202e' {
					t.Fatalf("%q in %q", r, line)
				}
			}
		}
	}
	for _, size := range [][2]int{{80, 24}, {160, 48}, {40, 10}, {10, 4}, {1, 1}} {
		lines := p.Resize(size[0], size[1]).Answer().Lines()
		if len(lines) != size[1] {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, line := range lines {
			if view.Width(line) > size[0] {
				t.Errorf("%v: a line of %d cells: %q", size, view.Width(line), line)
			}
		}
	}
}

// Names that are long, or have marks on marks that take no room, are no more on a list
// than a terminal of its size can need.
func TestEndlessTextsDoNoHarm(t *testing.T) {
	t.Parallel()
	for name, evil := range map[string]string{
		"one line":      strings.Repeat("x", 1<<20),
		"wide":          strings.Repeat("👩‍👩‍👧‍👦", 1<<14),
		"marks":         "e" + strings.Repeat("\u0301", 1<<19),
		"no width":      strings.Repeat("\u200b", 1<<18),
		"other orders":  strings.Repeat("\u2066\u202e\u200f", 1<<16) + "x",
		"not even text": strings.Repeat("\xff\xfe", 1<<18),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := opened(t, &library{runs: 30, trials: 30, evil: evil})
			for _, keys := range [][]string{nil, {"/", "x", "enter", "esc"}, {"down", "pgdown", "home"}, {"C"}, {"a"}} {
				text := p.Press(keys...).Text()
				if p.Err() != nil {
					t.Fatal(p.Err())
				}
				if len(text) > 64<<10 {
					t.Errorf("after %v the screen has %d bytes", keys, len(text))
				}
				for _, line := range p.Lines() {
					if view.Width(line) > 80 {
						t.Errorf("after %v a line has %d cells", keys, view.Width(line))
					}
				}
			}
		})
	}
}

// A bug ends the screen in good order, wherever it is.
func TestPanicsEndTheScreen(t *testing.T) {
	t.Parallel()
	p := opened(t, &library{runs: 3})
	p.Break()
	if p.Press("down"); !p.Left || p.Err() == nil {
		t.Errorf("while drawing: left %t, %v", p.Left, p.Err())
	}
	p = sized(t.Context(), &library{runs: 3, bug: true}, 80, 24).Answer()
	if want := "draw the browser: a bug"; !p.Left || p.Err() == nil || p.Err().Error() != want {
		t.Errorf("while reading: left %t, got %v, want %s", p.Left, p.Err(), want)
	}
}

// A line that is written is seen where the cursor is, however wide the terminal becomes,
// and ctrl+v starts none of the programs that know a clipboard.
func TestALineIsWrittenInAnyWidth(t *testing.T) {
	t.Parallel()
	p := sized(t.Context(), &library{runs: 3, trials: 3}, 150, 26).Answer().Press("/", strings.Repeat("x", 90)+"end")
	if !p.Type("ctrl+v").Idle() {
		t.Error("ctrl+v has something done")
	}
	for _, width := range []int{150, 40, 12, 150} {
		lines := p.Resize(width, 10).Lines()
		if last := lines[len(lines)-1]; !strings.Contains(last, "end") {
			t.Errorf("%d wide the line is %q", width, last)
		}
	}
}
