-- A sign-out of all of a user's sessions, those too that were never presented here. New tables and a function that is
-- replaced: no lock on anything that serves. Servers before this migration neither set nor heed a mark: what they exchange
-- after it stays until they are replaced.

CREATE TABLE sallyport.user_marks (
    user_id text NOT NULL,
    -- A session that was made before is refused; within a minute of it the ids alone decide.
    marked_at timestamptz NOT NULL,
    -- The user's sessions that could be read then, by the identity store's ids.
    session_ids text[] NOT NULL,
    -- Of whoever reported a device as lost and goes on.
    spared_id text,
    CONSTRAINT user_marks_pkey PRIMARY KEY (user_id)
);

-- Where the sessions lie, for the function below: written by servers whose identity store is this database.
CREATE TABLE sallyport.identity_mappings (
    -- One row at most.
    id boolean NOT NULL DEFAULT true,
    schema_name text NOT NULL,
    session_table text NOT NULL,
    id_column text NOT NULL,
    user_id_column text NOT NULL,
    CONSTRAINT identity_mappings_pkey PRIMARY KEY (id),
    CONSTRAINT identity_mappings_one_row CHECK (id)
);

-- The ids of a user's sessions: of the identity store where that is this database and its owner lets us read, and those
-- that were presented here.
CREATE FUNCTION sallyport.session_ids(user_id text) RETURNS text[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    place record;
    found_ids text[] := '{}';
BEGIN
    -- A table and nothing else: a view or a policy would run code of the application's with the rights of our owner.
    SELECT m.schema_name, m.session_table, m.id_column, m.user_id_column,
        format_type(a.atttypid, a.atttypmod) AS user_id_type
    INTO place FROM sallyport.identity_mappings m
        JOIN pg_namespace n ON n.nspname = m.schema_name
        JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = m.session_table
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = m.user_id_column
    WHERE c.relkind IN ('r', 'p') AND NOT c.relrowsecurity;
    IF FOUND THEN
        BEGIN
            EXECUTE format(
                'SELECT array_agg(s.%I::text) FROM %I.%I s WHERE s.%I = CAST($1 AS %s)',
                place.id_column, place.schema_name, place.session_table, place.user_id_column, place.user_id_type)
            INTO found_ids USING session_ids.user_id;
        EXCEPTION WHEN insufficient_privilege OR undefined_table OR undefined_column OR data_exception THEN
            found_ids := '{}';
        END;
    END IF;
    RETURN ARRAY(
        SELECT f.id FROM unnest(found_ids) AS f (id)
        UNION SELECT i.id FROM sallyport.identity_sessions i
        WHERE i.user_id = session_ids.user_id AND i.ended_at IS NULL);
END
$$;

REVOKE ALL ON FUNCTION sallyport.session_ids(text) FROM PUBLIC;

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
