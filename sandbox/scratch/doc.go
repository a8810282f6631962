// Package scratch opens boxes that are temporary directories: files in a
// workspace, and no programs at all. It serves what needs no process on a
// machine with no sandbox engine.
//
// It decides how a box's files are kept inside their directory (os.Root: no
// path and no symbolic link leads out), what they may cost, and whose
// directories may be swept away after a crash. What a path means is the port's
// rule (sandbox.Resolve). Who is alive is the caller's knowledge.
package scratch
