-- Ids called uid are the ones users see; integer ids never leave this file.
-- Times are nanoseconds since 1970, UTC; NULL is "not yet" or "unknown".

PRAGMA application_id = 0x61434c68;

-- Content-addressed bytes: large event payloads, plans, manifests, assets.
CREATE TABLE blobs (
	id     INTEGER PRIMARY KEY,
	sha256 BLOB    NOT NULL UNIQUE, -- of the plain bytes
	size   INTEGER NOT NULL,        -- of the plain bytes
	data   BLOB    NOT NULL         -- a zstd frame
) STRICT;

-- One row for each content of a pack version that was run or published.
-- What all versions of a slug have in common.
CREATE TABLE challenge_packs (
	id        INTEGER PRIMARY KEY,
	uid       TEXT    NOT NULL UNIQUE,
	workspace TEXT    NOT NULL,
	slug      TEXT    NOT NULL,
	UNIQUE (workspace, slug)
) STRICT;

CREATE TABLE packs (
	id           INTEGER PRIMARY KEY,
	uid          TEXT    NOT NULL UNIQUE,
	challenge_pack_id INTEGER NOT NULL REFERENCES challenge_packs (id),
	spec_uid     TEXT    NOT NULL UNIQUE,
	workspace    TEXT    NOT NULL,
	slug         TEXT    NOT NULL,
	name         TEXT    NOT NULL,
	family       TEXT    NOT NULL,
	version      INTEGER NOT NULL,
	mode         TEXT    NOT NULL,
	digest       TEXT    NOT NULL,
	spec_digest  TEXT    NOT NULL,
	manifest_id  INTEGER NOT NULL REFERENCES blobs (id),
	reference_id INTEGER REFERENCES blobs (id), -- the script of its reference agent
	created_at   INTEGER NOT NULL,
	published_at INTEGER,
	bundle_uid   TEXT UNIQUE, -- the file as its author wrote it, once published
	bundle_id    INTEGER REFERENCES blobs (id),
	UNIQUE (workspace, slug, version, digest)
) STRICT;

CREATE INDEX packs_of_challenge_pack ON packs (challenge_pack_id);

