-- A bound on the devices of a user, one writing for every act that holds devices, and ends of sessions that cost the same
-- however much has ended before.
-- A column without a default and three indexes: ACCESS EXCLUSIVE on devices while they are built, about 2 s with a million
-- devices; storage parameters under SHARE UPDATE EXCLUSIVE, which nobody waits for. Functions are replaced without a lock.
-- Servers before this migration do not know superseded_at: a device that gave way and signs in there works, and comes
-- back to the list with its next sign-in at a newer server.

ALTER TABLE sallyport.devices
    -- When the device gave way to another one of its user; NULL again once it signs in. Its status stays.
    ADD COLUMN superseded_at timestamptz;

-- What counts and is listed first. One expression: of three conditions the planner would guess how they go together, and
-- may come to read the whole table for a user of whom much has ended.
CREATE INDEX devices_counted ON sallyport.devices
    ((CASE WHEN status IN ('active', 'suspended') AND superseded_at IS NULL THEN user_id END));
CREATE INDEX devices_usable ON sallyport.devices (user_id) WHERE status IN ('active', 'suspended');
CREATE INDEX devices_held ON sallyport.devices (user_id, status, status_at)
    WHERE status IN ('revoked', 'lost', 'wipe_ordered');

-- Both are cleared from one end: dead entries there are passed by each time, until they are vacuumed.
ALTER TABLE sallyport.revocations SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);
ALTER TABLE sallyport.revoked_access_tokens
    SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);

-- Makes room for one more device of a user: the longest unused active ones give way. Nothing changes where there is no
-- room; then the time is returned from which on there may be some. NULL: there is room.
CREATE FUNCTION sallyport.make_room_for_device(user_id text, devices_max integer, at timestamptz)
    RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    unused_since timestamptz := at - interval '24 hours';
    surplus bigint;
    leaving uuid[];
BEGIN
    -- One at a time for each user, or two would take the last place; behind the user's own lock, which is kind 1.
    PERFORM pg_advisory_xact_lock(hashtextextended($1, 4));
    SELECT count(d.id) + 1 - $2 INTO surplus FROM sallyport.devices d
    WHERE CASE WHEN d.status IN ('active', 'suspended') AND d.superseded_at IS NULL THEN d.user_id END = $1;
    IF surplus <= 0 THEN
        RETURN NULL;
    END IF;
    -- A device that is in use at this moment was seen just now, and is passed over once its row is free.
    leaving := ARRAY(
        SELECT d.id FROM sallyport.devices d CROSS JOIN LATERAL (
            SELECT greatest(d.last_seen_at, max(s.rotated_at)) AS at FROM sallyport.device_sessions s
            WHERE s.device_id = d.id AND s.ended_at IS NULL) seen
        WHERE CASE WHEN d.status IN ('active', 'suspended') AND d.superseded_at IS NULL THEN d.user_id END = $1
            AND d.status = 'active' AND d.last_seen_at <= unused_since AND seen.at <= unused_since
        ORDER BY seen.at, d.id LIMIT surplus FOR NO KEY UPDATE OF d);
    IF cardinality(leaving) < surplus THEN
        RETURN coalesce((
            SELECT greatest(seen.at + interval '24 hours', $3 + interval '1 second')
            FROM sallyport.devices d CROSS JOIN LATERAL (
                SELECT greatest(d.last_seen_at, max(s.rotated_at)) AS at FROM sallyport.device_sessions s
                WHERE s.device_id = d.id AND s.ended_at IS NULL) seen
            WHERE CASE WHEN d.status IN ('active', 'suspended') AND d.superseded_at IS NULL THEN d.user_id END = $1
                AND d.status = 'active'
            ORDER BY seen.at OFFSET surplus - 1 LIMIT 1), $3 + interval '24 hours');
    END IF;
    UPDATE sallyport.devices d SET superseded_at = $3, push_provider = NULL, sealed_push_token = NULL,
        push_fingerprint = NULL
    FROM unnest(leaving) AS l (id) WHERE d.id = l.id;
    INSERT INTO sallyport.audit_events (at, event, user_id, device_id)
    SELECT $3, 'device_superseded', $1, l.id FROM unnest(leaving) AS l (id);
    UPDATE sallyport.device_sessions s SET ended_at = $3, end_reason = 'superseded'
    FROM unnest(leaving) AS l (id)
    WHERE s.device_id = l.id AND s.ended_at IS NULL AND s.rotated_at <= unused_since;
    IF EXISTS (
        SELECT 1 FROM unnest(leaving) AS l (id) JOIN sallyport.device_sessions s ON s.device_id = l.id
        WHERE s.ended_at IS NULL)
    THEN
        RAISE EXCEPTION 'a device was used while it gave way' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN NULL;
