-- Identity tables of our own, laid out as Better Auth's kysely generator does, so that such an application can take
-- them over. Applied by `migrate --standalone` only; new tables, no lock on anything that serves.

CREATE TABLE public."user" (
    "id" text NOT NULL,
    "name" text NOT NULL,
    "email" text NOT NULL,
    "emailVerified" boolean NOT NULL DEFAULT false,
    "image" text,
    "createdAt" timestamptz NOT NULL,
    "updatedAt" timestamptz NOT NULL,
    "role" text,
    "banned" boolean,
    "banReason" text,
    "banExpires" timestamptz,
    CONSTRAINT user_pkey PRIMARY KEY ("id"),
    CONSTRAINT user_email UNIQUE ("email")
);

CREATE TABLE public."session" (
    "id" text NOT NULL,
    "expiresAt" timestamptz NOT NULL,
    "token" text NOT NULL,
    "createdAt" timestamptz NOT NULL,
    "updatedAt" timestamptz NOT NULL,
    "ipAddress" text,
    "userAgent" text,
    "userId" text NOT NULL,
    "impersonatedBy" text,
    CONSTRAINT session_pkey PRIMARY KEY ("id"),
    CONSTRAINT session_token UNIQUE ("token"),
    CONSTRAINT session_user_fkey FOREIGN KEY ("userId") REFERENCES public."user" ("id") ON DELETE CASCADE
);

CREATE INDEX session_by_user ON public."session" ("userId");

CREATE TABLE public."account" (
    "id" text NOT NULL,
    "accountId" text NOT NULL,
    "providerId" text NOT NULL,
    "userId" text NOT NULL,
    "accessToken" text,
    "refreshToken" text,
    "idToken" text,
    "accessTokenExpiresAt" timestamptz,
    "refreshTokenExpiresAt" timestamptz,
    "scope" text,
    "password" text,
    "createdAt" timestamptz NOT NULL,
    "updatedAt" timestamptz NOT NULL,
    CONSTRAINT account_pkey PRIMARY KEY ("id"),
    CONSTRAINT account_user_fkey FOREIGN KEY ("userId") REFERENCES public."user" ("id") ON DELETE CASCADE
);

CREATE INDEX account_by_user ON public."account" ("userId");

CREATE TABLE public."verification" (
    "id" text NOT NULL,
    "identifier" text NOT NULL,
    "value" text NOT NULL,
    "expiresAt" timestamptz NOT NULL,
    "createdAt" timestamptz NOT NULL,
    "updatedAt" timestamptz NOT NULL,
    CONSTRAINT verification_pkey PRIMARY KEY ("id")
);

CREATE INDEX verification_by_identifier ON public."verification" ("identifier");

UPDATE sallyport.deployments SET is_standalone = true;
