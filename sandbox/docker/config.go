package docker

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guest"
	"github.com/agentclash/agentclash/sandbox/guestbox"
)

// Where the guest is in every container.
const (
	guestDir  = "/.agentclash"
	guestPath = guestDir + "/guest"
)

// The labels of everything that is made here.
const (
	labelMemory = "dev.agentclash.memory" // bytes that its processes may take together
	labelGuest  = "dev.agentclash.guest"  // of volumes: the guest's hash
	labelImage  = "dev.agentclash.image"  // of images: which of ours
)

const defaultLifetime = 2 * time.Hour

// plan is one container to be, in words of our own.
type plan struct {
	image    image
	volume   string
	limits   sandbox.Limits
	layout   layout
	env      map[string]string
	network  sandbox.Network
	port     int // of the network's proxy
	lifetime time.Duration
	labels   map[string]string
	// removals are under way of containers that did not become the box.
	removals *sync.WaitGroup
	// ahead is called when the engine begins with a box that nobody waits for;
	// nil for any other.
	ahead func()
	// plainMounts: the engine takes no owner of a file system, and no limit on
	// the number of its files.
	plainMounts bool
}

func (p *Provider) plan(spec sandbox.Spec, img image, g guestFile) (plan, error) {
	limits, y, err := settle(spec.Limits, len(img.volumes))
	if err != nil {
		return plan{}, err
	}
	if p.engine.CPUs > 0 { // engines refuse a limit beyond what they have
		limits.NanoCPUs = min(limits.NanoCPUs, int64(p.engine.CPUs)*1e9)
	}
	if err := guestbox.CheckEnv(spec.Env); err != nil {
		return plan{}, err
	}
	lifetime := spec.Lifetime
	if lifetime <= 0 {
		lifetime = defaultLifetime
	}
	labels := p.ownLabels(lifetime)
	maps.Copy(labels, guestbox.TrialLabels(spec.Labels))
	labels[labelMemory] = strconv.FormatInt(limits.MemoryBytes, 10)
	return plan{
		image: img, volume: g.volume, limits: limits, layout: y,
		env: spec.Env, network: spec.Network, port: cmp.Or(spec.NetworkPort, sandbox.ProxyPort),
		lifetime: lifetime, labels: labels, removals: new(sync.WaitGroup), plainMounts: p.engine.Name == podman,
	}, nil
}

func (p *Provider) ownLabels(lifetime time.Duration) map[string]string {
	return p.o.owner().Labels(p.o.now().Add(lifetime))
}

// config is the container, for the engine. The entry point is ours, whatever
// the image's is; an image's health check would run programs of its own.
func (b plan) config() (*container.Config, *container.HostConfig) {
	stopNow := 0
	c := &container.Config{
		Image: b.image.id, Entrypoint: []string{guestPath},
		Cmd:  []string{guest.Subcommand, "--deadline", b.lifetime.String()},
		User: b.image.user, WorkingDir: sandbox.Workspace, Hostname: "sandbox", Env: b.environ(),
		OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		StopSignal:  "SIGKILL", StopTimeout: &stopNow, Labels: b.labels,
	}
	noInit, l := false, b.limits
	h := &container.HostConfig{
		AutoRemove: true, Init: &noInit, NetworkMode: "none", ReadonlyRootfs: true,
		CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges:true"},
		OomScoreAdj: 500, IpcMode: container.IPCModePrivate, CgroupnsMode: container.CgroupnsModePrivate,
		ShmSize: b.layout.shm, Tmpfs: b.tmpfs(), Mounts: []mount.Mount{b.guestMount()},
		LogConfig: container.LogConfig{Type: "none"},
		Resources: container.Resources{
			Memory: l.MemoryBytes, MemorySwap: l.MemoryBytes, NanoCPUs: l.NanoCPUs, PidsLimit: &l.PIDs,
			Ulimits: []*container.Ulimit{{Name: "nofile", Soft: l.OpenFiles, Hard: l.OpenFiles}, {Name: "core"}},
		},
	}
	if l.FileBytes > 0 {
		h.Ulimits = append(h.Ulimits, &container.Ulimit{Name: "fsize", Soft: l.FileBytes, Hard: l.FileBytes})
	}
	return c, h
}

