-- The tables of a Better Auth application as its kysely generator makes them, with one user and one session.
-- The session token is the vector of the contract: abcdefghijklmnopqrstuvwxyzABCDEF, signed by the compose file's secret:
-- abcdefghijklmnopqrstuvwxyzABCDEF.jnj0drBzy9j6Ks+zss+jprL7AAig651Y+JT0M2rUdmo=

CREATE TABLE "user" (
    "id" text NOT NULL PRIMARY KEY,
    "name" text NOT NULL,
    "email" text NOT NULL UNIQUE,
    "emailVerified" boolean NOT NULL,
    "image" text,
    "createdAt" timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE "session" (
    "id" text NOT NULL PRIMARY KEY,
    "expiresAt" timestamptz NOT NULL,
    "token" text NOT NULL UNIQUE,
    "createdAt" timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" timestamptz NOT NULL,
    "ipAddress" text,
    "userAgent" text,
    "userId" text NOT NULL REFERENCES "user" ("id") ON DELETE CASCADE
);

CREATE INDEX session_user_id ON "session" ("userId");

INSERT INTO "user" ("id", "name", "email", "emailVerified") VALUES ('demo', 'Ada Field', 'ada@example.com', true);
INSERT INTO "session" ("id", "expiresAt", "token", "updatedAt", "userId") VALUES
    ('demo-session', CURRENT_TIMESTAMP + interval '7 days', 'abcdefghijklmnopqrstuvwxyzABCDEF', CURRENT_TIMESTAMP, 'demo');

-- A role that reads what is read and nothing else.
CREATE ROLE identity_reader LOGIN PASSWORD 'identity_reader';
GRANT SELECT ("id", "name", "email", "emailVerified") ON "user" TO identity_reader;
GRANT SELECT ("id", "expiresAt", "token", "createdAt", "updatedAt", "userId") ON "session" TO identity_reader;

-- Where PowerSync keeps its buckets, and what it replicates.
CREATE SCHEMA IF NOT EXISTS powersync;
CREATE TABLE notes (
    id uuid NOT NULL PRIMARY KEY DEFAULT gen_random_uuid(),
    owner_id text NOT NULL,
    body text NOT NULL
);
CREATE PUBLICATION powersync FOR TABLE notes;
