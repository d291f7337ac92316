-- The journal's file. Constraints do the guarding: what may exist once is unique, what belongs to something refers to it,
-- what is final cannot be changed, so that a mistake in a statement is an error and not a second refund. One trigger more is no new
-- schema version: an older file works without it.
-- Times are milliseconds since 1970 in UTC, bodies are JSON.

-- The highest time that any transaction has used: the clock of this file never runs behind it.
CREATE TABLE clock (
	one     INTEGER PRIMARY KEY CHECK (one = 1),
	highest INTEGER NOT NULL
) STRICT;
INSERT INTO clock VALUES (1, 0);

CREATE TABLE runs (
	operation_id TEXT PRIMARY KEY,
	tenant       TEXT NOT NULL,
	request_id   TEXT NOT NULL,
	digest       TEXT NOT NULL, -- I9: a repeated request id must mean the same thing
	intake       TEXT NOT NULL,
	at           INTEGER NOT NULL,
	-- I12: the budget holds even if two workers both believed that one call was left.
	model_budget INTEGER NOT NULL,
	model_calls  INTEGER NOT NULL DEFAULT 0 CHECK (model_calls BETWEEN 0 AND model_budget),
	proposal     TEXT,
	expired      INTEGER NOT NULL DEFAULT 0 CHECK (expired IN (0, 1)),
	asks         INTEGER NOT NULL DEFAULT 0,
	due_at       INTEGER, -- when the run wants to move; NULL while only a person can move it, or nobody
	-- The lease. It is over at lease_until itself. The generation only ever grows (I6).
	generation   INTEGER NOT NULL DEFAULT 0,
	owner        TEXT NOT NULL DEFAULT '',
	lease_until  INTEGER NOT NULL DEFAULT 0,
	-- When a worker may take the run: it is due and nobody holds it. NULL when due_at is.
	wake_at      INTEGER GENERATED ALWAYS AS (max(due_at, lease_until)) VIRTUAL,
	UNIQUE (tenant, request_id)
) STRICT;
CREATE INDEX runs_by_wake ON runs (wake_at) WHERE wake_at IS NOT NULL;

CREATE TRIGGER generation_grows BEFORE UPDATE OF generation ON runs WHEN NEW.generation < OLD.generation
BEGIN SELECT RAISE(ABORT, 'a generation never falls'); END;
-- What a person was shown and was told, and what was asked (I3, I9, I12), stays whatever the code believes.
CREATE TRIGGER run_is_final BEFORE UPDATE OF digest, intake, at, proposal, expired ON runs
WHEN NEW.digest <> OLD.digest OR NEW.intake <> OLD.intake OR NEW.at <> OLD.at OR NEW.expired < OLD.expired
	OR OLD.proposal IS NOT NULL AND NEW.proposal IS NOT OLD.proposal
BEGIN SELECT RAISE(ABORT, 'what a run has recorded never changes'); END;