// environ is the box's environment. The image knows best where its programs
// are and what language they speak; nothing comes from this machine.
func (b plan) environ() []string {
	env := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
		"HOME": sandbox.Workspace + "/.home", "TZ": "UTC", "TMPDIR": "/tmp",
	}
	for _, e := range b.image.env {
		if k, v, _ := strings.Cut(e, "="); k == "PATH" || k == "LANG" {
			env[k] = v
		}
	}
	if b.network != nil {
		maps.Copy(env, sandbox.ProxyVariables(b.port))
	}
	maps.Copy(env, b.env)
	var all []string
	for _, k := range slices.Sorted(maps.Keys(env)) {
		all = append(all, k+"="+env[k])
	}
	return all
}

// tmpfs is what can be written, and how much: bytes, and files, whose names cost
// memory too. Left to the engine, a volume that the image declares would be a
// directory of its disk, without a limit.
func (b plan) tmpfs() map[string]string {
	y := b.layout
	all := map[string]string{}
	for dir := range b.image.volumes {
		all[dir] = b.mountOptions(y.extra, "exec,mode=1777")
	}
	owned := fmt.Sprintf("exec,uid=%d,gid=%d,mode=0755", b.image.uid, b.image.gid)
	if b.plainMounts {
		owned = "exec,U,mode=0755" // U: the container's user owns it
	}
	all[sandbox.Workspace] = b.mountOptions(y.workspace, owned)
	all["/tmp"] = b.mountOptions(y.tmp, "exec,mode=1777")
	all["/var/tmp"] = b.mountOptions(y.varTmp, "exec,mode=1777")
	all["/run"] = b.mountOptions(y.run, "mode=0755")
	return all
}

func (b plan) mountOptions(size int64, more string) string {
	o := fmt.Sprintf("rw,nosuid,nodev,size=%d,%s", size, more)
	if !b.plainMounts {
		o += fmt.Sprintf(",nr_inodes=%d", max(size/bytesPerFile, 256))
	}
	return o
}

func (b plan) guestMount() mount.Mount {
	return mount.Mount{
		Type: mount.TypeVolume, Source: b.volume, Target: guestDir, ReadOnly: true,
		VolumeOptions: &mount.VolumeOptions{NoCopy: true, Labels: map[string]string{labelGuest: b.volume}},
	}
}

// volumesOf are the directories that an image declares as volumes, as far as
// they are not ours or below ours anyway.
func volumesOf(declared map[string]struct{}) map[string]bool {
	all := map[string]bool{}
	for dir := range declared {
		dir = path.Clean("/" + dir)
		if dir != "/" && dir != guestDir {
			all[dir] = true
		}
	}
	return all
}

// verify compares what the guest found in its box with what was ordered, and
// says what differs; "" for nothing. An engine may leave things out with no
// more than a warning.
func (b plan) verify(f guest.Facts, guestBytes int64) string {
	d := guestbox.Check(f, guestBytes)
	d.Want(f.PIDsMax > 0 && f.PIDsMax <= b.limits.PIDs, "its limit of processes is %s, not %d", limitText(f.PIDsMax), b.limits.PIDs)
	d.Want(f.MemoryMax > 0 && f.MemoryMax <= b.limits.MemoryBytes, "its limit of memory is %s, not %d", limitText(f.MemoryMax), b.limits.MemoryBytes)
	d.Want(f.OpenFiles > 0 && f.OpenFiles <= b.limits.OpenFiles, "its limit of open files is %s, not %d", limitText(f.OpenFiles), b.limits.OpenFiles)
	d.Want(b.limits.FileBytes == 0 || f.FileBytes > 0 && f.FileBytes <= b.limits.FileBytes, "its limit of a file's size is %s, not %d", limitText(f.FileBytes), b.limits.FileBytes)
	d.Want(f.WorkspaceBytes > 0 && f.WorkspaceBytes <= b.layout.workspace, "its workspace has %d bytes, not %d", f.WorkspaceBytes, b.layout.workspace)
	d.Want(f.UID == b.image.uid, "its user is %d, not %d", f.UID, b.image.uid)
	return d.String()
}

func limitText(n int64) string {
	switch n {
	case 0:
		return "not to be seen"
	case -1:
		return "none"
	}
	return strconv.FormatInt(n, 10)
}
