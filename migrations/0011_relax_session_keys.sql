-- An upsert waits for one unique index alone: two servers that remembered a session for the first time at the same moment
-- met on the other one (identity_sessions_access_sid), and one of them failed. The access sid is a keyed hash of the id,
-- which is unique: a plain index does. It is built under SHARE, writers wait some seconds with a million sessions; then a
-- moment of ACCESS EXCLUSIVE. Servers before this migration run on beside it.

CREATE INDEX identity_sessions_by_access_sid ON sallyport.identity_sessions (access_sid);

ALTER TABLE sallyport.identity_sessions DROP CONSTRAINT identity_sessions_access_sid;