-- One row per durable fact.
CREATE TABLE journal (
	operation_id TEXT NOT NULL REFERENCES runs,
	seq          INTEGER NOT NULL CHECK (seq > 0),
	at           INTEGER NOT NULL,
	kind         TEXT NOT NULL CHECK (kind IN ('INTAKE', 'MODEL_CALL', 'PROPOSAL', 'VERDICT', 'INTENT', 'OBSERVATION',
	                                           'OUTCOME', 'EXPIRY', 'SETTLEMENT', 'NOTICE')),
	party        TEXT NOT NULL,
	generation   INTEGER NOT NULL,
	ref          TEXT NOT NULL,
	code         TEXT NOT NULL,
	body         TEXT NOT NULL,
	PRIMARY KEY (operation_id, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX journal_once ON journal (operation_id, kind) WHERE kind IN ('INTAKE', 'PROPOSAL', 'OUTCOME', 'EXPIRY');
CREATE UNIQUE INDEX settled_once ON journal (operation_id, ref) WHERE kind = 'SETTLEMENT';

CREATE TRIGGER journal_is_final BEFORE UPDATE ON journal BEGIN SELECT RAISE(ABORT, 'a durable fact never changes'); END;
CREATE TRIGGER journal_is_kept BEFORE DELETE ON journal BEGIN SELECT RAISE(ABORT, 'a durable fact is never removed'); END;

CREATE TABLE decisions (
	operation_id TEXT NOT NULL REFERENCES runs,
	decision_id  TEXT NOT NULL,
	choice       TEXT NOT NULL CHECK (choice IN ('approve', 'reject')),
	hash         TEXT NOT NULL,
	verdict      TEXT NOT NULL,
	at           INTEGER NOT NULL,
	body         TEXT NOT NULL,
	PRIMARY KEY (operation_id, decision_id) -- I10: one verdict for each decision id
) STRICT;
-- I5: the first acceptable decision wins, also when two processes judge at once.
CREATE UNIQUE INDEX one_decision_wins ON decisions (operation_id) WHERE verdict = 'ACCEPTED';

-- I10: the reply that was given is the record.
CREATE TRIGGER verdict_is_final BEFORE UPDATE ON decisions BEGIN SELECT RAISE(ABORT, 'a verdict never changes'); END;
CREATE TRIGGER verdict_is_kept BEFORE DELETE ON decisions BEGIN SELECT RAISE(ABORT, 'a verdict is never removed'); END;

-- I5: nothing is sent without an accepted approval, whatever the code that writes the intent believed.
CREATE TRIGGER intent_needs_approval BEFORE INSERT ON journal WHEN NEW.kind = 'INTENT' AND NOT EXISTS (
	SELECT 1 FROM decisions WHERE operation_id = NEW.operation_id AND verdict = 'ACCEPTED' AND choice = 'approve')
BEGIN SELECT RAISE(ABORT, 'an intent needs an accepted approval'); END;

-- What is known of the effect.
CREATE TABLE operations (
	operation_id    TEXT PRIMARY KEY REFERENCES runs,
	state           TEXT NOT NULL DEFAULT 'PREPARED' CHECK (state IN ('PREPARED', 'SUBMITTED', 'UNKNOWN', 'CONFIRMED', 'REJECTED')),
	first_sent_at   INTEGER, -- of the first intent that may have let something leave
	receipt         TEXT,
	rejected        TEXT,
	conflict        TEXT,
	lapsed          TEXT,
	presumed_absent TEXT,
	CHECK ((state = 'CONFIRMED') = (receipt IS NOT NULL)),  -- I2: done means proved
	CHECK ((state = 'REJECTED') = (rejected IS NOT NULL)),
	CHECK (state <> 'PREPARED' OR first_sent_at IS NULL),
	CHECK (conflict IS NULL OR state = 'UNKNOWN')           -- I4: a conflict is never told as done or failed
) STRICT;

CREATE TRIGGER outcome_is_final BEFORE UPDATE ON operations WHEN OLD.state IN ('CONFIRMED', 'REJECTED')
BEGIN SELECT RAISE(ABORT, 'an outcome never changes'); END;

CREATE TABLE outbox (
	operation_id TEXT NOT NULL REFERENCES runs,
	revision     INTEGER NOT NULL CHECK (revision > 0),
	body         TEXT NOT NULL,
	attempts     INTEGER NOT NULL DEFAULT 0,
	next_at      INTEGER, -- of the next delivery; NULL once it was acknowledged
	PRIMARY KEY (operation_id, revision)
) STRICT;
CREATE INDEX outbox_by_time ON outbox (next_at) WHERE next_at IS NOT NULL;

-- Revision order: a notice can be delivered once every earlier one of its run was acknowledged.
CREATE VIEW deliverable AS SELECT * FROM outbox AS notice WHERE next_at IS NOT NULL AND NOT EXISTS (
	SELECT 1 FROM outbox AS earlier
	WHERE earlier.operation_id = notice.operation_id AND earlier.revision < notice.revision AND earlier.next_at IS NOT NULL);