END
$$;

-- A lost device was found: it is one more that counts. Returns what make_room_for_device does; without effect on a
-- device that is not lost.
CREATE FUNCTION sallyport.release_device(device_id uuid, user_id text, devices_max integer, at timestamptz)
    RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    full_until timestamptz;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM sallyport.devices d WHERE d.id = $1 AND d.user_id = $2 AND d.status = 'lost') THEN
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(hashtextextended($2, 1));
    full_until := sallyport.make_room_for_device($2, $3, $4);
    IF full_until IS NOT NULL THEN
        RETURN full_until;
    END IF;
    WITH released AS (
        UPDATE sallyport.devices d SET status = 'active', status_at = $4, superseded_at = NULL
        WHERE d.id = $1 AND d.user_id = $2 AND d.status = 'lost' RETURNING d.id
    )
    INSERT INTO sallyport.audit_events (at, event, user_id, device_id, reason)
    SELECT $4, 'device_released', $2, r.id, 'found' FROM released r;
    RETURN NULL;
END
$$;

-- Holds devices of one user and ends what they were used with: revoked, lost or wipe_ordered. Idempotent: a device that
-- is held already keeps its state and the time of it, but one that was revoked can still be lost. The device may come back
-- by a new sign-in; the sessions that it was used with do not. The devices' rows come first, as in a registration: the
-- second of the two sees the first.
CREATE FUNCTION sallyport.hold_devices(user_id text, device_ids uuid[], status text, at timestamptz)
    RETURNS integer
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    reason text := CASE $3
        WHEN 'revoked' THEN 'device_revoked' WHEN 'lost' THEN 'device_lost' WHEN 'wipe_ordered' THEN 'wipe_ordered' END;
    held uuid[];
BEGIN
    IF reason IS NULL THEN
        RAISE EXCEPTION 'status must be revoked, lost or wipe_ordered' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    WITH changed AS (
        UPDATE sallyport.devices d SET status = $3, status_at = $4, push_provider = NULL, sealed_push_token = NULL,
            push_fingerprint = NULL
        FROM unnest($2) AS c (id) WHERE d.id = c.id AND d.user_id = $1
            AND (d.status IN ('active', 'suspended') OR d.status = 'revoked' AND $3 = 'lost')
        RETURNING d.id
    ), noted AS (
        INSERT INTO sallyport.audit_events (at, event, user_id, device_id, reason)
        SELECT $4, 'device_held', $1, c.id, $3 FROM changed c
    )
    SELECT array_agg(c.id) INTO held FROM changed c;
    IF held IS NULL THEN
        RETURN 0;
    END IF;
    UPDATE sallyport.device_sessions s SET ended_at = $4, end_reason = reason
    FROM unnest(held) AS h (id) WHERE s.device_id = h.id AND s.ended_at IS NULL;
    -- From each session that lives to its ties and from these to the devices, each by its key, whatever the planner makes
    -- of their numbers: what is tied to a device grows with what has ended.
    UPDATE sallyport.identity_sessions i SET ended_at = $4, end_reason = reason, doubted_at = NULL, doubt_reason = NULL
    WHERE i.user_id = $1 AND i.ended_at IS NULL AND (
        SELECT bool_or((SELECT d.status FROM sallyport.devices d WHERE d.id = t.device_id)
            IN ('revoked', 'lost', 'wipe_ordered'))
        FROM sallyport.session_ties t WHERE t.identity_session_id = i.id);
    RETURN cardinality(held);
