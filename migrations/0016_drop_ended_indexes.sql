-- What the two migrations before replace: the indexes that lead through rows of what has ended, and the triggers that
-- fired where nothing ended. First the devices' last use is taken from sessions that have ended, which are not read for it
-- any more: one pass over device_sessions, about 1 s with a million, that locks rows of devices only; a sign-in on one of
-- them waits until the end. Then a moment of ACCESS EXCLUSIVE on device_sessions, identity_sessions and
-- revoked_access_tokens. Servers before this migration run on: what clears the revocation feed fires for their ends too.

UPDATE sallyport.devices d SET last_seen_at = ended.last_rotated_at
FROM (
    SELECT s.device_id, max(s.rotated_at) AS last_rotated_at FROM sallyport.device_sessions s
    WHERE s.ended_at IS NOT NULL GROUP BY s.device_id
) ended
WHERE d.id = ended.device_id AND d.last_seen_at < ended.last_rotated_at;

DROP INDEX sallyport.device_sessions_by_device, sallyport.device_sessions_by_user,
    sallyport.device_sessions_by_identity_session;
DROP TRIGGER device_sessions_end_clear ON sallyport.device_sessions;

-- What lives is found by identity_sessions_linked.
DROP INDEX sallyport.identity_sessions_by_user;
DROP TRIGGER identity_sessions_end_clear ON sallyport.identity_sessions;

DROP TRIGGER revoked_access_tokens_insert_clear ON sallyport.revoked_access_tokens;
DROP FUNCTION sallyport.clear_revocations_after_end();
