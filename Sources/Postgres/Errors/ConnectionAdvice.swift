import Primitives

/// What to do about the usual causes, by SQLSTATE and by libpq's words.
enum ConnectionAdvice {
    static func advice(_ state: SQLState?, _ message: String) -> String? {
        if let state, let advice = states[state.code] { return advice }
        return words.first { message.holds($0.word) }?.advice
    }

    /// Of a parameter that libpq does not know, or not with this value.
    static func advice(ofParameter name: String, in message: String) -> String? {
        if let advice = parameters[name] { return advice }
        return message.holds("sslmode") ? parameters["sslmode"] : nil
    }

    private static let states = [
        "28P01": "correct the password in the URL, or in the file that it is read from",
        "28000": "create the role with LOGIN, or let pg_hba.conf admit it from this address",
        "3D000": "create the database, or correct the name at the end of the URL",
        "53300": "allow the role and the server more connections, or lower SALLYPORT_DATABASE_CONNECTIONS",
        "57P03": "wait until the server has started",
        "42P01": "run `sallyport migrate`, or correct the names of the identity tables",
        "3F000": "run `sallyport migrate`, or correct SALLYPORT_IDENTITY_SCHEMA",
        "42501": "grant the role the right that is missing",
        "42704": "correct the setting in the URL's options",
        "42P05": "the address may lead to a pooler: give the direct address of the server",
        "26000": "the address may lead to a pooler: give the direct address of the server",
    ]

    private static let words: [(word: String, advice: String)] = [
        ("no password supplied", "the URL has no password: postgresql://user:password@host/database"),
        ("certificate verify failed", "sslrootcert in the URL must name the CA that signed the server's certificate"),
        ("root certificate file", "sslrootcert in the URL must name a readable file with the server's CA"),
        ("does not match host name", "use the host name of the certificate in the URL"),
        ("does not support SSL", "turn TLS on at the server, or take another sslmode"),
        ("read-only", "give the address of a primary whose role and database take writes"),
        ("hot standby", "give the address of the primary"),
        ("recovery", "give the address of the primary"),
        ("Connection refused", "start the server, or correct host and port in the URL"),
        ("No such file", "start the server, or correct the folder of the socket in the URL"),
    ]

    private static let parameters = [
        "schema": "remove it; SALLYPORT_IDENTITY_SCHEMA names the schema of the identity tables",
        "pgbouncer": "remove it, and give the direct address of the server instead of a transaction pooler",
        "connection_limit": "remove it; SALLYPORT_DATABASE_CONNECTIONS bounds the connections",
        "pool_timeout": "remove it",
        "ssl": "remove it and use sslmode",
        "sslmode":
            "sslmode is disable, allow, prefer, require, verify-ca or verify-full; require encrypts without a check of "
            + "the certificate",
    ]
}
