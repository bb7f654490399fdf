-- Devices, the sessions of the identity store as far as they were presented here, and what ties the two.
-- New tables in a schema of our own: no lock on anything that serves, and nothing older runs beside it.

CREATE TABLE sallyport.devices (
    id uuid NOT NULL,
    -- The identity store's user id, as text whatever its type there.
    user_id text NOT NULL,
    -- The client's own stable name of this installation.
    installation_id text NOT NULL,
    platform text NOT NULL,
    name text,
    model text,
    os_version text,
    app_version text,
    status text NOT NULL DEFAULT 'active',
    -- When the present status began.
    status_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    last_sync_at timestamptz,
    push_provider text,
    -- Sealed under the key-encryption key.
    sealed_push_token bytea,
    -- Keyed hash: one live owner of a push token over all users.
    push_fingerprint bytea,
    CONSTRAINT devices_pkey PRIMARY KEY (id),
    CONSTRAINT devices_installation UNIQUE (user_id, installation_id),
    CONSTRAINT devices_push_fingerprint UNIQUE (push_fingerprint),
    CONSTRAINT devices_platform CHECK (platform IN ('ios', 'android', 'macos', 'windows', 'linux', 'web', 'other')),
    CONSTRAINT devices_status CHECK (status IN ('active', 'revoked', 'lost', 'wipe_ordered', 'suspended')),
    CONSTRAINT devices_push CHECK (
        (push_provider IS NULL) = (sealed_push_token IS NULL) AND (push_provider IS NULL) = (push_fingerprint IS NULL)
    )
);

CREATE INDEX devices_by_installation ON sallyport.devices (installation_id) WHERE push_fingerprint IS NOT NULL;

CREATE TABLE sallyport.identity_sessions (
    -- The identity store's session id, as text whatever its type there.
    id text NOT NULL,
    user_id text NOT NULL,
    -- Keyed hash of the session token, so that a session whose row is gone is still recognised.
    token_hash bytea NOT NULL,
    -- `sid` of access tokens minted for the session alone: `s_` and a keyed hash.
    access_sid text NOT NULL,
    -- As last read: what tells a revocation from an expiry.
    expires_at timestamptz NOT NULL,
    first_seen_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    -- The device that `GET /auth/token` is bound to.
    device_id uuid,
    -- Set when it was signed out here, though its row may live on there.
    ended_at timestamptz,
    end_reason text,
    CONSTRAINT identity_sessions_pkey PRIMARY KEY (id),
    CONSTRAINT identity_sessions_access_sid UNIQUE (access_sid),
    CONSTRAINT identity_sessions_device FOREIGN KEY (device_id) REFERENCES sallyport.devices (id),
    CONSTRAINT identity_sessions_end CHECK ((ended_at IS NULL) = (end_reason IS NULL))
);

CREATE INDEX identity_sessions_by_token ON sallyport.identity_sessions (token_hash);
CREATE INDEX identity_sessions_by_user ON sallyport.identity_sessions (user_id);
CREATE INDEX identity_sessions_by_device ON sallyport.identity_sessions (device_id);

-- Every device that a session was ever exchanged with: once one of them is revoked, the session is refused.
CREATE TABLE sallyport.session_ties (
    identity_session_id text NOT NULL,
    device_id uuid NOT NULL,
    tied_at timestamptz NOT NULL,
    CONSTRAINT session_ties_pkey PRIMARY KEY (identity_session_id, device_id),
    CONSTRAINT session_ties_session FOREIGN KEY (identity_session_id) REFERENCES sallyport.identity_sessions (id),
    CONSTRAINT session_ties_device FOREIGN KEY (device_id) REFERENCES sallyport.devices (id)
);

CREATE INDEX session_ties_by_device ON sallyport.session_ties (device_id);
