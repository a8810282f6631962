package main_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// smallDisk is a file system of its own, as large as options say.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("cannot mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// onDisk is the program with its home on a disk.
func onDisk(t *testing.T, disk string) program {
	t.Helper()
	p := newProgram(t)
	p.env = append(p.env, "AGENTCLASH_HOME="+disk)
	return p
}

// fillUp takes what is left of a disk, to the last byte.
func fillUp(t *testing.T, disk string) (free func()) {
	t.Helper()
	ballast := filepath.Join(disk, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) || f.Close() != nil {
		t.Fatalf("fill the disk: %v", err)
	}
	return func() {
		if err := os.Remove(ballast); err != nil {
			t.Error(err)
		}
	}
}

const hundredTimes = "eval start --pack builtin:quickstart --model scripted/builtin:quickstart-good --repetitions 100 --quiet"

// readsOn sees that what reads the store still does, with exit status 0.
func (p program) readsOn(t *testing.T, commands map[string]string) {
	t.Helper()
	for args, want := range commands {
		if got := p.says(t, nil, args); got.status != 0 || !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("%s: got %+v, want %q", args, got, want)
		}
	}
}

// wantsRoom sees that commands which write say what is full, and what to do.
func (p program) wantsRoom(t *testing.T, disk string, commands ...string) {
	t.Helper()
	for _, args := range commands {
		got := p.says(t, nil, args)
		if got.status != 75 || !strings.Contains(got.stderr, disk) || !strings.Contains(got.stderr, "no space left") || !strings.Contains(got.stderr, "hint: make room") {
			t.Errorf("%s: got %+v", args, got)
		}
	}
}

// TestRunOnAFullDisk has a disk fill up in the middle of a run. What was finished is kept
// and can be read, what would write says so, and with more room the run goes on.
func TestRunOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "size=3m")
	p := onDisk(t, disk)
	got := p.says(t, nil, hundredTimes)
	if got.status != 75 || !strings.Contains(got.stderr, disk+`/agentclash.db": no space left for the store`) || !strings.Contains(got.stderr, "agentclash run resume ") {
		t.Fatalf("the run: got %+v", got)
	}
	free := fillUp(t, disk)
	page := filepath.Join(p.dir, "report.html")
	p.readsOn(t, map[string]string{ // the run is noted to be over, if the log has room for it
		"run list":                     "quickstart-",
		"run get latest":               "quickstart-",
		"eval scorecard latest":        "passed",
		"run events latest":            "run.started",
		"store info":                   "1 runs, 400 trials",
		"run report latest -o " + page: "wrote",
	})
	if got := p.says(t, nil, "doctor"); !strings.Contains(got.stdout, "warn  store") || !strings.Contains(got.stdout, "free some disk") {
		t.Errorf("doctor: got %+v", got)
	}
	p.wantsRoom(t, disk, hundredTimes, "run resume latest", "run report latest -o "+filepath.Join(disk, "report.html"))
	free()
	for _, name := range names(t, disk) {
		if !strings.HasPrefix(name, "agentclash.db") && name != "snapshots" {
			t.Errorf("%s is left", name)
		}
	}
	if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT, "size=16m"); err != nil {
		t.Fatal(err)
	}
	p.readsOn(t, map[string]string{"run resume latest": "Status:              completed"})
	p.readsOn(t, map[string]string{"eval scorecard latest": "Trials:              400 passed, 0 failed, 0 invalid"})
	p.readsOn(t, map[string]string{"run prune --keep 0": "removed 1 run"})
	p.readsOn(t, map[string]string{"store gc": "smaller"})
}

// TestClosedStoreOnAFullDisk reads a store, of this schema and of earlier ones, beside
// which there is no room for the index of a log that nobody writes.
func TestClosedStoreOnAFullDisk(t *testing.T) {
	t.Parallel()
	all, newest := schemas(t)
	for _, schema := range tried(all) {
		t.Run(strconv.Itoa(schema), func(t *testing.T) {
			t.Parallel()
			disk := smallDisk(t, "size=3m")
			p := onDisk(t, disk)
			raw, err := unpacked(schema)
			if err == nil {
				err = os.WriteFile(filepath.Join(disk, "agentclash.db"), raw, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			free := fillUp(t, disk)
			p.readsOn(t, map[string]string{"run list": "thrice", "eval scorecard first --agent quickstart-bad": "Pass rate: ", "store info": "schema " + strconv.Itoa(schema)})
			p.wantsRoom(t, disk, hundredTimes, "baseline set second", "run prune --keep 0")
			free()
			p.readsOn(t, map[string]string{"baseline set second": ""})
			p.readsOn(t, map[string]string{"store gc": ""})
			p.readsOn(t, map[string]string{"run list": "thrice", "store info": "schema " + strconv.Itoa(newest)})
		})
	}
}

// TestGarbageOnASmallDisk writes a store anew: by way of the directory for temporary
// files and not of memory, and again when there was no room there.
func TestGarbageOnASmallDisk(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.env = append(p.env, "SQLITE_TMPDIR="+smallDisk(t, "size=1m"))
	noise := rand.NewChaCha8([32]byte{})
	for _, name := range []string{"stays", "goes"} {
		content := make([]byte, 20<<20) // more than is kept in memory in any case
		if _, err := noise.Read(content); err != nil {
			t.Fatal(err)
		}
		p.write(t, name, string(content))
		p.readsOn(t, map[string]string{"artifact upload " + name + " --type notes": name})
	}
	p.readsOn(t, map[string]string{"artifact delete latest": "deleted"})
	p.wantsRoom(t, filepath.Join(p.dir, "home"), "store gc")
	p.env = append(p.env, "SQLITE_TMPDIR=")
	p.readsOn(t, map[string]string{"store gc": "the store is 21."})
	p.readsOn(t, map[string]string{"artifact download latest -O " + filepath.Join(p.dir, "again"): ""})
	p.readsOn(t, map[string]string{"store info": "21."})
}

// names are those of the files in a directory.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
