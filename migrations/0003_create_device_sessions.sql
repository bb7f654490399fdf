-- Device sessions: one row each, however often its refresh token rotates.
-- New tables in a schema of our own: no lock on anything that serves, and nothing older runs beside it.

CREATE TABLE sallyport.device_sessions (
    id uuid NOT NULL,
    user_id text NOT NULL,
    device_id uuid NOT NULL,
    identity_session_id text NOT NULL,
    client_id text NOT NULL,
    -- Separated by blanks.
    scope text NOT NULL,
    auth_time timestamptz NOT NULL,
    amr text[] NOT NULL,
    created_at timestamptz NOT NULL,
    -- The absolute end.
    expires_at timestamptz NOT NULL,
    -- Sealed under the key-encryption key; `jti`s and the hashes of idempotency keys are derived from it.
    sealed_secret bytea NOT NULL,

    -- The current refresh token: all that it takes to mint it again byte for byte.
    generation bigint NOT NULL,
    refresh_kid text NOT NULL,
    issued_at timestamptz NOT NULL,
    token_expires_at timestamptz NOT NULL,
    -- Of the last rotation; the start before the first.
    rotated_at timestamptz NOT NULL,
    -- Keyed hashes of the idempotency keys of the last eight rotations, the newest first; NULL for one without.
    rotation_keys bytea[] NOT NULL DEFAULT '{}',
    has_seen_key boolean NOT NULL DEFAULT false,

    -- A tombstone keeps the true reason.
    ended_at timestamptz,
    end_reason text,
    CONSTRAINT device_sessions_pkey PRIMARY KEY (id),
    CONSTRAINT device_sessions_device FOREIGN KEY (device_id) REFERENCES sallyport.devices (id),
    CONSTRAINT device_sessions_identity_session FOREIGN KEY (identity_session_id)
        REFERENCES sallyport.identity_sessions (id),
    CONSTRAINT device_sessions_refresh_key FOREIGN KEY (refresh_kid) REFERENCES sallyport.keys (kid),
    CONSTRAINT device_sessions_end CHECK ((ended_at IS NULL) = (end_reason IS NULL))
)
-- No column that a rotation writes is indexed but the key's, and there is room on the page: rotations stay heap-only.
WITH (fillfactor = 70);

CREATE INDEX device_sessions_by_device ON sallyport.device_sessions (device_id);
CREATE INDEX device_sessions_by_user ON sallyport.device_sessions (user_id);
CREATE INDEX device_sessions_by_identity_session ON sallyport.device_sessions (identity_session_id);

-- What was done, by whom and to what; written in the transaction of the act, never changed.
CREATE TABLE sallyport.audit_events (
    id bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL,
    event text NOT NULL,
    user_id text,
    device_session_id uuid,
    device_id uuid,
    reason text,
    CONSTRAINT audit_events_pkey PRIMARY KEY (id)
);

CREATE INDEX audit_events_by_user ON sallyport.audit_events (user_id, at);
