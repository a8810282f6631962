-- What is kept under a name besides deployments and accounts.
CREATE TABLE resources (
	id          INTEGER PRIMARY KEY,
	uid         TEXT    NOT NULL UNIQUE,
	workspace   TEXT    NOT NULL,
	kind        TEXT    NOT NULL CHECK (kind IN ('runtime_profile', 'model_alias', 'spend_policy', 'build')),
	name        TEXT    NOT NULL,
	name_key    TEXT    NOT NULL, -- the name, case folded
	document    TEXT    NOT NULL, -- JSON
	created_at  INTEGER NOT NULL,
	archived_at INTEGER,          -- no longer to be chosen
	UNIQUE (workspace, kind, name_key)
) STRICT;

-- The contents that a build has had. A draft may be changed until it is used.
CREATE TABLE build_versions (
	id         INTEGER PRIMARY KEY,
	uid        TEXT    NOT NULL UNIQUE,
	build_id   INTEGER NOT NULL REFERENCES resources (id) ON DELETE CASCADE,
	number     INTEGER NOT NULL,
	digest     TEXT    NOT NULL, -- sha256 hex of the document
	document   TEXT    NOT NULL, -- JSON
	created_at INTEGER NOT NULL,
	ready_at   INTEGER,          -- since then it never changes
	UNIQUE (build_id, number),
	UNIQUE (build_id, digest)
) STRICT;

-- Content that is too large for one blob: the blobs it is cut into.
CREATE TABLE contents (
	id     INTEGER PRIMARY KEY,
	sha256 BLOB    NOT NULL UNIQUE, -- of the whole
	size   INTEGER NOT NULL         -- of the whole
) STRICT;

CREATE TABLE content_parts (
	content_id INTEGER NOT NULL REFERENCES contents (id) ON DELETE CASCADE,
	position   INTEGER NOT NULL,
	blob_id    INTEGER NOT NULL REFERENCES blobs (id),
	PRIMARY KEY (content_id, position)
) STRICT, WITHOUT ROWID;

-- Files that people attached to a workspace, a run or a run agent.
CREATE TABLE artifacts (
	id           INTEGER PRIMARY KEY,
	uid          TEXT    NOT NULL UNIQUE,
	workspace    TEXT    NOT NULL,
	run_id       INTEGER REFERENCES runs (id) ON DELETE CASCADE,
	agent_id     INTEGER REFERENCES run_agents (id) ON DELETE CASCADE,
	type         TEXT    NOT NULL,
	content_type TEXT    NOT NULL,
	visibility   TEXT    NOT NULL,
	metadata     TEXT    NOT NULL, -- JSON, the original file name included
	content_id   INTEGER NOT NULL REFERENCES contents (id),
	created_at   INTEGER NOT NULL
) STRICT;

CREATE INDEX artifacts_newest ON artifacts (workspace, created_at);
CREATE INDEX artifacts_run ON artifacts (run_id) WHERE run_id IS NOT NULL;
CREATE INDEX artifacts_agent ON artifacts (agent_id) WHERE agent_id IS NOT NULL;
