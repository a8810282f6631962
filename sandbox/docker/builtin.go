package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	imagetypes "github.com/docker/docker/api/types/image"

	"github.com/agentclash/agentclash/sandbox/guest/shell"
)

// builtinTar is the root of the built-in image. It holds no program: what is in
// its /bin leads to the guest, which every container of ours has, and which is
// a shell and a few commands under those names. So the image is some kilobytes
// and the same for every build.
func builtinTar() []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(h tar.Header, content string) {
		h.ModTime, h.Size, h.Format = time.Unix(0, 0), int64(len(content)), tar.FormatPAX
		_ = w.WriteHeader(&h) // a buffer takes everything
		_, _ = io.WriteString(w, content)
	}
	for _, dir := range []string{".agentclash", "bin", "dev", "etc", "proc", "root", "run", "sys", "tmp", "usr", "var", "var/tmp", "workspace"} {
		mode := int64(0o755)
		if dir == "tmp" || dir == "var/tmp" {
			mode = 0o1777
		}
		add(tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: mode}, "")
	}
	add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644}, "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")
	add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/group", Mode: 0o644}, "root:x:0:\nnogroup:x:65534:\n")
	add(tar.Header{Typeflag: tar.TypeSymlink, Name: "usr/bin", Linkname: "../bin", Mode: 0o777}, "")
	for _, name := range shell.Names() {
		add(tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: guestPath, Mode: 0o777}, "")
	}
	_ = w.Close()
	return b.Bytes()
}

const (
	builtinRepository = "agentclash/builtin"
	builtinKind       = "builtin"
	builtinRemark     = "agentclash built-in image" // the comment of its only layer
)

// builtinRef is the built-in image's name, by its content.
func builtinRef(content []byte) string {
	sum := sha256.Sum256(content)
	return builtinRepository + ":" + hex.EncodeToString(sum[:6])
}

// importBuiltin makes the built-in image unless the engine has it, and returns
// its name.
func (p *Provider) importBuiltin(ctx context.Context) (string, error) {
	content := builtinTar()
	ref := builtinRef(content)
	ctx, stop := context.WithTimeout(ctx, createTime)
	defer stop()
	if _, err := p.cli.ImageInspect(ctx, ref); err == nil {
		return ref, nil
	}
	// The tag stands in the name: Podman takes no notice of one given beside it.
	body, err := p.cli.ImageImport(ctx, imagetypes.ImportSource{Source: bytes.NewReader(content), SourceName: "-"}, ref, imagetypes.ImportOptions{
		Message: builtinRemark,
		Changes: []string{"ENV PATH=/bin", "WORKDIR /workspace", "LABEL " + labelImage + "=" + builtinKind, `CMD ["/bin/sh"]`},
	})
	if err != nil {
		return "", fmt.Errorf("import the built-in image: %w", err)
	}
	defer body.Close()
	if err := follow(body, func(pullMessage) {}); err != nil {
		return "", fmt.Errorf("import the built-in image: %w", err)
	}
	return ref, nil
}
