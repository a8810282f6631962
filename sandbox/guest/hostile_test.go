package guest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/sandbox/guest"
)

// The kinds of frames, spelled out: a test of the wire does not ask the code
// under test what the wire looks like.
const (
	hello, ping, execute, dataIn, kill, read, writeFile, list, quiesce = 1, 2, 3, 4, 5, 6, 7, 8, 9
	facts, pong, stdout, stderr, bulk, end                             = 0x81, 0x82, 0x83, 0x84, 0x85, 0x86
)

func frame(kind byte, id uint32, payload string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))
	b = append(b, kind)
	b = binary.BigEndian.AppendUint32(b, id)
	return append(b, payload...)
}

func readFrame(r io.Reader) (kind byte, id uint32, payload string, err error) {
	var h [9]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return 0, 0, "", err
	}
	p := make([]byte, binary.BigEndian.Uint32(h[:4]))
	_, err = io.ReadFull(r, p)
	return h[4], binary.BigEndian.Uint32(h[5:]), string(p), err
}

const factsJSON = `{"version":3,"pid":1}`

// impostor is a guest whose every word the test chooses: it greets, and then
// answers each request with answer's frames.
func impostor(t *testing.T, cfg guest.Config, answer func(kind byte, id uint32) []byte) *guest.Client {
	t.Helper()
	host, box := net.Pipe()
	t.Cleanup(func() { _ = box.Close() })
	go func() {
		defer box.Close()
		for {
			kind, id, _, err := readFrame(box)
			if err != nil {
				return
			}
			reply := frame(facts, id, factsJSON)
			if kind != hello {
				reply = answer(kind, id)
			}
			if _, err := box.Write(reply); err != nil {
				return
			}
		}
	}()
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	c, _, err := guest.Connect(ctx, host, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestClientRefusesWhatNoGuestSays(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 200)
	for name, answer := range map[string]func(kind byte, id uint32) []byte{
		"an unknown kind":          func(_ byte, id uint32) []byte { return frame(99, id, "") },
		"a host's own frame":       func(_ byte, id uint32) []byte { return frame(execute, id, "{}") },
		"more output than asked":   func(_ byte, id uint32) []byte { return frame(stdout, id, big) },
		"bulk nobody asked for":    func(_ byte, id uint32) []byte { return frame(bulk, id, "x") },
		"an end that is no JSON":   func(_ byte, id uint32) []byte { return frame(end, id, "{") },
		"an end of unknown fields": func(_ byte, id uint32) []byte { return frame(end, id, `{"code":0,"verdict":"passed"}`) },
		"an end without end":       func(_ byte, id uint32) []byte { return frame(end, id, `{`+strings.Repeat(" ", 100_000)+`}`) },
		"an end with a tail":       func(_ byte, id uint32) []byte { return frame(end, id, `{} {}`) },
		"an endless frame":         func(_ byte, _ uint32) []byte { return []byte{0xff, 0xff, 0xff, 0xff, stdout, 0, 0, 0, 1} },
		"a second greeting":        func(_ byte, id uint32) []byte { return frame(facts, id, factsJSON) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := impostor(t, guest.Config{}, answer)
			cmd := guest.Command{Argv: []string{"x"}, Head: 50, Tail: 50, Timeout: 5 * time.Second}
			if _, err := c.Exec(t.Context(), cmd); !errors.Is(err, guest.ErrTampered) {
				t.Errorf("got %v, want ErrTampered", err)
			}
			if err := c.Quiesce(t.Context()); !errors.Is(err, guest.ErrTampered) {
				t.Errorf("the next call: got %v, want ErrTampered", err)
			}
		})
	}
}

func TestClientDropsFramesOfNoCall(t *testing.T) {
	t.Parallel()
	c := impostor(t, guest.Config{}, func(_ byte, id uint32) []byte {
		return bytes.Join([][]byte{
			frame(stdout, id+1000, "not asked for"), frame(end, id+1000, `not even JSON`), frame(pong, 7, ""),
			frame(stdout, id, "hi"), frame(end, id, `{"code":3,"stdout":2}`), frame(end, id, `{"code":4}`),
		}, nil)
	})
	r, err := c.Exec(t.Context(), guest.Command{Argv: []string{"x"}, Head: 10, Timeout: 5 * time.Second})
	if err != nil || r.ExitCode != 3 || string(r.Stdout.Head) != "hi" {
		t.Errorf("got %+v, %v; want exit 3 and \"hi\"", r, err)
	}
	if r, err := c.Exec(t.Context(), guest.Command{Argv: []string{"x"}, Head: 10, Timeout: 5 * time.Second}); err != nil || r.ExitCode != 3 {
		t.Errorf("the next call: got %+v, %v; want exit 3", r, err)
	}
}

