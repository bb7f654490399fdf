-- Access tokens that were revoked one by one (RFC 7009): our own routes and introspection refuse them until they would
-- have expired. A new table: no lock on anything that serves. Servers before this migration neither read nor write it,
-- so a token that a newer server has revoked is served by an older one until that one is replaced.

CREATE TABLE sallyport.revoked_access_tokens (
    jti text NOT NULL,
    user_id text NOT NULL,
    device_id uuid,
    revoked_at timestamptz NOT NULL,
    -- The token's own end; the row goes some time after it.
    expires_at timestamptz NOT NULL,
    CONSTRAINT revoked_access_tokens_pkey PRIMARY KEY (jti)
);

CREATE INDEX revoked_access_tokens_by_end ON sallyport.revoked_access_tokens (expires_at);
