-- What resource servers are told: sessions and tokens that ended while an access token of theirs may still be accepted.
-- Filled by triggers, so that no way to end a session can forget it, an application's hook neither. One new table, and
-- triggers on three tables under SHARE ROW EXCLUSIVE: writers wait a moment, readers do not. Rotations do not name
-- ended_at and fire nothing. What servers before this migration end is in the feed too.

CREATE TABLE sallyport.revocations (
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- Of the transaction that wrote it: a reader's cursor is a snapshot, and what that did not see is new.
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    -- One of the two: a device session's id or `s_` and a hash, or the `jti` of one access token.
    sid text,
    jti text,
    device_id uuid,
    reason text NOT NULL,
    revoked_at timestamptz NOT NULL,
    -- Of the one token; of a session's tokens it follows from their lifetime.
    expires_at timestamptz,
    CONSTRAINT revocations_pkey PRIMARY KEY (id),
    CONSTRAINT revocations_subject CHECK ((sid IS NULL) <> (jti IS NULL)),
    CONSTRAINT revocations_end CHECK ((jti IS NULL) = (expires_at IS NULL))
);

CREATE INDEX revocations_by_time ON sallyport.revocations (revoked_at);

CREATE FUNCTION sallyport.note_revocation() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    IF TG_TABLE_NAME = 'device_sessions' THEN
        INSERT INTO sallyport.revocations (sid, device_id, reason, revoked_at)
        VALUES (NEW.id::text, NEW.device_id, NEW.end_reason, NEW.ended_at);
    ELSIF TG_TABLE_NAME = 'identity_sessions' THEN
        INSERT INTO sallyport.revocations (sid, device_id, reason, revoked_at)
        VALUES (NEW.access_sid, NEW.device_id, NEW.end_reason, NEW.ended_at);
    ELSE
        INSERT INTO sallyport.revocations (jti, device_id, reason, revoked_at, expires_at)
        VALUES (NEW.jti, NEW.device_id, 'access_revoked', NEW.revoked_at, NEW.expires_at);
    END IF;
    RETURN NULL;
END
$$;

REVOKE ALL ON FUNCTION sallyport.note_revocation() FROM PUBLIC;

-- Once for each statement: one that ends thousands of sessions would go over what it has deleted itself for each of them.
CREATE FUNCTION sallyport.clear_revocations(rows_max integer, at timestamptz DEFAULT statement_timestamp())
    RETURNS void
    LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
    AS $$
    DELETE FROM sallyport.revocations WHERE id IN (
        -- Twice what an access token can live, by the caller's clock and by what was noted last: neither one that is
        -- ahead takes a row that a reader asks for. Waits for nobody.
        SELECT r.id FROM sallyport.revocations r
        WHERE r.revoked_at < least(at, (SELECT max(l.revoked_at) FROM sallyport.revocations l)) - interval '2 hours'
        ORDER BY r.revoked_at LIMIT rows_max FOR UPDATE SKIP LOCKED)
    $$;

-- As its owner: whoever may end a session need not be allowed to call what clears.
CREATE FUNCTION sallyport.clear_revocations_after_end() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    -- Some milliseconds at most. What one statement leaves, the next ones take.
    PERFORM sallyport.clear_revocations(500);
    RETURN NULL;
END
$$;

REVOKE ALL ON FUNCTION sallyport.clear_revocations(integer, timestamptz) FROM PUBLIC;
REVOKE ALL ON FUNCTION sallyport.clear_revocations_after_end() FROM PUBLIC;

CREATE TRIGGER device_sessions_end AFTER UPDATE OF ended_at ON sallyport.device_sessions
    FOR EACH ROW WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION sallyport.note_revocation();

CREATE TRIGGER identity_sessions_end AFTER UPDATE OF ended_at ON sallyport.identity_sessions
    FOR EACH ROW WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION sallyport.note_revocation();

CREATE TRIGGER revoked_access_tokens_insert AFTER INSERT ON sallyport.revoked_access_tokens
    FOR EACH ROW EXECUTE FUNCTION sallyport.note_revocation();

CREATE TRIGGER device_sessions_end_clear AFTER UPDATE OF ended_at ON sallyport.device_sessions
    FOR EACH STATEMENT EXECUTE FUNCTION sallyport.clear_revocations_after_end();

CREATE TRIGGER identity_sessions_end_clear AFTER UPDATE OF ended_at ON sallyport.identity_sessions
    FOR EACH STATEMENT EXECUTE FUNCTION sallyport.clear_revocations_after_end();

CREATE TRIGGER revoked_access_tokens_insert_clear AFTER INSERT ON sallyport.revoked_access_tokens
    FOR EACH STATEMENT EXECUTE FUNCTION sallyport.clear_revocations_after_end();
