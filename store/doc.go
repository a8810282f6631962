// Package store keeps every fact of every run in one SQLite file: packs and
// their snapshots, runs, run agents, trials and their attempts, events,
// baselines, gate records, rescorings, deployments and provider accounts.
//
// It decides how facts lie on disk, in which order they are read back, which
// of them survive a crash (every trial whose end was acknowledged), and what a
// selector means. It decides nothing about what the facts say: it does not
// score, rank, compare or print, it never contacts another process, and it
// imports no more of the engine than its types.
//
// The event log is the source of truth. A [Recorder] writes events and, in the
// same transaction, the rows of trials and attempts that follow from them, so
// that lists and scorecards are read from rows and never disagree with the log.
// Every commit survives the death of the process; one that was made moments
// before the machine itself loses power may be lost, the file stays sound.
//
// One connection writes, a few read, and readers never wait for the writer.
// Other processes on the same file wait for their turn (see
// [Options].Patience). A store opened read-only is never changed or repaired,
// and needs no right to write beside it.
//
// Times are UTC. A workspace is a column: "" means [DefaultWorkspace].
package store
