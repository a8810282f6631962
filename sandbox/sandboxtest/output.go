package sandboxtest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

func outputChecks() []check {
	return []check{
		{"X9", "stdout and stderr are apart", process, separateStreams},
		{"X10", "a small output is whole", process, smallOutput},
		{"X10", "of a large output head and tail are kept", process, largeOutput},
		{"X10", "512 KiB each are kept when nothing is said", process, defaultOutput},
		{"X9", "output of any bytes", tools, binaryOutput},
		{"X11", "a program that writes without end is killed", process, endlessOutput},
	}
}

// bytesScript prints as many bytes as $1 says: digits, counted from the start,
// so that each place tells which it is.
const bytesScript = `x=; i=0
while [ $i -lt 100 ]; do x="${x}0123456789"; i=$((i+1)); done
n=$1; while [ $n -ge 1000 ]; do printf %s "$x"; n=$((n-1000)); done
while [ $n -gt 0 ]; do printf %s "$((($1-n)%10))"; n=$((n-1)); done`

// digits is what bytesScript prints.
func digits(n int) string {
	return strings.Repeat("0123456789", n/10+1)[:n]
}

func separateStreams(t *testing.T, k *contract) {
	r := k.ran(t, k.box(t), sh(`echo out; echo err >&2; echo out again; exit 4`))
	if r.ExitCode != 4 || r.Stdout.Text != "out\nout again\n" || r.Stderr.Text != "err\n" {
		t.Errorf("got %s, want exit 4 and the streams apart", summary(r))
	}
}

func smallOutput(t *testing.T, k *contract) {
	box := k.box(t)
	for _, n := range []int{0, 1, 39, 40} {
		c := sh(bytesScript, strconv.Itoa(n))
		c.HeadBytes, c.TailBytes = 30, 10
		r := k.succeed(t, box, c)
		if o := r.Stdout; o.Text != digits(n) || o.Bytes != int64(n) || o.Truncated {
			t.Errorf("%d bytes: got %q, %d bytes, truncated %v, want all", n, o.Text, o.Bytes, o.Truncated)
		}
		if o := r.Stderr; o != (sandbox.Output{}) {
			t.Errorf("%d bytes: got %+v on stderr, want nothing", n, o)
		}
	}
}

func largeOutput(t *testing.T, k *contract) {
	box := k.box(t)
	for _, n := range []int{41, 100, 3333} {
		c := sh(bytesScript, strconv.Itoa(n))
		c.HeadBytes, c.TailBytes = 30, 10
		wantCut(t, k.succeed(t, box, c).Stdout, n, 30, 10)
		c = sh(`{ `+bytesScript+`; } >&2; echo out`, strconv.Itoa(n))
		c.HeadBytes, c.TailBytes = 10, 30
		r := k.succeed(t, box, c)
		wantCut(t, r.Stderr, n, 10, 30)
		if r.Stdout.Text != "out\n" || r.Stdout.Truncated {
			t.Errorf("stdout beside a large stderr: got %+v, want it whole", r.Stdout)
		}
	}
}

func defaultOutput(t *testing.T, k *contract) {
	box := k.box(t)
	const kept = 512 << 10
	r := k.succeed(t, box, sh(bytesScript, strconv.Itoa(2*kept)))
	if o := r.Stdout; o.Text != digits(2*kept) || o.Bytes != 2*kept || o.Truncated {
		t.Errorf("1 MiB: got %d bytes of text, %d bytes, truncated %v, want all", len(o.Text), o.Bytes, o.Truncated)
	}
	const n = 3_000_007
	wantCut(t, k.succeed(t, box, sh(bytesScript, strconv.Itoa(n))).Stdout, n, kept, kept)
}

// wantCut wants the head, one line that says how many bytes are missing, and
// the tail.
func wantCut(t *testing.T, o sandbox.Output, n, head, tail int) {
	t.Helper()
	if o.Bytes != int64(n) || !o.Truncated {
		t.Errorf("output of %d bytes: got %d bytes, truncated %v, want the count and true", n, o.Bytes, o.Truncated)
	}
	all := digits(n)
	rest, okHead := strings.CutPrefix(o.Text, all[:head])
	line, okTail := strings.CutSuffix(rest, all[n-tail:])
	if !okHead || !okTail {
		t.Errorf("output of %d bytes: got %.100q..., want %d bytes of its head and %d of its tail", n, o.Text, head, tail)
		return
	}
	line = strings.Trim(line, "\n")
	if line == "" || strings.Contains(line, "\n") || !strings.Contains(line, strconv.Itoa(n-head-tail)) {
		t.Errorf("output of %d bytes: got %.200q between head and tail, want one line that says that %d bytes were dropped", n, line, n-head-tail)
	}
}

func binaryOutput(t *testing.T, k *contract) {
	box := k.box(t)
	r := k.succeed(t, box, sandbox.Command{Argv: []string{"python3", "-c", `import sys; sys.stdout.buffer.write(bytes(range(256)))`}})
	if r.Stdout.Bytes != 256 || r.Stdout.Truncated || !strings.Contains(r.Stdout.Text, "ABC") {
		t.Errorf("every byte once: got %+v, want 256 bytes counted", r.Stdout)
	}
}

func endlessOutput(t *testing.T, k *contract) {
	box := k.box(t)
	c := sh(`x=0123456789abcdef; i=0; while [ $i -lt 12 ]; do x=$x$x; i=$((i+1)); done; while :; do printf %s "$x"; done`)
	c.HeadBytes, c.TailBytes = 30, 10
	r := k.ran(t, box, c)
	if !r.OutputLimit || r.Signal == 0 || r.TimedOut || !r.Stdout.Truncated || len(r.Stdout.Text) > 200 {
		t.Errorf("a program that writes without end: got output limit %v and %s, want it killed for that", r.OutputLimit, summary(r))
	}
	k.wantOutput(t, box, sh(`echo fine`), "fine\n")
}
