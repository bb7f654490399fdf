-- Device sessions remember whether their user was verified at the last mint: while the identity store has lost too much
-- to be believed they go on refreshing, and the gate must know. A column without a default: a moment of ACCESS EXCLUSIVE,
-- no rewrite. Servers before this migration leave the column alone; NULL means that nobody knows, and answers 503 then.

ALTER TABLE sallyport.device_sessions ADD COLUMN was_verified boolean;