CREATE TABLE pack_input_sets (
	pack_id  INTEGER NOT NULL REFERENCES packs (id) ON DELETE CASCADE,
	position INTEGER NOT NULL,
	uid      TEXT    NOT NULL UNIQUE,
	key      TEXT    NOT NULL,
	PRIMARY KEY (pack_id, position)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX packs_published ON packs (workspace, slug, version)
	WHERE published_at IS NOT NULL;

CREATE TABLE pack_assets (
	pack_id INTEGER NOT NULL REFERENCES packs (id) ON DELETE CASCADE,
	path    TEXT    NOT NULL,
	blob_id INTEGER NOT NULL REFERENCES blobs (id),
	PRIMARY KEY (pack_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
	id           INTEGER PRIMARY KEY,
	uid          TEXT    NOT NULL UNIQUE,
	workspace    TEXT    NOT NULL,
	name         TEXT    NOT NULL,
	name_key     TEXT    NOT NULL, -- the name, case folded
	status       TEXT    NOT NULL CHECK (status IN
		('queued', 'running', 'scoring', 'completed', 'failed', 'cancelled', 'interrupted')),
	reason       TEXT    NOT NULL DEFAULT '',
	mode         TEXT    NOT NULL,
	input_set    TEXT    NOT NULL,
	pack_id      INTEGER NOT NULL REFERENCES packs (id),
	spec_digest  TEXT    NOT NULL,
	plan_id      INTEGER NOT NULL REFERENCES blobs (id),
	event_schema TEXT    NOT NULL,
	agents       INTEGER NOT NULL,
	trials       INTEGER NOT NULL,
	created_at   INTEGER NOT NULL,
	started_at   INTEGER,
	finished_at  INTEGER,
	owner        TEXT    NOT NULL,
	owner_pid    INTEGER NOT NULL,
	owner_host   TEXT    NOT NULL,
	heartbeat_at INTEGER NOT NULL,
	cancel_at    INTEGER -- when somebody asked for the run to be cancelled
) STRICT;

CREATE INDEX runs_newest ON runs (workspace, created_at);
CREATE INDEX runs_active ON runs (status)
	WHERE status IN ('queued', 'running', 'scoring');

CREATE TABLE run_agents (
	id          INTEGER PRIMARY KEY,
	uid         TEXT    NOT NULL UNIQUE,
	run_id      INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
	lane        INTEGER NOT NULL,
	label       TEXT    NOT NULL,
	label_key   TEXT    NOT NULL, -- the label, case folded
	deployment  TEXT    NOT NULL, -- JSON
	status      TEXT    NOT NULL,
	reason      TEXT    NOT NULL DEFAULT '',
	started_at  INTEGER,
	finished_at INTEGER,
	scorecard   TEXT,             -- JSON; NULL until the run has finished
	UNIQUE (run_id, lane)
) STRICT;

-- A run's trials have ascending ids in the order of execution.
CREATE TABLE trials (
	id            INTEGER PRIMARY KEY,
	uid           TEXT    NOT NULL UNIQUE,
	agent_id      INTEGER NOT NULL REFERENCES run_agents (id) ON DELETE CASCADE,
	case_key      TEXT    NOT NULL,
	repetition    INTEGER NOT NULL,
	status        TEXT    NOT NULL CHECK (status IN
		('queued', 'running', 'passed', 'failed', 'invalid', 'interrupted', 'cancelled')),
	attempt       INTEGER NOT NULL DEFAULT 0, -- the last one that was begun
	code          TEXT    NOT NULL DEFAULT '',
	phase         TEXT    NOT NULL DEFAULT '',
	overall_score REAL,
	finished_at   INTEGER
) STRICT;

CREATE INDEX trials_agent ON trials (agent_id);

-- An id is the trial's id times 1024 plus the attempt's number, so a trial's
-- attempts lie together and need no index.
CREATE TABLE attempts (
	id          INTEGER PRIMARY KEY,
	status      TEXT    NOT NULL CHECK (status IN
		('queued', 'running', 'passed', 'failed', 'invalid', 'interrupted', 'cancelled')),
	started_at  INTEGER,
	finished_at INTEGER,
	result      TEXT,                           -- the payload of trial.finished,
	result_id   INTEGER REFERENCES blobs (id)   -- here when it is large
) STRICT;

-- What an event is: each pair is written once.
CREATE TABLE kinds (
	id     INTEGER PRIMARY KEY,
	type   TEXT NOT NULL,
	source TEXT NOT NULL,
	UNIQUE (type, source)
) STRICT;

-- The log. An id is the run's id in the upper 32 bits and the position in the
-- run in the lower ones, so a run's events lie together in the order in which
-- they were written and need no index of their own.
CREATE TABLE events (
	id         INTEGER PRIMARY KEY,
	attempt_id INTEGER REFERENCES attempts (id) ON DELETE CASCADE, -- NULL: a run fact
	kind_id    INTEGER NOT NULL,
	sequence   INTEGER NOT NULL,
	at         INTEGER,
	payload    TEXT,    -- NULL: none, or in blob_id, or the attempt's result
	blob_id    INTEGER REFERENCES blobs (id),
	uid        TEXT,    -- NULL: made of trial, attempt and sequence
	agent_id   INTEGER REFERENCES run_agents (id) -- of a run fact about one agent
) STRICT;

CREATE INDEX events_attempt ON events (attempt_id) WHERE attempt_id IS NOT NULL;

-- Every baseline there was; the current one has not ended.
CREATE TABLE baselines (
	id          INTEGER PRIMARY KEY,
	workspace   TEXT    NOT NULL,
	slug        TEXT    NOT NULL,
	run_id      INTEGER NOT NULL REFERENCES runs (id),
	agent_id    INTEGER NOT NULL REFERENCES run_agents (id),
	set_at      INTEGER NOT NULL,
	ended_at    INTEGER
) STRICT;

CREATE UNIQUE INDEX baselines_current ON baselines (workspace, slug)
	WHERE ended_at IS NULL;

CREATE TABLE gates (
	id                 INTEGER PRIMARY KEY,
	uid                TEXT    NOT NULL UNIQUE,
	workspace          TEXT    NOT NULL,
	baseline_run_id    TEXT    NOT NULL,
	baseline_agent_id  TEXT    NOT NULL,
	candidate_run_id   TEXT    NOT NULL,
	candidate_agent_id TEXT    NOT NULL,
	verdict            TEXT    NOT NULL,
	reason_code        TEXT    NOT NULL,
	policy_key         TEXT    NOT NULL,
	policy_version     INTEGER NOT NULL,
	policy_fingerprint TEXT    NOT NULL,
	generated_at       INTEGER NOT NULL,
	document           TEXT    NOT NULL -- JSON
) STRICT;

CREATE INDEX gates_newest ON gates (workspace, generated_at);

CREATE TABLE deployments (
	id         INTEGER PRIMARY KEY,
	uid        TEXT    NOT NULL UNIQUE,
	workspace  TEXT    NOT NULL,
	name       TEXT    NOT NULL,
	name_key   TEXT    NOT NULL,
	document   TEXT    NOT NULL, -- JSON
	created_at INTEGER NOT NULL,
	UNIQUE (workspace, name_key)
) STRICT;
