package todos

// A deleted todo stays as its own tombstone. "requests" holds the remembered
// answers, "journal" what reached the server; neither refers to the other.
const schema = `
CREATE TABLE IF NOT EXISTS todos (
	id      TEXT    PRIMARY KEY,
	title   TEXT    NOT NULL,
	done    INTEGER NOT NULL,
	note    TEXT    NOT NULL,
	version INTEGER NOT NULL,
	deleted INTEGER NOT NULL DEFAULT 0,
	change  INTEGER NOT NULL UNIQUE
) STRICT;

CREATE TABLE IF NOT EXISTS counter (
	one    INTEGER PRIMARY KEY CHECK (one = 1),
	change INTEGER NOT NULL
) STRICT;
INSERT OR IGNORE INTO counter (one, change) VALUES (1, 0);

CREATE TABLE IF NOT EXISTS requests (
	key       TEXT    PRIMARY KEY,
	method    TEXT    NOT NULL,
	path      TEXT    NOT NULL,
	body_hash TEXT    NOT NULL,
	status    INTEGER NOT NULL,
	etag      TEXT    NOT NULL,
	response  TEXT    NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS journal (
	n        INTEGER PRIMARY KEY AUTOINCREMENT,
	at       INTEGER NOT NULL,
	method   TEXT    NOT NULL,
	path     TEXT    NOT NULL,
	key      TEXT,
	if_match TEXT,
	body     TEXT,
	status   INTEGER NOT NULL,
	replayed INTEGER NOT NULL,
	applied  INTEGER NOT NULL
) STRICT;
`
