package import Primitives

/// The bond of user, device and scope that refresh tokens rotate in: one row, however often it is refreshed.
package struct DeviceSession: Sendable {
    package let id: UUID
    package let userID: String
    package let deviceID: UUID
    package let deviceStatus: DeviceStatus
    package let clientID: String
    package let scopes: ScopeSet
    package let identitySessionID: String
    /// When the user last proved who they are; refresh never moves it.
    package let authTime: Timestamp
    package let amr: [String]
    /// Whether the user was verified at the last mint that moved this session; `nil` where nobody noted it. Asked for
    /// only while the identity store cannot be believed.
    package let wasVerified: Bool?
    package let createdAt: Timestamp
    package let rotation: RotationState
    package let current: IssuedRefresh
    /// Sealed under the KEK; what `jti`s and key hashes are derived from.
    package let sealedSecret: [UInt8]

    package init(
        id: UUID, userID: String, deviceID: UUID, deviceStatus: DeviceStatus, clientID: String, scopes: ScopeSet,
        identitySessionID: String, authTime: Timestamp, amr: [String], wasVerified: Bool?, createdAt: Timestamp,
        rotation: RotationState, current: IssuedRefresh, sealedSecret: [UInt8]
    ) {
        self.id = id
        self.userID = userID
        self.deviceID = deviceID
        self.deviceStatus = deviceStatus
        self.clientID = clientID
        self.scopes = scopes
        self.identitySessionID = identitySessionID
        self.authTime = authTime
        self.amr = amr
        self.wasVerified = wasVerified
        self.createdAt = createdAt
        self.rotation = rotation
        self.current = current
        self.sealedSecret = sealedSecret
    }

    var writeOwner: WriteOwner { WriteOwner(userID: userID, device: deviceID.description) }
}

/// What is needed to mint a refresh token again, byte for byte.
package struct IssuedRefresh: Equatable, Sendable {
    package let generation: Int64
    /// The refresh key that signs it.
    package let kid: String
    package let issuedAt: Timestamp
    package let expiresAt: Timestamp

    package init(generation: Int64, kid: String, issuedAt: Timestamp, expiresAt: Timestamp) {
        self.generation = generation
        self.kid = kid
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    /// The same token under another key.
    func signed(by kid: String) -> IssuedRefresh {
        IssuedRefresh(generation: generation, kid: kid, issuedAt: issuedAt, expiresAt: expiresAt)
    }

    /// A token of now: whole seconds, as its claims hold, and never past the absolute end.
    package static func make(
        generation: Int64, kid: String, lifetime: Duration, sessionEnd: Timestamp, at now: Timestamp
    ) -> IssuedRefresh {
        let issued = now.wholeSeconds
        return IssuedRefresh(
            generation: generation, kid: kid, issuedAt: issued,
            expiresAt: min(issued + lifetime, sessionEnd.wholeSeconds))
    }
}

/// A rotation as the store writes it: compare-and-swap on the generation that was decided on.
package struct Rotation: Sendable {
    package let sessionID: UUID
    package let expectedGeneration: Int64
    package let issued: IssuedRefresh
    package let rotatedAt: Timestamp
    package let rotationKeys: [[UInt8]?]
    package let hasSeenKey: Bool
    /// The user, as this mint says.
    package let isVerified: Bool
    package let isRestored: Bool

    package init(
        sessionID: UUID, state: RotationState, issued: IssuedRefresh, keyHash: [UInt8]?, isVerified: Bool,
        isRestored: Bool, at now: Timestamp
    ) {
        self.sessionID = sessionID
        expectedGeneration = state.generation
        self.issued = issued
        rotatedAt = now
        rotationKeys = state.keysAfterRotation(from: issued.generation - 1, key: keyHash)
        hasSeenKey = state.hasSeenKey || keyHash != nil
        self.isVerified = isVerified
        self.isRestored = isRestored
    }
}
