-- The operator's own claims: called at every mint, to be replaced by the operator with
-- CREATE OR REPLACE FUNCTION. A new function: no lock, and servers before this migration do not call it.

CREATE FUNCTION sallyport.custom_claims(user_id text, device_id uuid) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$ SELECT '{}'::jsonb $$;

COMMENT ON FUNCTION sallyport.custom_claims(text, uuid) IS
    'Returns an object of at most 2 KiB that is added to access tokens. device_id is NULL without a device.';
