package query

import "time"

// Within sets how long a question may take.
func (r *Runner) Within(limit time.Duration) { r.time = limit }
