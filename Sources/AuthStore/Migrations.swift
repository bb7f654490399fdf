package import Postgres

/// The schema's steps, embedded from the folder `migrations`.
package enum Migrations {
    /// Of every deployment.
    package static let all = [
        Migration(name: "0001_create_keys.sql", sql: PackageResources._001_create_keys_sql),
        Migration(name: "0002_create_devices.sql", sql: PackageResources._002_create_devices_sql),
        Migration(name: "0003_create_device_sessions.sql", sql: PackageResources._003_create_device_sessions_sql),
        Migration(name: "0004_create_custom_claims.sql", sql: PackageResources._004_create_custom_claims_sql),
        Migration(name: "0005_create_identity_watch.sql", sql: PackageResources._005_create_identity_watch_sql),
        Migration(
            name: "0006_create_revocation_functions.sql", sql: PackageResources._006_create_revocation_functions_sql),
        Migration(name: "0007_remember_verification.sql", sql: PackageResources._007_remember_verification_sql),
        Migration(name: "0008_extend_keys.sql", sql: PackageResources._008_extend_keys_sql),
        Migration(
            name: "0009_create_revoked_access_tokens.sql",
            sql: PackageResources._009_create_revoked_access_tokens_sql),
        // A comment held a character that a LATIN1 database refuses.
        Migration(
            name: "0010_create_revocation_feed.sql", sql: PackageResources._010_create_revocation_feed_sql,
            firstPublishedAs: "fd5183832bce6231be57ab401b07ee0ac99b7ad65d273bb5fe2ab4aa07f4283f"),
        Migration(name: "0011_relax_session_keys.sql", sql: PackageResources._011_relax_session_keys_sql),
        Migration(name: "0012_create_user_marks.sql", sql: PackageResources._012_create_user_marks_sql),
        Migration(name: "0013_create_clocks.sql", sql: PackageResources._013_create_clocks_sql),
        Migration(name: "0014_index_live_sessions.sql", sql: PackageResources._014_index_live_sessions_sql),
        Migration(name: "0015_bound_devices.sql", sql: PackageResources._015_bound_devices_sql),
        Migration(name: "0016_drop_ended_indexes.sql", sql: PackageResources._016_drop_ended_indexes_sql),
        Migration(name: "0017_sample_linked_users.sql", sql: PackageResources._017_sample_linked_users_sql),
    ]

    /// Of a deployment with identity tables of its own.
    package static let standalone = [
        Migration(
            name: "standalone/0001_create_identity_tables.sql", sql: PackageResources._001_create_identity_tables_sql)
    ]
}