func TestClientRefusesListings(t *testing.T) {
	t.Parallel()
	entry := func(path string) string {
		return string(binary.BigEndian.AppendUint16(make([]byte, 9), uint16(len(path)))) + path
	}
	for name, payload := range map[string]string{
		"of another place": entry("/etc/passwd"),
		"of the parent":    entry("/dir"),
		"cut off":          entry("/dir/file")[:12],
		"too long":         entry("/dir/a") + entry("/dir/b") + entry("/dir/c"),
		"of no size":       "\x00\xff" + entry("/dir/a")[2:],
	} {
		c := impostor(t, guest.Config{}, func(_ byte, id uint32) []byte {
			return append(frame(bulk, id, payload), frame(end, id, `{}`)...)
		})
		if _, err := c.List(t.Context(), "/dir", true, 2); !errors.Is(err, guest.ErrTampered) {
			t.Errorf("%s: got %v, want ErrTampered", name, err)
		}
	}
}

func TestClientErrorsFromInsideAreBoundedAndTame(t *testing.T) {
	t.Parallel()
	c := impostor(t, guest.Config{}, func(_ byte, id uint32) []byte {
		return frame(end, id, fmt.Sprintf(`{"err":{"kind":"other","text":%q}}`, `\u001b[31m`+strings.Repeat("x", 10_000)))
	})
	_, err := c.ReadFile(t.Context(), "/f", 10)
	if err == nil || len(err.Error()) > 600 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("got %.700q, want a short error without control characters", fmt.Sprint(err))
	}
}

