-- Baselines have names, and one may have come in a file: then there is no run of
-- it here, and document has what is compared.
CREATE TABLE named_baselines (
	id        INTEGER PRIMARY KEY,
	workspace TEXT    NOT NULL,
	slug      TEXT    NOT NULL,
	name      TEXT    NOT NULL, -- as it was given
	name_key  TEXT    NOT NULL, -- as it is compared
	run_id    INTEGER REFERENCES runs (id),
	agent_id  INTEGER REFERENCES run_agents (id),
	run_uid   TEXT    NOT NULL,
	run_name  TEXT    NOT NULL,
	agent_uid TEXT    NOT NULL,
	label     TEXT    NOT NULL,
	document  TEXT, -- JSON
	set_at    INTEGER NOT NULL,
	ended_at  INTEGER,
	CHECK ((run_id IS NULL) = (agent_id IS NULL) AND (run_id IS NULL) = (document IS NOT NULL))
) STRICT;

INSERT INTO named_baselines (id, workspace, slug, name, name_key, run_id, agent_id, run_uid, run_name, agent_uid, label, set_at, ended_at)
	SELECT b.id, b.workspace, b.slug, 'default', 'default', b.run_id, b.agent_id, r.uid, r.name, a.uid, a.label, b.set_at, b.ended_at
	FROM baselines b JOIN runs r ON r.id = b.run_id JOIN run_agents a ON a.id = b.agent_id;

DROP TABLE baselines;
ALTER TABLE named_baselines RENAME TO baselines;

CREATE UNIQUE INDEX baselines_current ON baselines (workspace, slug, name_key)
	WHERE ended_at IS NULL;
