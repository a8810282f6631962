package query

import "time"

// Within sets how long a question may take.
func (r *Runner) Within(limit time.Duration) { r.time = limit }

// ApplyWAL shows tests what a database file is with its log.
func ApplyWAL(file, wal []byte) ([]byte, error) { return database(file, wal) }

// OutOfMemory is what a dead process has said of its memory.
func OutOfMemory(said string) bool { return outOfMemory.MatchString(said) }
