-- The watch over the identity store counts users: an index gives random ones, and the row of the watch says when a look
-- has last read everything. One column without a default: a moment of ACCESS EXCLUSIVE on identity_watches, no rewrite. The
-- index is built under SHARE: exchanges wait for it, some seconds with a million sessions. Servers before this migration
-- neither read nor write the column: where one of them has the turn for three polls, /readyz of a newer one is red until it
-- has looked itself.

ALTER TABLE sallyport.identity_watches ADD COLUMN completed_at timestamptz;

CREATE INDEX identity_sessions_sample ON sallyport.identity_sessions (hashtextextended(user_id, 2), user_id)
    WHERE ended_at IS NULL;
