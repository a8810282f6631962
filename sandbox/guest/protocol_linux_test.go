package guest_test

import (
	"encoding/base64"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/sandbox/guest"
)

const greeting = `{"version":3,"idle_ms":60000}`

func TestGuestEndsOnABrokenProtocol(t *testing.T) {
	t.Parallel()
	command := `{"argv":["c2xlZXA=","MTA="],"head":1,"tail":1,"hard_cap":10}` // sleep 10
	file := base64.StdEncoding.EncodeToString([]byte(filepath.Join(t.TempDir(), "file")))
	for name, frames := range map[string][][]byte{
		"no greeting":           {frame(ping, 0, "")},
		"another version":       {frame(hello, 0, `{"version":99,"idle_ms":1}`)},
		"a greeting of garbage": {frame(hello, 0, `garbage`)},
		"an unknown kind":       {frame(hello, 0, greeting), frame(200, 1, "")},
		"a frame too large":     {frame(hello, 0, greeting), {0x7f, 0xff, 0xff, 0xff, execute, 0, 0, 0, 1}},
		"a request of garbage":  {frame(hello, 0, greeting), frame(execute, 1, "garbage")},
		"an unknown field":      {frame(hello, 0, greeting), frame(read, 1, `{"path":"Lw==","limit":1,"as":"root"}`)},
		"a command of no words": {frame(hello, 0, greeting), frame(execute, 1, `{"head":1,"tail":1,"hard_cap":10}`)},
		"input never announced": {frame(hello, 0, greeting), frame(execute, 1, command), frame(dataIn, 1, "x")},
		"too large a head":      {frame(hello, 0, greeting), frame(execute, 1, strings.Replace(command, `"head":1`, `"head":99999999`, 1))},
		"a call begun twice": {
			frame(hello, 0, greeting),
			frame(writeFile, 1, `{"path":"`+file+`","size":9,"mode":420}`),
			frame(writeFile, 1, `{"path":"`+file+`","size":9,"mode":420}`),
		},
		"more content than announced": {
			frame(hello, 0, greeting),
			frame(writeFile, 1, `{"path":"`+file+`","size":1,"mode":420}`), frame(dataIn, 1, "xx"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ch := startChild(t)
			go func() { _, _ = io.Copy(io.Discard, ch.stream) }()
			for _, f := range frames {
				_, _ = ch.stream.Write(f)
			}
			if code := ch.exitStatus(t); code != guest.ExitProtocol {
				t.Errorf("got exit %d, want %d", code, guest.ExitProtocol)
			}
			if ch.stderr.Len() == 0 {
				t.Error("it ended without a word")
			}
		})
	}
}

func TestGuestIsSilentUntilGreeted(t *testing.T) {
	t.Parallel()
	ch := startChild(t, "--hello", "200ms")
	said, err := io.ReadAll(ch.stream)
	if err != nil || len(said) > 0 {
		t.Errorf("got %q, %v; want nothing", said, err)
	}
}

func TestGuestIgnoresWhatIsOver(t *testing.T) {
	t.Parallel()
	ch := startChild(t)
	for _, f := range [][]byte{
		frame(hello, 5, greeting), frame(kill, 77, ""), frame(dataIn, 78, "late"), frame(ping, 9, ""),
	} {
		if _, err := ch.stream.Write(f); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []struct {
		kind byte
		id   uint32
	}{{facts, 5}, {pong, 9}} {
		kind, id, _, err := readFrame(ch.stream)
		if err != nil || kind != want.kind || id != want.id {
			t.Errorf("got kind %#x, id %d, %v; want %#x, %d", kind, id, err, want.kind, want.id)
		}
	}
}

func TestHalfAFrameIsAnEnd(t *testing.T) {
	t.Parallel()
	ch := startChild(t)
	_, _ = ch.stream.Write(frame(hello, 0, greeting))
	_, _ = ch.stream.Write(frame(ping, 0, "")[:4])
	_ = ch.stream.Close()
	if code := ch.exitStatus(t); code != guest.ExitEOF {
		t.Errorf("got exit %d, want %d: a host that dies does so anywhere", code, guest.ExitEOF)
	}
}
