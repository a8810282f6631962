package errcode

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Code is one code and its page.
type Code struct {
	Code   string
	Of     Of
	Status []int  // that commands exit with because of it, the usual one first; none for most trials
	Means  string // whole sentences
	Do     string // what to do or type next
}

// Of is what a code is stated of. Some are of several things.
type Of string

// What codes are of.
const (
	Command Of = "command" // the error that a command ends with
	Failed  Of = "failed"  // a trial that is the agent's failure
	Invalid Of = "invalid" // a trial that cannot be judged, or the call that kept it from that
	Run     Of = "run"     // a run that a limit of its own ended
	Pack    Of = "pack"    // a finding of challenge-pack doctor
)

// Heading says of the codes of one kind what they are of.
type Heading struct {
	Of   Of
	Text string
}

// Headings are all headings, in the order of the page.
func Headings() []Heading {
	return []Heading{
		{Command, "Errors of commands"},
		{Failed, "Trials that failed: the agent's own"},
		{Invalid, "Trials that are invalid: not the agent's"},
		{Run, "Runs that a limit ended"},
		{Pack, "Findings of challenge-pack doctor"},
	}
}

// All are all codes, by what they are of and then by name.
func All() []Code {
	var list []Code
	for _, h := range Headings() {
		var part []Code
		for _, c := range slices.Concat(commands, files, trials, findings) {
			if c.Of == h.Of {
				part = append(part, c)
			}
		}
		slices.SortFunc(part, func(a, b Code) int { return strings.Compare(a.Code, b.Code) })
		list = append(list, part...)
	}
	return list
}

// Find is the page of a code.
func Find(code string) (Code, bool) {
	for _, c := range All() {
		if c.Code == code {
			return c, true
		}
	}
	return Code{}, false
}

// Near is the code that is most like a mistyped one, "" when none is.
func Near(code string) string {
	best, least := "", min(5, len(code)/2+1)
	for _, c := range All() {
		if d := levenshtein.ComputeDistance(strings.ToLower(code), c.Code); d < least {
			best, least = c.Code, d
		}
	}
	return best
}

// Heading is what the code is of.
func (c Code) Heading() string {
	all := Headings()
	return all[slices.IndexFunc(all, func(h Heading) bool { return h.Of == c.Of })].Text
}

// Exit says which status a command ends with because of it.
func (c Code) Exit() string {
	words := make([]string, len(c.Status))
	for i, n := range c.Status {
		words[i] = strconv.Itoa(n)
	}
	own := strings.Join(words, " or ")
	switch c.Of {
	case Failed:
		return "none of its own; eval start --exit-code exits 1 when an agent did not pass"
	case Invalid:
		text := "31 when an agent has no valid trial"
		if own != "" {
			text += ", " + own + " when this is why"
		}
		return text + "; eval start --exit-code exits 3 beyond --max-invalid"
	case Pack:
		if own == "" {
			return "2 of challenge-pack doctor, a warning"
		}
		return own + " of challenge-pack doctor"
	}
	return own
}

// Page is all codes as a page of Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString(`# Error codes

Every code that agentclash states: in the ` + "`error.code`" + ` of ` + "`--json`" + `, as the ` + "`code`" + ` of a trial or a run, in findings about packs.
` + "`agentclash explain CODE`" + ` shows one, ` + "`agentclash explain`" + ` lists all. This page is made from the same table by ` + "`make update`" + `.

` + "With `--json` each line of stderr is a document: `{\"note\": \"...\"}` for what else is said, and as the last one, of a command that\n" +
		"failed, `{\"error\": {\"code\", \"message\", \"details?\", \"next_step?\", \"retryable\"}}`. `--quiet` leaves out most notes.\n")
	all := All()
	for _, h := range Headings() {
		b.WriteString("\n## " + h.Text + "\n\n| code | exit status | what it means | what to do |\n|---|---|---|---|\n")
		for _, c := range all {
			if c.Of == h.Of {
				b.WriteString("| `" + c.Code + "` | " + c.Exit() + " | " + c.Means + " | " + c.Do + " |\n")
			}
		}
	}
	return b.String()
}
