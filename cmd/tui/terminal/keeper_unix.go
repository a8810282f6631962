//go:build unix

package terminal

import (
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// keeper is a process that outlives this one to give the terminal back should that end
// without having done so: by kill -9, for want of memory, or by a panic that nobody
// recovers, whose text it shows where it can be read. It is a shell, which is small and
// there wherever a terminal is; without one nothing is kept.
type keeper struct {
	tell *os.File // nil: there is none
	gone chan struct{}
}

// keeping is what the keeper does. It learns from lines whether the screen is shown, and
// from their end that nobody tells it any more: what it was told besides is the text of a
// panic. The page is left before anything else, so that what a shell says of the end is
// not lost with it. The mode is set only where it is still a screen's, which alone has the
// terminal leave line ends as they are in both directions: a shell may have been faster,
// and reads a line by then.
const keeping = `trap '' HUP INT QUIT TERM TSTP TTIN TTOU
shown= said=
while IFS= read -r line; do
	case $line in
	shown) shown=y ;;
	away) shown= ;;
	over) exit ;;
	*) said="$said$line
" ;;
	esac
done
[ "$shown" ] || exit
printf '\033[?2004l\033[?1049l'
mode=$("$1" -a <&3)
case $mode in *-icrnl*) case $mode in *-opost*) "$1" "$2" <&3 ;; esac ;; esac
printf '\033[?25h%s' "$said"
`

// keep starts a keeper for the terminal that in and out are.
func keep(in io.Reader, out io.Writer) keeper {
	tty, reads := in.(*os.File)
	screen, writes := out.(*os.File)
	if !reads || !writes {
		return keeper{}
	}
	stty := exec.Command("stty", "-g")
	stty.Stdin = tty
	mode, err := stty.Output()
	if err != nil {
		return keeper{}
	}
	told, tell, err := os.Pipe()
	if err != nil {
		return keeper{}
	}
	defer told.Close()
	sh := exec.Command("/bin/sh", "-c", keeping, "sh", stty.Path, strings.TrimSpace(string(mode)))
	sh.Dir, sh.Env = "/", []string{"LC_ALL=C"}
	sh.Stdin, sh.Stdout, sh.ExtraFiles = told, screen, []*os.File{tty}
	sh.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // who ends the whole job leaves this one
	if err := sh.Start(); err != nil {
		tell.Close()
		return keeper{}
	}
	k := keeper{tell, make(chan struct{})}
	go func() { _ = sh.Wait(); close(k.gone) }()
	_ = debug.SetCrashOutput(tell, debug.CrashOptions{})
	k.say("shown")
	return k
}

// over ends the keeper: the terminal has been given back.
func (k keeper) over() {
	if k.tell == nil {
		return
	}
	k.say("over")
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	k.tell.Close()
	select {
	case <-k.gone:
	case <-time.After(time.Second): // someone has stopped it
	}
}

// say tells the keeper something. One that is gone cannot be told.
func (k keeper) say(what string) {
	if k.tell != nil {
		_, _ = k.tell.WriteString(what + "\n")
	}
}
