package docker_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	imagetypes "github.com/docker/docker/api/types/image"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
)

// deb is a Debian package made here.
type deb struct {
	name, version string
	fields        string // more lines of its control file
	postinst      string
}

func (d deb) control() string {
	return fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: test <test@example.invalid>\n%sDescription: a test\n", d.name, d.version, d.fields)
}

// archive is the package as a file: an ar of a version and two tars.
func (d deb) archive(t testing.TB) []byte {
	t.Helper()
	control := map[string]string{"./control": d.control()}
	if d.postinst != "" {
		control["./postinst"] = "#!/bin/sh\nset -e\n" + d.postinst + "\n"
	}
	program := "#!/bin/sh\necho " + d.name + " " + d.version + "\n"
	out := bytes.NewBufferString("!<arch>\n")
	for _, part := range []struct {
		name    string
		content []byte
	}{
		{"debian-binary", []byte("2.0\n")},
		{"control.tar.gz", tarOf(t, control, true)},
		{"data.tar.gz", tarOf(t, map[string]string{"./usr/bin/" + d.name: program}, true)},
	} {
		fmt.Fprintf(out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", part.name, 0, 0, 0, "100644", len(part.content))
		out.Write(part.content)
		if len(part.content)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

func tarOf(t testing.TB, files map[string]string, compressed bool) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.Writer = &b
	z := gzip.NewWriter(&b)
	if compressed {
		w = z
	}
	a := tar.NewWriter(w)
	for name, content := range files {
		if err := a.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content)), Format: tar.FormatGNU}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(a, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if compressed {
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// debianWith makes an image from the one with tools whose only source of
// packages is a directory of its own: nothing here needs a network.
func debianWith(t *testing.T, source string, debs ...deb) string {
	t.Helper()
	if !haveStandIn(t) {
		t.Skipf("there is no image %s (make sandbox-image)", docker.StandInImage)
	}
	files := map[string]string{"etc/apt/sources.list": source}
	var index strings.Builder
	for _, d := range debs {
		b := d.archive(t)
		file := d.name + ".deb"
		files["debs/"+file] = string(b)
		fmt.Fprintf(&index, "%sFilename: ./%s\nSize: %d\nSHA256: %x\n\n", d.control(), file, len(b), sha256.Sum256(b))
	}
	files["debs/Packages"] = index.String()
	c := raw(t)
	id := createHelper(t, docker.StandInImage, "")
	defer removeContainer(t, id)
	if err := c.CopyToContainer(t.Context(), id, "/", bytes.NewReader(tarOf(t, files, false)), copyOptions); err != nil {
		t.Fatal(err)
	}
	ref := "agentclash-test:" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")) + fmt.Sprintf("-%x", sha256.Sum256([]byte(source+index.String()+time.Now().String())))[:9]
	made, err := c.ContainerCommit(t.Context(), id, container.CommitOptions{Reference: ref, Changes: []string{
		"USER 65534", "ENV OF_THE_IMAGE=kept", `ENTRYPOINT ["/bin/false"]`, `CMD ["x y","$z"]`, "WORKDIR /srv",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		removeLayers(t, ref)
		await(t, "the image is removed", func() bool {
			_, err := c.ImageRemove(context.Background(), made.ID, imagetypes.RemoveOptions{Force: true, PruneChildren: true})
			return err == nil || strings.Contains(err.Error(), "No such image")
		})
	})
	return ref
}

const ownDirectory = "deb [trusted=yes] file:/debs ./\n"

func layersOf(t testing.TB, base string) []imagetypes.Summary {
	t.Helper()
	all, err := raw(t).ImageList(context.Background(), imagetypes.ListOptions{Filters: filters.NewArgs(filters.Arg("label", "dev.agentclash.base="+base))})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func removeLayers(t testing.TB, base string) {
	t.Helper()
	for _, l := range layersOf(t, base) {
		_, _ = raw(t).ImageRemove(context.Background(), l.ID, imagetypes.RemoveOptions{Force: true})
	}
}

// workshops are the containers of a provider in which packages are installed.
func workshops(t testing.TB, o docker.Options) []container.Summary {
	t.Helper()
	all, err := raw(t).ContainerList(context.Background(), container.ListOptions{All: true, Filters: filters.NewArgs(
		filters.Arg("label", "dev.agentclash.owner="+o.Owner), filters.Arg("name", "agentclash-layer-"))})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPackages(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Image = debianWith(t, ownDirectory,
		deb{name: "cowtool", version: "1:2.0-1", fields: "Depends: cowlib\nRecommends: cowextra\n",
			postinst: `test "$DEBIAN_FRONTEND" = noninteractive; test "$http_proxy" = http://user:pw@127.0.0.1:9; (sleep 1000 &) >/dev/null 2>&1; env >/tmp/env`},
		deb{name: "cowlib", version: "0.9~rc1"}, deb{name: "cowextra", version: "1"}, deb{name: "other", version: "3"})
	env := o.Getenv
	o.Getenv = func(name string) string {
		if name == "HTTP_PROXY" {
			return "http://user:pw@127.0.0.1:9" // nothing is asked there: the source is a directory
		}
		return env(name)
	}
	var mu sync.Mutex
	var said []string
	o.Progress = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, line)
	}
	spec := sandbox.Spec{Packages: []string{"cowtool"}}
	p := open(t, o)
	d, err := p.Describe(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if d.Packages != "cowlib=0.9~rc1 cowtool=1:2.0-1" || d.Image != o.Image {
		t.Errorf("got %+v, want both packages and the image as it was asked for", d)
	}
	if text := strings.Join(said, "\n"); !strings.Contains(text, "installing cowtool into "+o.Image) || !strings.Contains(text, "kept as agentclash-layer:") {
		t.Errorf("said %q", text)
	}
	r := run(t, box(t, p, spec), sh("cowtool; cowlib; cowextra; id -u; pwd; env; ls /usr/sbin/policy-rc.d /var/lib/apt/lists/*Packages"))
	for _, want := range []string{"cowtool 1:2.0-1\n", "cowlib 0.9~rc1\n", "65534\n", "/workspace\n"} {
		if !strings.Contains(r.Stdout.Text, want) {
			t.Errorf("in the box: %q lacks %q", r.Stdout.Text, want)
		}
	}
	if strings.Contains(r.Stdout.Text, "pw@") || strings.Contains(r.Stdout.Text, "policy-rc.d") || strings.Contains(r.Stdout.Text, "lists") || !strings.Contains(r.Stderr.Text, "cowextra: not found") {
		t.Errorf("in the box: %q %q, want neither what was recommended nor the build's environment nor its leavings", r.Stdout.Text, r.Stderr.Text)
	}

	// Another provider finds the layer, and builds nothing.
	said = nil
	again := open(t, o)
	if second, err := again.Describe(t.Context(), sandbox.Spec{Packages: []string{"cowtool", "cowtool"}}); err != nil || second != d || said != nil {
		t.Errorf("again: got %+v, %v after %q, want %+v at once", second, err, said, d)
	}
	// Without packages the box has none, from the same provider.
	if r := run(t, box(t, p, sandbox.Spec{}), sh("cowtool")); r.ExitCode != 127 {
		t.Errorf("without packages: got %+v", r)
	}
	wantLayerLikeBase(t, o, d.ImageID)
	await(t, "no container is left of the build", func() bool { return len(workshops(t, o)) == 0 })
}

// wantLayerLikeBase: whoever uses the layer as an image finds the base's ways,
// and a container of it is nobody's to remove.
func wantLayerLikeBase(t *testing.T, o docker.Options, id string) {
	t.Helper()
	c := raw(t)
	img, err := c.ImageInspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(img.Config.User, img.Config.Entrypoint, len(img.Config.Cmd), img.Config.Cmd, img.Config.WorkingDir, img.Config.Env)
	if !strings.HasPrefix(got, "65534[/bin/false] 2 [x y $z]/srv[") || !strings.Contains(got, "OF_THE_IMAGE=kept") || strings.Contains(got, "proxy") || strings.Contains(got, "DEBIAN") {
		t.Errorf("the layer is %s", got)
	}
	labels := img.Config.Labels
	if labels["dev.agentclash.image"] != "layer" || len(labels["dev.agentclash.layer"]) != 64 || labels["dev.agentclash.owner"] != "" {
		t.Errorf("its labels are %v", labels)
	}
	made, err := c.ContainerCreate(t.Context(), &container.Config{Image: id}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer removeContainer(t, made.ID)
	o.Owner, o.Alive = "test/reaper/"+t.Name(), func(string) bool { return false }
	o.HostID = "agentclash-layer-test"
	if _, err := docker.Reap(t.Context(), o); err != nil || !exists(t, c, made.ID) {
		t.Errorf("reaped: %v; a container that a person made of a layer is theirs", err)
	}
}

// Providers that want the same layer at once all get one, be they of one
// process or not.
func TestPackagesAtOnce(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Image = debianWith(t, ownDirectory, deb{name: "cowtool", version: "1", postinst: "sleep 1"})
	a, b := open(t, o), open(t, o)
	var wg sync.WaitGroup
	ids := make([]string, 6)
	for i := range ids {
		wg.Go(func() {
			p := a
			if i%2 == 1 {
				p = b
			}
			d, err := p.Describe(t.Context(), sandbox.Spec{Packages: []string{"cowtool"}})
			if err != nil {
				t.Error(err)
			}
			ids[i] = d.ImageID
		})
	}
	wg.Wait()
	if len(layersOf(t, o.Image)) > 2 {
		t.Errorf("%d layers were built by two providers", len(layersOf(t, o.Image)))
	}
	for _, p := range []*docker.Provider{a, b} {
		if r := run(t, box(t, p, sandbox.Spec{Packages: []string{"cowtool"}}), sh("cowtool")); r.Stdout.Text != "cowtool 1\n" {
			t.Errorf("got %+v", r)
		}
	}
}

func TestPackagesThatCannotBe(t *testing.T) {
	t.Parallel()
	o := options(t)
	ours := debianWith(t, ownDirectory, deb{name: "cowtool", version: "1"}, deb{name: "broken", version: "1", postinst: "echo it does not work >&2; exit 3"},
		deb{name: "full", version: "1", postinst: "head -c 99999999 /dev/zero >/run/x"})
	away := debianWith(t, "deb [trusted=yes] http://user:hunter2@127.0.0.1:9/debian x main\n")
	for name, tc := range map[string]struct {
		image    string
		packages []string
		want     string
	}{
		"an image without dpkg":   {docker.BuiltinImage, []string{"cowtool"}, "name an image made from Debian"},
		"an unknown package":      {ours, []string{"cowtool", "cowtoool"}, `have no package "cowtoool"`},
		"what apt takes for more": {ours, []string{"cowtool+"}, `have no package "cowtool+"`},
		"a removal":               {ours, []string{"bash-"}, "is not the name of a Debian package"},
		"an option":               {ours, []string{"--purge"}, "is not the name of a Debian package"},
		"a package that fails":    {ours, []string{"broken"}, "exit status 100"},
		"a full disk":             {ours, []string{"full"}, "is full"},
		"no network":              {away, []string{"cowtool"}, "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := o
			o.Image, o.Owner = tc.image, o.Owner+"/"+name
			p := open(t, o)
			_, err := p.Describe(t.Context(), sandbox.Spec{Packages: tc.packages})
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			var failed *sandbox.BoxError
			if !strings.Contains(tc.want, "is not the name") && (!errors.As(err, &failed) || failed.Kind != sandbox.Image) {
				t.Errorf("got %#v, want a failure of the image", err)
			}
			await(t, "no container is left", func() bool { return len(workshops(t, o)) == 0 })
		})
	}
}

// A build is closed in, carries its owner, and ends with who wanted it.
func TestPackagesCancelled(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Image = debianWith(t, ownDirectory, deb{name: "slow", version: "1", postinst: "touch /tmp/there; sleep 1000"})
	p := open(t, o)
	ctx, stop := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := p.Describe(ctx, sandbox.Spec{Packages: []string{"slow"}})
		failed <- err
	}()
	await(t, "the build runs", func() bool { w := workshops(t, o); return len(w) == 1 && w[0].State == container.StateRunning })
	c, err := raw(t).ContainerInspect(t.Context(), workshops(t, o)[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	h := c.HostConfig
	if fmt.Sprint(h.CapDrop) != "[ALL]" || fmt.Sprint(h.SecurityOpt) != "[no-new-privileges:true]" || *h.PidsLimit != 1024 || h.Memory == 0 || c.Config.Labels["dev.agentclash.memory"] != fmt.Sprint(h.Memory) || !h.AutoRemove || h.Privileged || len(h.Binds) != 0 {
		t.Errorf("the build's container is %+v", h)
	}
	if c.Config.Labels["dev.agentclash.owner"] != o.Owner || c.Config.Labels["dev.agentclash.expires"] == "" {
		t.Errorf("its labels are %v", c.Config.Labels)
	}
	stop()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
	await(t, "no container is left", func() bool { return len(workshops(t, o)) == 0 })
	if n := len(layersOf(t, o.Image)); n != 0 {
		t.Errorf("%d layers are left", n)
	}
}
