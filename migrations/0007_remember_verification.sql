-- Device sessions remember whether their user was verified at the last mint: while the identity store has lost too much
-- to be believed they go on refreshing, and the gate must know. A column without a default: a moment of ACCESS EXCLUSIVE,
-- no rewrite. Servers before this migration leave the column alone; NULL means that nobody knows, and answers 503 then.
--
-- And as the route does, the function for hooks can report a device as lost that was revoked before: no new session
-- brings it back then. Replaced in place, with its owner and rights; callers notice nothing.

ALTER TABLE sallyport.device_sessions ADD COLUMN was_verified boolean;

CREATE OR REPLACE FUNCTION sallyport.revoke_device(
    device_id uuid, reason text, at timestamptz DEFAULT statement_timestamp())
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
