-- A provider account says how a provider is reached and where its key is found.
-- The key itself is never here.
CREATE TABLE provider_accounts (
	id         INTEGER PRIMARY KEY,
	uid        TEXT    NOT NULL UNIQUE,
	workspace  TEXT    NOT NULL,
	name       TEXT    NOT NULL,
	name_key   TEXT    NOT NULL,
	document   TEXT    NOT NULL, -- JSON
	created_at INTEGER NOT NULL,
	UNIQUE (workspace, name_key)
) STRICT;
