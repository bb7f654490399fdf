-- The feed of revocations is cleared once by each statement that ends something, and no more once by each row: a statement
-- that ended thousands of sessions went over what it had deleted itself for each of them, came to the limit of time and
-- ended nothing, however often it was tried. And ends without a device session, which cleared nothing, clear as well: a
-- deployment without devices kept its feed for ever. A function replaced in place, and triggers on three tables under
-- SHARE ROW EXCLUSIVE: writers wait a moment, readers do not. Servers before this migration notice nothing.

CREATE OR REPLACE FUNCTION sallyport.note_revocation() RETURNS trigger
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

CREATE TRIGGER device_sessions_end_clear AFTER UPDATE OF ended_at ON sallyport.device_sessions
    FOR EACH STATEMENT EXECUTE FUNCTION sallyport.clear_revocations_after_end();

CREATE TRIGGER identity_sessions_end_clear AFTER UPDATE OF ended_at ON sallyport.identity_sessions
    FOR EACH STATEMENT EXECUTE FUNCTION sallyport.clear_revocations_after_end();

CREATE TRIGGER revoked_access_tokens_insert_clear AFTER INSERT ON sallyport.revoked_access_tokens
    FOR EACH STATEMENT EXECUTE FUNCTION sallyport.clear_revocations_after_end();
