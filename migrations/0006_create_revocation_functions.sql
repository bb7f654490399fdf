-- For the application's own hooks (an account that is closed, a password that is changed): what the routes of sign-out
-- and revocation do, callable in SQL. The operator grants EXECUTE to the application's role, and USAGE on the schema;
-- the functions run as their owner, so that the role needs no right on a table. New functions: no lock, and servers
-- before this migration do not know them.
--
-- The time is a parameter like everywhere; its default is the caller's statement, since a hook has no clock of ours.

CREATE FUNCTION sallyport.end_sessions(user_id text, reason text, at timestamptz DEFAULT statement_timestamp())
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

CREATE FUNCTION sallyport.revoke_device(device_id uuid, reason text, at timestamptz DEFAULT statement_timestamp())
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

REVOKE ALL ON FUNCTION sallyport.end_sessions(text, text, timestamptz) FROM PUBLIC;
REVOKE ALL ON FUNCTION sallyport.revoke_device(uuid, text, timestamptz) FROM PUBLIC;

COMMENT ON FUNCTION sallyport.end_sessions(text, text, timestamptz) IS
    'Ends all sessions of a user: signed_out, session_revoked or account_deleted. Returns how many device sessions ended.';
COMMENT ON FUNCTION sallyport.revoke_device(uuid, text, timestamptz) IS
    'Holds a device and ends what it was used with: device_revoked, device_lost or wipe_ordered. False: no such device.';
