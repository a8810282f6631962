-- A session is a run of several repetitions, whose id is the run's, or the runs
-- that were started into it by its name.
CREATE TABLE sessions (
	id          INTEGER PRIMARY KEY,
	uid         TEXT    NOT NULL UNIQUE,
	workspace   TEXT    NOT NULL,
	name        TEXT, -- NULL: it is one run
	name_key    TEXT, -- the name, case folded
	slug        TEXT    NOT NULL,
	spec_digest TEXT    NOT NULL,
	UNIQUE (workspace, name_key),
	CHECK ((name IS NULL) = (name_key IS NULL))
) STRICT;

ALTER TABLE runs ADD COLUMN session_id INTEGER REFERENCES sessions (id);

CREATE INDEX runs_session ON runs (session_id) WHERE session_id IS NOT NULL;

-- the last trial of a run agent is of the last repetition
INSERT INTO sessions (uid, workspace, slug, spec_digest)
	SELECT r.uid, r.workspace, p.slug, r.spec_digest FROM runs r JOIN packs p ON p.id = r.pack_id
	WHERE EXISTS (SELECT 1 FROM run_agents a WHERE a.run_id = r.id AND
		(SELECT t.repetition FROM trials t WHERE t.agent_id = a.id ORDER BY t.id DESC LIMIT 1) > 1)
	ORDER BY r.id;

UPDATE runs SET session_id = (SELECT s.id FROM sessions s WHERE s.uid = runs.uid);
