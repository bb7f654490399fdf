import AuthDomain
import AuthTesting
import Crypto
import JOSE
import JSON
import Primitives
import Testing

@Suite("Refresh")
struct RefreshTests {
    private static let key = "key-0000000000000001"
    private static let otherKey = "key-0000000000000002"

    @Test("a refresh rotates by one, with a new refresh token and a new access token")
    func rotates() async throws {
        let stack = TokenStack()
        let first = try await stack.exchange()
        stack.clock.advance(by: .minutes(20))
        let second = try await stack.refresh(try first.refreshToken)
        #expect(try first.refreshToken != second.refreshToken)
        #expect(first.accessToken != second.accessToken)
        #expect(second.sessionID == first.sessionID)
        #expect(second.deviceID == first.deviceID)
        #expect(try stack.generation(first) == 2)
        let (old, new) = (try DecodedToken(first.refreshToken).claims, try DecodedToken(second.refreshToken).claims)
        #expect(old["gen"] == 1)
        #expect(new["gen"] == 2)
        #expect(old["jti"] != new["jti"])
        #expect(old["sid"] == new["sid"])
        #expect(new["aud"] == "https://auth.example.com/auth/token")
        #expect(new["iat"] == .integer(stack.clock.now().secondsSinceEpoch))
    }

    @Test("auth_time stays where the sign-in put it")
    func authTime() async throws {
        let stack = TokenStack()
        let first = try await stack.exchange()
        stack.clock.advance(by: .days(3))
        let second = try await stack.refresh(try first.refreshToken)
        let times = try [first, second].map { try DecodedToken($0.accessToken).claims["auth_time"] }
        #expect(times[0] == times[1])
        #expect(times[0] == .integer(TestClock().now().secondsSinceEpoch))
    }

    @Test(
        "a lost answer is repeated byte for byte, with the key or, where none was ever sent, without",
        arguments: [
            key, nil,
        ])
    func replay(key: String?) async throws {
        let stack = TokenStack()
        let token = try await stack.exchange().refreshToken
        let lost = try await stack.refresh(token, key: key)
        for wait in [Duration.seconds(1), .minutes(2), .hours(1), .days(6)] {
            let repeated = try await stack.refresh(token, key: key)
            #expect(try repeated.refreshToken == lost.refreshToken)
            #expect(repeated.accessToken != lost.accessToken)
            #expect(try stack.generation(lost) == 2)
            stack.clock.advance(by: wait)
        }
        _ = try await stack.refresh(try lost.refreshToken)
        #expect(try stack.generation(lost) == 3)
    }

    @Test("with its key the direct predecessor is answered as long as it lives itself")
    func replayUntilExpiry() async throws {
        let stack = TokenStack()
        let token = try await stack.exchange().refreshToken
        let lost = try await stack.refresh(token, key: Self.key)
        stack.clock.advance(by: .days(30) - .microseconds(1))
        #expect(try await stack.refresh(token, key: Self.key).refreshToken == lost.refreshToken)
        stack.clock.advance(by: .microseconds(1))
        let refused = try await refusal { () async throws(AuthFailure) in
            try await stack.refresh(token, key: Self.key)
        }
        #expect(refused.reason == .refreshExpired)
        #expect(refused.action == .lock)
        #expect(try stack.end(lost) == nil)
    }

    @Test("a replay says again what is left, reckoned from now")
    func replayDurations() async throws {
        let stack = TokenStack()
        let token = try await stack.exchange().refreshToken
        let lost = try #require(try await stack.refresh(token, key: Self.key).refresh)
        stack.clock.advance(by: .days(2))
        let repeated = try #require(try await stack.refresh(token, key: Self.key).refresh)
        #expect(repeated.expiresAt == lost.expiresAt)
        #expect(repeated.sessionExpiresAt == lost.sessionExpiresAt)
        #expect(repeated.offline.writeUntil == lost.offline.writeUntil + .days(2))
    }

    @Test("a replay is signed by the key that signed the first time, though another one signs now")
    func replayAfterKeyChange() async throws {
        let stack = TokenStack()
        let token = try await stack.exchange().refreshToken
        let lost = try await stack.refresh(token, key: Self.key)
        stack.keys.set(.afterRefreshKeyChange)
        #expect(try await stack.refresh(token, key: Self.key).refreshToken == lost.refreshToken)
        let next = try await stack.refresh(try lost.refreshToken)
        #expect(try DecodedToken(next.refreshToken).header["kid"] != DecodedToken(lost.refreshToken).header["kid"])
    }

