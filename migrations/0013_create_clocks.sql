-- The clock that all servers and commands of a database share, and bounds for the times that an application's hooks give.
-- One new table with one row. The two functions for hooks and the one that clears the feed are replaced, which locks
-- nothing that serves; their rights stay. Servers before this migration do not read the row; the functions serve them too.

CREATE TABLE sallyport.clocks (
    -- One row at most.
    id boolean NOT NULL DEFAULT true,
    -- The latest time that a server has used; NULL before the first. A process never starts behind it.
    highest_at timestamptz,
    -- By how much the clock of a test target is moved; 0 in production.
    virtual_offset_us bigint NOT NULL DEFAULT 0,
    -- How often an operator has said that the database's clock is right.
    confirmations bigint NOT NULL DEFAULT 0,
    CONSTRAINT clocks_pkey PRIMARY KEY (id),
    CONSTRAINT clocks_one_row CHECK (id),
    CONSTRAINT clocks_highest CHECK (isfinite(highest_at))
)
-- The row is written twice a minute by every server: there is room on the page for its versions.
WITH (fillfactor = 10);

INSERT INTO sallyport.clocks DEFAULT VALUES;

-- The time that a hook gives, or the nearest one that can be true: an end must not fail for a wrong clock, and must not
-- stay out of the feed because it seems to be long ago.
-- A database that is ahead of its servers by more than an hour has failed over to a wrong clock.
CREATE FUNCTION sallyport.bounded_time(wanted timestamptz, at timestamptz DEFAULT statement_timestamp())
    RETURNS timestamptz
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
    AS $$
    SELECT least(
        greatest(wanted, coalesce(c.highest_at, at) + v.ahead - interval '1 minute'),
        greatest(c.highest_at, least(at, c.highest_at + interval '1 hour')) + v.ahead + interval '1 minute')
    FROM sallyport.clocks c, LATERAL (SELECT c.virtual_offset_us * interval '1 microsecond' AS ahead) v
    $$;

REVOKE ALL ON FUNCTION sallyport.bounded_time(timestamptz, timestamptz) FROM PUBLIC;

CREATE OR REPLACE FUNCTION sallyport.end_sessions(
    user_id text, reason text, at timestamptz DEFAULT statement_timestamp())
    RETURNS integer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    ended_count integer;
BEGIN
    IF user_id IS NULL OR at IS NULL THEN
        RAISE EXCEPTION 'user_id and at must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF reason IS NULL OR reason NOT IN ('signed_out', 'session_revoked', 'account_deleted') THEN
        RAISE EXCEPTION 'reason must be signed_out, session_revoked or account_deleted'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    at := sallyport.bounded_time(at);
    -- As the routes do: an exchange of the same user comes before all of this, or after it and finds the mark.
    PERFORM pg_advisory_xact_lock(hashtextextended($1, 1));
    INSERT INTO sallyport.user_marks AS m (user_id, marked_at, session_ids)
    VALUES ($1, $3, sallyport.session_ids($1))
    ON CONFLICT ON CONSTRAINT user_marks_pkey DO UPDATE SET marked_at = EXCLUDED.marked_at, spared_id = NULL,
        -- What the last mark could read and this one cannot stays refused while times do not tell.
        session_ids = EXCLUDED.session_ids || CASE WHEN m.marked_at > EXCLUDED.marked_at - interval '1 hour'
            THEN ARRAY(SELECT unnest(m.session_ids) EXCEPT SELECT unnest(EXCLUDED.session_ids)) ELSE '{}' END;
    WITH ended AS (
        UPDATE sallyport.device_sessions s SET ended_at = $3, end_reason = $2
        WHERE s.user_id = $1 AND s.ended_at IS NULL RETURNING s.id, s.user_id, s.device_id
    )
    INSERT INTO sallyport.audit_events (at, event, user_id, device_session_id, device_id, reason)
    SELECT $3, 'session_ended', e.user_id, e.id, e.device_id, $2 FROM ended e;
    GET DIAGNOSTICS ended_count = ROW_COUNT;
    UPDATE sallyport.identity_sessions i SET ended_at = $3, end_reason = $2, doubted_at = NULL, doubt_reason = NULL
    WHERE i.user_id = $1 AND i.ended_at IS NULL;
    RETURN ended_count;
END
$$;

CREATE OR REPLACE FUNCTION sallyport.revoke_device(
    device_id uuid, reason text, at timestamptz DEFAULT statement_timestamp()
)
    RETURNS boolean
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    new_status text := CASE reason
        WHEN 'device_revoked' THEN 'revoked' WHEN 'device_lost' THEN 'lost' WHEN 'wipe_ordered' THEN 'wipe_ordered' END;
    owner_id text;
BEGIN
    IF device_id IS NULL OR at IS NULL THEN
        RAISE EXCEPTION 'device_id and at must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF new_status IS NULL THEN
        RAISE EXCEPTION 'reason must be device_revoked, device_lost or wipe_ordered'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    at := sallyport.bounded_time(at);
    UPDATE sallyport.devices d SET status = new_status, status_at = $3, push_provider = NULL, sealed_push_token = NULL,
        push_fingerprint = NULL
    -- One that was revoked can still be lost: no new session brings it back then.
    WHERE d.id = $1 AND (d.status IN ('active', 'suspended') OR d.status = 'revoked' AND new_status = 'lost')
    RETURNING d.user_id INTO owner_id;
    IF NOT FOUND THEN
        RETURN EXISTS (SELECT 1 FROM sallyport.devices d WHERE d.id = $1);
    END IF;
    INSERT INTO sallyport.audit_events (at, event, user_id, device_id, reason)
    VALUES ($3, 'device_held', owner_id, $1, new_status);
    UPDATE sallyport.device_sessions s SET ended_at = $3, end_reason = $2
    WHERE s.device_id = $1 AND s.ended_at IS NULL;
    UPDATE sallyport.identity_sessions i SET ended_at = $3, end_reason = $2, doubted_at = NULL, doubt_reason = NULL
    WHERE i.ended_at IS NULL AND i.id IN (
        SELECT t.identity_session_id FROM sallyport.session_ties t WHERE t.device_id = $1);
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION sallyport.clear_revocations(
    rows_max integer, at timestamptz DEFAULT statement_timestamp()
)
    RETURNS void
    LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
    AS $$
    DELETE FROM sallyport.revocations WHERE id IN (
        -- Twice what an access token can live, by the caller's clock, by what was noted last and by the servers' clock:
        -- none of them that is ahead takes a row that a reader asks for. Waits for nobody.
        SELECT r.id FROM sallyport.revocations r
        WHERE r.revoked_at < least(
            at, (SELECT max(l.revoked_at) FROM sallyport.revocations l),
            (SELECT c.highest_at + c.virtual_offset_us * interval '1 microsecond' FROM sallyport.clocks c)
        ) - interval '2 hours'
        ORDER BY r.revoked_at LIMIT rows_max FOR UPDATE SKIP LOCKED)
    $$;
