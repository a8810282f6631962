-- A rescoring is a run's evidence scored again, beside what the run itself came
-- to. One that has not finished is being written, or its writer died: nobody is
-- shown it.
CREATE TABLE rescorings (
	id           INTEGER PRIMARY KEY,
	uid          TEXT    NOT NULL UNIQUE,
	run_id       INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
	pack_id      INTEGER NOT NULL REFERENCES packs (id), -- that it was scored by
	spec_digest  TEXT    NOT NULL,
	program      TEXT    NOT NULL, -- the version of agentclash that scored
	trials       INTEGER NOT NULL DEFAULT 0, -- scored again
	flipped      INTEGER NOT NULL DEFAULT 0, -- of these
	kept         INTEGER NOT NULL DEFAULT 0, -- not scored again, and still counted as what they were
	left_out     INTEGER NOT NULL DEFAULT 0, -- not scored again, and not counted
	created_at   INTEGER NOT NULL,
	finished_at  INTEGER,
	owner        TEXT    NOT NULL,
	owner_pid    INTEGER NOT NULL,
	owner_host   TEXT    NOT NULL,
	heartbeat_at INTEGER NOT NULL
) STRICT;

CREATE INDEX rescorings_of_run ON rescorings (run_id);
CREATE INDEX rescorings_by_pack ON rescorings (pack_id);
CREATE INDEX rescorings_unfinished ON rescorings (id) WHERE finished_at IS NULL;

CREATE TABLE rescoring_agents (
	rescoring_id INTEGER NOT NULL REFERENCES rescorings (id) ON DELETE CASCADE,
	agent_id     INTEGER NOT NULL REFERENCES run_agents (id) ON DELETE CASCADE,
	scorecard    TEXT    NOT NULL, -- JSON
	PRIMARY KEY (agent_id, rescoring_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX rescoring_agents_of_rescoring ON rescoring_agents (rescoring_id);

-- A rescoring's trials have ascending ids in the order of execution.
CREATE TABLE rescored_trials (
	id           INTEGER PRIMARY KEY,
	rescoring_id INTEGER NOT NULL REFERENCES rescorings (id) ON DELETE CASCADE,
	attempt_id   INTEGER NOT NULL REFERENCES attempts (id) ON DELETE CASCADE,
	result       TEXT,                           -- as in attempts; without either
	result_id    INTEGER REFERENCES blobs (id),  -- it is the attempt's own
	UNIQUE (attempt_id, rescoring_id)
) STRICT;

CREATE INDEX rescored_trials_of_rescoring ON rescored_trials (rescoring_id);
