-- What a deployment is and the keys that it signs with.
-- New tables in a schema of our own: no lock on anything that serves, and nothing older runs beside it.

CREATE TABLE sallyport.deployments (
    -- One row at most.
    id boolean NOT NULL DEFAULT true,
    -- Set by the first server that starts; a server of the other kind refuses the database.
    kind text,
    -- Whether the identity tables are our own (`migrate --standalone`).
    is_standalone boolean NOT NULL DEFAULT false,
    CONSTRAINT deployments_pkey PRIMARY KEY (id),
    CONSTRAINT deployments_one_row CHECK (id),
    CONSTRAINT deployments_kind CHECK (kind IN ('test', 'production'))
);

INSERT INTO sallyport.deployments DEFAULT VALUES;

CREATE TABLE sallyport.keys (
    -- RFC 7638 thumbprint of the public half.
    kid text NOT NULL,
    purpose text NOT NULL,
    state text NOT NULL,
    -- PKCS #8, sealed under the key-encryption key; gone once the key is removed.
    sealed_private_key bytea,
    created_at timestamptz NOT NULL,
    -- When the present state began.
    state_at timestamptz NOT NULL,
    CONSTRAINT keys_pkey PRIMARY KEY (kid),
    CONSTRAINT keys_purpose CHECK (purpose IN ('access', 'refresh', 'verdict')),
    CONSTRAINT keys_state CHECK (state IN ('next', 'current', 'retired', 'removed', 'compromised')),
    CONSTRAINT keys_private_half CHECK ((sealed_private_key IS NULL) = (state IN ('removed', 'compromised')))
);

-- Two servers that start at once make one set.
CREATE UNIQUE INDEX keys_one_current ON sallyport.keys (purpose) WHERE state = 'current';

CREATE TABLE sallyport.secrets (
    name text NOT NULL,
    -- Sealed under the key-encryption key.
    sealed_value bytea NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT secrets_pkey PRIMARY KEY (name)
);