    @Test("a replay whose key another server has just made is answered after a look at the keys")
    func replayByUnknownKey() async throws {
        let stack = TokenStack()
        let token = try await stack.exchange().refreshToken
        stack.keys.set(.afterRefreshKeyChange)
        let lost = try await stack.refresh(token, key: Self.key)
        stack.keys.set(FixedKeys.keyring)
        stack.keys.setStored(.afterRefreshKeyChange)
        #expect(try await stack.refresh(token, key: Self.key).refreshToken == lost.refreshToken)
        #expect(stack.keys.reloads == 1)
    }

    @Test("a compromised refresh key signs nothing more, and yet signs nobody out: its tokens rotate to the next key")
    func compromisedKey() async throws {
        let stack = TokenStack()
        let token = try await stack.exchange().refreshToken
        let lost = try await stack.refresh(token, key: Self.key)
        stack.keys.set(.afterRefreshKeyLoss(.compromised))
        // The lost answer again: the same generation, signed by the key of today, the same bytes each time.
        let again = try await stack.refresh(token, key: Self.key)
        #expect(try DecodedToken(again.refreshToken).claims == DecodedToken(lost.refreshToken).claims)
        #expect(try DecodedToken(again.refreshToken).header["kid"] == .string(JWK(FixedKeys.nextRefresh.publicKey).kid))
        #expect(try await stack.refresh(token, key: Self.key).refreshToken == again.refreshToken)
        // Either copy goes on.
        #expect(try await stack.generation(stack.refresh(try lost.refreshToken, key: "another-key-0000")) == 3)
    }

    @Test("with a stolen refresh key an expired token gets no new life")
    func forgedLife() async throws {
        let stack = TokenStack()
        let token = try await stack.exchange().refreshToken
        stack.clock.advance(by: .days(31))
        var claims = try DecodedToken(token).claims
        claims["exp"] = .integer((stack.clock.now() + .days(1)).secondsSinceEpoch)
        let header = JWTHeader(type: "rt+jwt", kid: JWK(FixedKeys.refresh.publicKey).kid)
        let input = JWS.signingInput(header: header.json, claims: claims)
        let forged = JWS.compact(signingInput: input, signature: try FixedKeys.refresh.sign(input))
        let refused = try await refusal { () async throws(AuthFailure) in try await stack.refresh(forged) }
        #expect(refused.reason == .refreshExpired)
    }

    @Test("a token of a removed refresh key is told its true end, and a key that is only out of reach is our fault")
    func removedKey() async throws {
        let stack = TokenStack()
        let token = try await stack.exchange().refreshToken
        let lost = try await stack.refresh(token, key: Self.key)
        stack.keys.set(.afterRefreshKeyLoss(.retired))
        let found = await failure { () async throws(AuthFailure) in try await stack.refresh(token, key: Self.key) }
        #expect(found == .unavailable(.misconfigured))
        stack.keys.set(.afterRefreshKeyLoss(.removed))
        stack.clock.advance(by: .days(31))
        let refused = try await refusal { () async throws(AuthFailure) in
            try await stack.refresh(lost.refresh?.token ?? "")
        }
        #expect(refused.reason == .refreshExpired)
    }

    @Test("a refresh may narrow its access token, never widen it, and narrows nothing for good")
    func scopes() async throws {
        let stack = TokenStack()
        let first = try await stack.exchange(scopes: ScopeSet(["api"]))
        #expect(first.scopes == ScopeSet(["api"]))
        let widened = await failure { () async throws(AuthFailure) in
            try await stack.refresh(first.refresh?.token ?? "", scopes: ScopeSet(["api", "sync"]))
        }
        #expect(widened == .invalid(.scopeInvalid))
        #expect(try stack.generation(first) == 1)

        let other = try await stack.exchange()
        let narrow = try await stack.refresh(try other.refreshToken, scopes: ScopeSet(["sync"]))
        #expect(try DecodedToken(narrow.accessToken).claims["scope"] == "sync")
        #expect(try await stack.refresh(try narrow.refreshToken).scopes == ScopeSet(["api", "sync"]))
    }

