-- The life of a key: its public half beside the sealed one, so that the key set is served whatever can be opened, and how
-- long its tokens live. Columns without a rewrite: a moment of ACCESS EXCLUSIVE on keys and audit_events. Servers before
-- this migration insert keys without a public half, which the first newer server that loads them adds; of the lifetime
-- they know nothing, so that its default is the longest there is.

ALTER TABLE sallyport.keys
    -- Big-endian, without leading zeros.
    ADD COLUMN modulus bytea,
    ADD COLUMN exponent bytea,
    -- Under this deployment's key of hashes: who can write this table only must not publish a key of their own.
    ADD COLUMN public_mac bytea,
    -- The longest that any server gives a token of it; a retired key stays published for that long and some.
    ADD COLUMN token_lifetime_seconds bigint NOT NULL DEFAULT 2592000,
    ADD CONSTRAINT keys_public_half CHECK (
        (modulus IS NULL) = (exponent IS NULL) AND (modulus IS NULL) = (public_mac IS NULL)
    );

UPDATE sallyport.keys SET token_lifetime_seconds = 3600 WHERE purpose = 'access';

ALTER TABLE sallyport.audit_events
    -- Of what was done with a key.
    ADD COLUMN kid text;
