-- The watch over the identity store: doubts about linked sessions, and the disappearance that nobody believes.
-- Two columns without a default and one new table: a moment of ACCESS EXCLUSIVE on identity_sessions, no rewrite. The
-- index is built under SHARE: exchanges wait for it, some seconds with a million sessions. Servers before this migration
-- neither read nor write any of it, and run on beside it.

ALTER TABLE sallyport.identity_sessions
    -- Set while one read has found an end and no second one has confirmed it.
    ADD COLUMN doubted_at timestamptz,
    ADD COLUMN doubt_reason text,
    ADD CONSTRAINT identity_sessions_doubt CHECK ((doubted_at IS NULL) = (doubt_reason IS NULL));

CREATE INDEX identity_sessions_linked ON sallyport.identity_sessions (user_id, id) WHERE ended_at IS NULL;

CREATE TABLE sallyport.identity_watches (
    -- One row.
    id boolean NOT NULL DEFAULT true,
    -- When a server last began to look; NULL before the first.
    looked_at timestamptz,
    -- Set while a disappearance is in force: no absence is believed until an operator confirms or dismisses it.
    disappeared_at timestamptz,
    cause text,
    known_sessions bigint NOT NULL DEFAULT 0,
    vanished_sessions bigint NOT NULL DEFAULT 0,
    known_users bigint NOT NULL DEFAULT 0,
    vanished_users bigint NOT NULL DEFAULT 0,
    CONSTRAINT identity_watches_pkey PRIMARY KEY (id),
    CONSTRAINT identity_watches_one_row CHECK (id),
    CONSTRAINT identity_watches_cause CHECK (cause IN ('rows', 'table')),
    CONSTRAINT identity_watches_disappearance CHECK ((disappeared_at IS NULL) = (cause IS NULL))
);

INSERT INTO sallyport.identity_watches DEFAULT VALUES;