    @Test("a refresh token belongs to its client")
    func clientID() async throws {
        let stack = TokenStack()
        let first = try await stack.exchange(clientID: "app-one")
        let refused = try await refusal { () async throws(AuthFailure) in
            try await stack.refresh(first.refresh?.token ?? "", clientID: "app-two")
        }
        #expect(refused.reason == .tokenForeign)
        #expect(refused.action == .reauth)
        let second = try await stack.refresh(try first.refreshToken, clientID: "app-one")
        let third = try await stack.refresh(try second.refreshToken)
        #expect(try DecodedToken(third.accessToken).claims["client_id"] == "app-one")
    }

    @Test("reauth_soon turns true once less than a refresh lifetime is left to the absolute end, and exp stops there")
    func absoluteEnd() async throws {
        let stack = TokenStack()
        var answer = try await stack.exchange()
        let end = stack.clock.now() + .days(90)
        stack.clock.advance(by: .days(29))
        answer = try await stack.refresh(try answer.refreshToken)
        stack.clock.set(end - .days(35))
        answer = try await stack.refresh(try answer.refreshToken)
        stack.clock.set(end - .days(30))
        answer = try await stack.refresh(try answer.refreshToken)
        #expect(answer.refresh?.isReauthSoon == false)
        #expect(answer.refresh?.expiresAt == end)
        stack.clock.advance(by: .microseconds(1))
        answer = try await stack.refresh(try answer.refreshToken)
        #expect(answer.refresh?.isReauthSoon == true)
        #expect(answer.refresh?.sessionExpiresAt == end)
        stack.clock.set(end - .seconds(1))
        answer = try await stack.refresh(try answer.refreshToken)
        #expect(answer.refresh?.expiresAt == end)
        #expect(answer.refresh?.offline.writeUntil == end)
        #expect(answer.refresh?.offline.readUntil == end)
        #expect(answer.accessExpiresAt == stack.clock.now() + .minutes(30))
        stack.clock.set(end)
        let refused = try await refusal { () async throws(AuthFailure) in
            try await stack.refresh(answer.refresh?.token ?? "")
        }
        #expect(refused.reason == .refreshExpired)
        #expect(try stack.end(answer) == nil)
    }

    @Test("a generation above ours is caught up, once, and shows in the audit")
    func catchUp() async throws {
        let stack = TokenStack()
        var answer = try await stack.exchange()
        answer = try await stack.refresh(try answer.refreshToken, key: Self.key)
        let backup = try stack.session(answer)
        for _ in 0..<3 { answer = try await stack.refresh(try answer.refreshToken, key: Self.otherKey) }
        let newest = try answer.refreshToken
        stack.store.restore(backup)
        #expect(try stack.generation(answer) == 2)

        let caughtUp = try await stack.refresh(newest, key: Self.key)
        #expect(try stack.generation(answer) == 6)
        #expect(stack.store.restoredSessions == [backup.id])
        #expect(try await stack.refresh(newest, key: Self.key).refreshToken == caughtUp.refreshToken)
        _ = try await stack.refresh(try caughtUp.refreshToken)
        #expect(stack.store.restoredSessions.count == 1)
    }
}

extension Keyring {
    /// The ordinary keys, but the refresh key has been followed by another.
    static var afterRefreshKeyChange: Keyring {
        FixedKeys.ring([
            FixedKeys.pair(.access, .current, FixedKeys.signing),
            FixedKeys.pair(.refresh, .retired, FixedKeys.refresh),
            FixedKeys.pair(.refresh, .current, FixedKeys.nextRefresh),
            FixedKeys.pair(.verdict, .current, FixedKeys.verdict),
        ])
    }

    /// The same, but of the old refresh key there is only the public half.
    static func afterRefreshKeyLoss(_ state: KeyState) -> Keyring {
        let half = PublicHalf(
            purpose: .refresh, state: state, jwk: JWK(FixedKeys.refresh.publicKey), createdAt: FixedKeys.createdAt)
        let pairs = [
            FixedKeys.pair(.access, .current, FixedKeys.signing),
            FixedKeys.pair(.refresh, .current, FixedKeys.nextRefresh),
            FixedKeys.pair(.verdict, .current, FixedKeys.verdict),
        ]
        return Keyring(pairs, publicHalves: [half], hasher: FixedKeys.hasher) ?? .afterRefreshKeyChange
    }
}
