-- Indexes by which no request reads rows of what has ended: sessions by what they belong to and whether they live, doubts,
-- and entries of the revocation feed by their transaction. Two full indexes that hold every row and can still be asked for
-- the live ones alone are better than partial ones here: they carry the foreign keys too.
-- The builds hold SHARE on device_sessions (three indexes), then on identity_sessions and revocations: rotations,
-- exchanges and ends wait, readers do not. It takes about 5 s with a million rows in each table. No column that a rotation
-- writes is indexed: rotations stay heap-only. Servers before this migration use the indexes like newer ones; the
-- indexes that these replace go in 0016.

CREATE INDEX device_sessions_of_device ON sallyport.device_sessions (device_id, ended_at);
CREATE INDEX device_sessions_of_user ON sallyport.device_sessions (user_id, ended_at);
CREATE INDEX device_sessions_of_identity_session ON sallyport.device_sessions (identity_session_id, ended_at);

CREATE INDEX identity_sessions_doubted ON sallyport.identity_sessions (id) WHERE doubted_at IS NOT NULL;

CREATE INDEX revocations_by_xid ON sallyport.revocations (xid);