END
$$;

-- Revokes every device of a user but one, those that gave way too: a sign-in would bring them back.
CREATE FUNCTION sallyport.revoke_other_devices(user_id text, kept_id uuid, at timestamptz)
    RETURNS integer
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    -- As a sign-out of all sessions: an exchange of the user comes before all of this, or after it.
    PERFORM pg_advisory_xact_lock(hashtextextended($1, 1));
    RETURN sallyport.hold_devices($1, ARRAY(
        SELECT d.id FROM sallyport.devices d
        WHERE d.user_id = $1 AND d.status IN ('active', 'suspended') AND d.id IS DISTINCT FROM $2), 'revoked', $3);
END
$$;

CREATE OR REPLACE FUNCTION sallyport.revoke_device(device_id uuid, reason text, at timestamptz DEFAULT statement_timestamp())
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
    SELECT d.user_id INTO owner_id FROM sallyport.devices d WHERE d.id = $1;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM sallyport.hold_devices(owner_id, ARRAY[$1], new_status, $3);
    RETURN true;
END
$$;

-- As before, in a language that keeps its plan, and by id: a join may come to read the whole table.
CREATE OR REPLACE FUNCTION sallyport.clear_revocations(rows_max integer, at timestamptz DEFAULT statement_timestamp())
    RETURNS void
    LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    DELETE FROM sallyport.revocations WHERE id = ANY(ARRAY(
        -- Twice what an access token can live, by the caller's clock, by what was noted last and by the servers' clock:
        -- none of them that is ahead takes a row that a reader asks for. Waits for nobody.
        SELECT r.id FROM sallyport.revocations r
        WHERE r.revoked_at < least(
            at, (SELECT max(l.revoked_at) FROM sallyport.revocations l),
            (SELECT c.highest_at + c.virtual_offset_us * interval '1 microsecond' FROM sallyport.clocks c)
        ) - interval '2 hours'
        ORDER BY r.revoked_at LIMIT rows_max FOR UPDATE SKIP LOCKED));
END
$$;

-- Fires for rows that end, and clears once in each transaction of them: what one leaves, the next ones take. As its
-- owner: a role that may end a session need not be allowed to clear.
CREATE OR REPLACE FUNCTION sallyport.note_revocation() RETURNS trigger
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
BEGIN
    IF TG_TABLE_NAME = 'device_sessions' THEN
        INSERT INTO sallyport.revocations (sid, device_id, reason, revoked_at)
        VALUES (NEW.id::text, NEW.device_id, NEW.end_reason, NEW.ended_at);
        -- When a device was last seen is read from its live sessions and from its own row: the row takes over. Waits for
        -- nobody: ends come in any order, and a registration that holds the row notes a later time.
        UPDATE sallyport.devices d SET last_seen_at = NEW.rotated_at WHERE d.id = (
            SELECT l.id FROM sallyport.devices l WHERE l.id = NEW.device_id AND l.last_seen_at < NEW.rotated_at
            FOR NO KEY UPDATE SKIP LOCKED);
    ELSIF TG_TABLE_NAME = 'identity_sessions' THEN
        INSERT INTO sallyport.revocations (sid, device_id, reason, revoked_at)
        VALUES (NEW.access_sid, NEW.device_id, NEW.end_reason, NEW.ended_at);
    ELSE
        INSERT INTO sallyport.revocations (jti, device_id, reason, revoked_at, expires_at)
        VALUES (NEW.jti, NEW.device_id, 'access_revoked', NEW.revoked_at, NEW.expires_at);
    END IF;
    IF current_setting('sallyport.has_cleared', true) IS DISTINCT FROM 'true' THEN
        PERFORM set_config('sallyport.has_cleared', 'true', true);
        PERFORM sallyport.clear_revocations(20);
    END IF;
    RETURN NULL;
END
$$;

-- These run with the rights of their caller, whose rights on the tables decide: the role of the servers needs no more than
-- those, and EXECUTE stays with everybody.