func TestClientGivesUpOnASilentGuest(t *testing.T) {
	t.Parallel()
	silent := func(byte, uint32) []byte { return nil }
	quick := guest.Config{Overrun: 50 * time.Millisecond, Patience: 100 * time.Millisecond, PingEvery: time.Hour}
	t.Run("past a command's deadline", func(t *testing.T) {
		t.Parallel()
		c := impostor(t, quick, silent)
		r, err := c.Exec(t.Context(), guest.Command{Argv: []string{"x"}, Timeout: 10 * time.Millisecond})
		if !errors.Is(err, guest.ErrStuck) || !r.TimedOut {
			t.Errorf("got %+v, %v; want timed out and ErrStuck", r, err)
		}
		if _, err := c.ReadFile(t.Context(), "/f", 1); !errors.Is(err, guest.ErrStuck) {
			t.Errorf("the next call: got %v, want ErrStuck", err)
		}
	})
	t.Run("in the middle of a file", func(t *testing.T) {
		t.Parallel()
		c := impostor(t, quick, silent)
		if _, err := c.ReadFile(t.Context(), "/f", 1); !errors.Is(err, guest.ErrStuck) {
			t.Errorf("got %v, want ErrStuck", err)
		}
	})
	t.Run("after a cancelled call", func(t *testing.T) {
		t.Parallel()
		c := impostor(t, quick, silent)
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer stop()
		if _, err := c.Exec(ctx, guest.Command{Argv: []string{"x"}}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		if !errors.Is(c.Err(), guest.ErrStuck) {
			t.Errorf("the connection: got %v, want ErrStuck", c.Err())
		}
	})
	t.Run("that answers no ping", func(t *testing.T) {
		t.Parallel()
		c := impostor(t, guest.Config{PingEvery: 10 * time.Millisecond, Patience: 30 * time.Millisecond}, silent)
		select {
		case <-c.Done():
		case <-time.After(10 * time.Second):
		}
		if !errors.Is(c.Err(), guest.ErrStuck) {
			t.Errorf("got %v, want ErrStuck", c.Err())
		}
	})
	t.Run("that reads nothing", func(t *testing.T) {
		t.Parallel()
		host, box := net.Pipe()
		defer box.Close()
		go func() {
			_, _, _, _ = readFrame(box)
			_, _ = box.Write(frame(facts, 0, factsJSON))
		}()
		c, _, err := guest.Connect(t.Context(), host, guest.Config{PingEvery: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer stop()
		if err := c.WriteFile(ctx, "/f", make([]byte, 8<<20), 0o644); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
	})
}

func TestSlowProgramsDoNotLookSilent(t *testing.T) {
	t.Parallel()
	host, box := net.Pipe()
	go func() {
		defer box.Close()
		_, id, _, _ := readFrame(box)
		_, _ = box.Write(frame(facts, id, factsJSON))
		_, id, _, _ = readFrame(box)
		for range 8 { // far longer than the patience, but never silent for as long
			time.Sleep(250 * time.Millisecond)
			_, _ = box.Write(frame(bulk, id, "x"))
		}
		_, _ = box.Write(frame(end, id, `{"size":8}`))
	}()
	c, _, err := guest.Connect(t.Context(), host, guest.Config{Patience: time.Second, PingEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f, err := c.ReadFile(t.Context(), "/f", 100)
	if err != nil || string(f.Data) != "xxxxxxxx" {
		t.Errorf("got %q, %v", f.Data, err)
	}
}

func TestConnectFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		says string
		want error
	}{
		"on another kind":      {string(frame(end, 0, "{}")), guest.ErrTampered},
		"on another id":        {string(frame(facts, 1, factsJSON)), guest.ErrTampered},
		"on nonsense":          {string(frame(facts, 0, "nonsense")), guest.ErrTampered},
		"on another version":   {string(frame(facts, 0, `{"version":4}`)), guest.ErrTampered},
		"on an endless frame":  {"\xff\xff\xff\xff\x81\x00\x00\x00\x00", guest.ErrTampered},
		"when the stream ends": {"\x00\x00", guest.ErrLost},
		"when nothing comes":   {"", guest.ErrStuck},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, box := net.Pipe()
			go func() {
				_, _, _, _ = readFrame(box)
				if tc.says != "" {
					_, _ = io.WriteString(box, tc.says)
					_ = box.Close()
				}
			}()
			ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer stop()
			_, _, err := guest.Connect(ctx, host, guest.Config{})
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			_ = box.SetReadDeadline(time.Now().Add(5 * time.Second))
			if _, err := io.Copy(io.Discard, box); err != nil && !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("the stream was left open: %v", err)
			}
		})
	}
}

// FuzzClient feeds a client whatever: it may refuse, it may not panic, hang or
// keep more than was asked for.
func FuzzClient(f *testing.F) {
	f.Add([]byte{})
	f.Add(frame(stdout, 1, "out"))
	f.Add(append(frame(stdout, 1, "out"), frame(end, 1, `{"code":1,"stdout":3,"err":null}`)...))
	f.Add(append(frame(bulk, 2, "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x06/dir/a"), frame(end, 2, `{"truncated":true}`)...))
	f.Add(frame(end, 1, `{"err":{"kind":"no_space","text":"x"}}`))
	f.Fuzz(func(t *testing.T, says []byte) {
		host, box := net.Pipe()
		go func() {
			_, _, _, _ = readFrame(box)
			_, _ = box.Write(frame(facts, 0, factsJSON))
			go func() { _, _ = io.Copy(io.Discard, box) }()
			_, _ = box.Write(says)
			_ = box.Close()
		}()
		c, _, err := guest.Connect(t.Context(), host, guest.Config{})
		if err != nil { // it was over before it began
			if !errors.Is(err, guest.ErrLost) && !errors.Is(err, guest.ErrTampered) {
				t.Error(err)
			}
			return
		}
		defer c.Close()
		r, _ := c.Exec(t.Context(), guest.Command{Argv: []string{"x"}, Head: 5, Tail: 5})
		if n := len(r.Stdout.Head) + len(r.Stdout.Tail); n > 10 {
			t.Errorf("kept %d bytes of 10", n)
		}
		if l, _ := c.List(t.Context(), "/dir", true, 3); len(l.Entries) > 3 {
			t.Errorf("kept %d entries of 3", len(l.Entries))
		}
	})
}
