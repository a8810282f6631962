-- A turn of a conversation that a person is asked for. It belongs to an attempt, so
-- that what was said to one that died is never taken for an answer to the next.
CREATE TABLE human_turns (
	id          INTEGER PRIMARY KEY,
	trial_id    INTEGER NOT NULL REFERENCES trials (id) ON DELETE CASCADE,
	attempt     INTEGER NOT NULL,
	turn        INTEGER NOT NULL,
	phase       TEXT    NOT NULL,
	hint        TEXT    NOT NULL,
	state       TEXT    NOT NULL CHECK (state IN ('awaiting', 'submitted', 'expired')),
	message     TEXT,    -- until the attempt has taken it
	asked_at    INTEGER NOT NULL,
	expires_at  INTEGER NOT NULL,
	answered_at INTEGER,
	UNIQUE (trial_id, attempt, turn)
) STRICT;

CREATE INDEX human_turns_awaiting ON human_turns (trial_id) WHERE state = 'awaiting';

-- A phase with the trigger manual that somebody wants an attempt to have.
CREATE TABLE wanted_phases (
	trial_id INTEGER NOT NULL REFERENCES trials (id) ON DELETE CASCADE,
	attempt  INTEGER NOT NULL,
	phase    TEXT    NOT NULL,
	asked_at INTEGER NOT NULL,
	PRIMARY KEY (trial_id, attempt, phase)
) STRICT, WITHOUT ROWID;
