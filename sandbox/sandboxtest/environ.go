package sandboxtest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

func callVariables(t *testing.T, k *contract) {
	box := k.boxOf(t, sandbox.Spec{
		Network: func(context.Context, net.Conn) {},
		Env:     map[string]string{"http_proxy": "http://spec:1", "TZ": "Spec/Zone", "HOME": "/tmp"},
	})
	c := sh(`echo "$http_proxy $https_proxy $TZ $HOME"`)
	k.wantOutput(t, box, c, "http://spec:1 http://127.0.0.1:3128 Spec/Zone /tmp\n")
	c.Env = map[string]string{"http_proxy": "http://call:1", "https_proxy": "", "TZ": "Call/Zone"}
	k.wantOutput(t, box, c, "http://call:1  Call/Zone /tmp\n")
}

func homeAndTemporary(t *testing.T, k *contract) {
	k.wantOutput(t, k.box(t), sh(`case "$HOME" in /workspace/*) echo home;; *) echo "home is $HOME";; esac
		echo x > "$TMPDIR/probe" && read -r l < "$TMPDIR/probe" && echo "$l"; echo "$TZ"`), "home\nx\nUTC\n")
}

func largeInput(t *testing.T, k *contract) {
	box := k.box(t)
	data := make([]byte, 8<<20)
	rand.NewChaCha8([32]byte{1}).Read(data)
	c := sh(`cat > in.bin`)
	c.Stdin = data
	k.succeed(t, box, c)
	f, err := box.ReadFile(during(t), "in.bin", 1<<30)
	if err != nil || !bytes.Equal(f.Data, data) {
		t.Errorf("8 MiB of standard input: got %d of %d bytes in the box, %v, want all, unchanged", len(f.Data), len(data), err)
	}
}
