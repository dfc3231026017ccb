/** `tgag`, in the header of the file: what else is a database is not ours. */
export const APPLICATION_ID = 0x74676167
/** Of the tables below; a file of another version is set aside. */
export const VERSION = 1

/** Times are milliseconds since 1970; `data` is JSON that only the runner of the task writes. */
export const SCHEMA = `
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${VERSION};
CREATE TABLE tasks (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  state TEXT NOT NULL,
  why TEXT,
  agent TEXT,
  runner TEXT,
  key TEXT,
  root TEXT NOT NULL,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  ended INTEGER,
  prompted INTEGER NOT NULL DEFAULT 0,
  effect INTEGER NOT NULL DEFAULT 0,
  start TEXT NOT NULL,
  data TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX tasks_by_key ON tasks (owner, key) WHERE key IS NOT NULL;
CREATE INDEX tasks_by_owner ON tasks (owner, created, id);
CREATE INDEX tasks_by_root ON tasks (root);
CREATE INDEX tasks_by_end ON tasks (ended);
CREATE TABLE events (
  task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (task, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE chunks (
  task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  what TEXT NOT NULL,
  offset INTEGER NOT NULL,
  length INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (task, what, offset)
) STRICT;
CREATE TABLE questions (
  task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  message TEXT NOT NULL,
  schema TEXT NOT NULL,
  answer TEXT,
  PRIMARY KEY (task, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE attempts (
  task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  agent TEXT NOT NULL,
  failure TEXT,
  PRIMARY KEY (task, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE turns (agent TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE INDEX turns_by_agent ON turns (agent, at);
CREATE TABLE days (
  agent TEXT NOT NULL,
  day TEXT NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (agent, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE runners (
  id TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  born TEXT NOT NULL,
  beat INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`
