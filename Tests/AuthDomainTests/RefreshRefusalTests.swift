import AuthDomain
import AuthTesting
import Crypto
import JOSE
import JSON
import Primitives
import Testing

@Suite("Refresh: refusals")
struct RefreshRefusalTests {
    private let stack = TokenStack()

    private func refused(
        _ token: String, key: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Refusal {
        try await refusal(
            { () async throws(AuthFailure) in try await stack.refresh(token, key: key) },
            sourceLocation: sourceLocation)
    }

    @Test("reuse ends this device session and no other")
    func reuse() async throws {
        let stolen = try await stack.exchange()
        let sibling = try await stack.exchange()
        let elsewhere = try await stack.exchange(installation: "installation-0000-0002")
        stack.signIn("bob")
        let other = try await stack.exchange("bob")
        var answer = try await stack.refresh(try stolen.refreshToken)
        answer = try await stack.refresh(try answer.refreshToken)
        stack.clock.advance(by: .seconds(11))

        let verdict = try await refused(try stolen.refreshToken)
        #expect(verdict.reason == .refreshReused)
        #expect(verdict.action == .lock)
        #expect(verdict.sessionID == stolen.sessionID)
        #expect(verdict.deviceID == stolen.deviceID)
        #expect(try stack.end(stolen) == .refreshReused)
        #expect(try await refused(try answer.refreshToken).reason == .refreshReused)
        for untouched in [sibling, elsewhere, other] {
            #expect(try stack.end(untouched) == nil)
            _ = try await stack.refresh(try untouched.refreshToken)
        }
    }

    @Test("a late duplicate with its own key ends nothing and gets no token")
    func stale() async throws {
        let key = "key-0000000000000001"
        let first = try await stack.exchange()
        var answer = try await stack.refresh(try first.refreshToken, key: key)
        answer = try await stack.refresh(try answer.refreshToken, key: "key-0000000000000002")
        stack.clock.advance(by: .days(1))
        let verdict = try await refused(try first.refreshToken, key: key)
        #expect(verdict.reason == .refreshStale)
        #expect(verdict.action == .refresh)
        #expect(verdict.proof == nil)
        #expect(try stack.end(first) == nil)
        _ = try await stack.refresh(try answer.refreshToken)
    }

    @Test(
        "an end is answered with its own reason, also after the token's exp",
        arguments: [
            RefusalReason.signedOut, .sessionRevoked, .superseded, .accountDeleted, .deviceRevoked, .refreshReused,
        ])
    func ended(reason: RefusalReason) async throws {
        let answer = try await stack.exchange()
        stack.store.end(try stack.session(answer).id, reason: reason, at: stack.clock.now())
        for wait in [Duration.zero, .days(31), .days(90)] {
            stack.clock.advance(by: wait)
            let verdict = try await refused(try answer.refreshToken)
            #expect(verdict.reason == reason)
            #expect(verdict.action == .lock)
        }
    }

    @Test(
        "a held device wipes; once it is active again, its older sessions lock",
        arguments: [
            (DeviceStatus.revoked, RefusalReason.deviceRevoked), (.lost, .deviceLost), (.wipeOrdered, .wipeOrdered),
        ])
    func heldDevice(status: DeviceStatus, reason: RefusalReason) async throws {
        let answer = try await stack.exchange()
        let device = try #require(answer.deviceID)
        stack.store.setStatus(status, of: device, at: stack.clock.now())
        let held = try await refused(try answer.refreshToken)
        #expect(held.reason == reason)
        #expect(held.action == .wipe)
        #expect(held.proof != nil)

        stack.store.setStatus(.active, of: device, at: stack.clock.now())
        let back = try await refused(try answer.refreshToken)
        #expect(back.reason == reason)
        #expect(back.action == .lock)
    }

    @Test("a suspended device is refused and loses nothing")
    func suspended() async throws {
        let answer = try await stack.exchange()
        let device = try #require(answer.deviceID)
        stack.store.setStatus(.suspended, of: device, at: stack.clock.now())
        let verdict = try await refused(try answer.refreshToken)
        #expect(verdict.reason == .deviceSuspended)
        #expect(verdict.action == .lock)
        stack.store.setStatus(.active, of: device, at: stack.clock.now())
        #expect(try await stack.refresh(try answer.refreshToken).sessionID == answer.sessionID)
    }

    @Test("a ban refuses while it lasts and not a microsecond longer")
    func banned() async throws {
        let answer = try await stack.exchange()
        let until = stack.clock.now() + .hours(1)
        for ban in [IdentityUser.Ban(until: nil), IdentityUser.Ban(until: until)] {
            stack.store.putUser("ada", ban: ban)
            #expect(try await refused(try answer.refreshToken).reason == .userBanned)
        }
        stack.clock.set(until - .microseconds(1))
        #expect(try await refused(try answer.refreshToken).action == .lock)
        #expect(try stack.generation(answer) == 1)
        stack.clock.set(until)
        _ = try await stack.refresh(try answer.refreshToken)
    }

    @Test("a user without a row is account_deleted, which locks")
    func accountDeleted() async throws {
        let answer = try await stack.exchange()
        stack.store.removeUser("ada")
        let verdict = try await refused(try answer.refreshToken)
        #expect(verdict.reason == .accountDeleted)
        #expect(verdict.action == .lock)
        #expect(try stack.end(answer) == nil)
    }

    @Test("what is no refresh token of ours is refused by kind, and asks for a sign-in")
    func foreign() async throws {
        let answer = try await stack.exchange()
        let good = try answer.refreshToken
        let session = try stack.session(answer)
        let parts = good.split(separator: ".").map(String.init)
        let claims = try DecodedToken(good).claims
        func forged(
            _ change: (inout JSONObject) -> Void = { _ in }, type: String = "rt+jwt",
            by key: SigningKey = FixedKeys.refresh, kid: String? = nil
        ) throws -> String {
            var claims = claims
            change(&claims)
            return try signed(claims, type: type, by: key, kid: kid)
        }
        let cases: [(String, String, RefusalReason)] = [
            ("nothing", "", .tokenMalformed), ("no JWS", "abc", .tokenMalformed),
            ("two parts", parts[0] + "." + parts[1], .tokenMalformed),
            ("cut", String(good.dropLast(10)), .tokenForeign),
            ("claims of another", "\(parts[0]).\(parts[1].dropLast(1))A.\(parts[2])", .tokenForeign),
            ("an access token", answer.accessToken, .tokenForeign),
            ("another type", try forged(type: "at+jwt"), .tokenMalformed),
            ("a foreign key", try forged(by: FixedKeys.foreign), .tokenForeign),
            ("a foreign key under our kid", try forged(by: FixedKeys.foreign, kid: session.current.kid), .tokenForeign),
            ("another issuer", try forged { $0["iss"] = "https://other.example.com" }, .tokenForeign),
            ("another audience", try forged { $0["aud"] = "https://auth.example.com" }, .tokenForeign),
            ("no sid", try forged { $0["sid"] = nil }, .tokenMalformed),
            ("sid is no id", try forged { $0["sid"] = "1" }, .tokenMalformed),
            ("gen 0", try forged { $0["gen"] = 0 }, .tokenMalformed),
            ("gen is a text", try forged { $0["gen"] = "1" }, .tokenMalformed),
            ("gen is the largest", try forged { $0["gen"] = .integer(.max) }, .tokenMalformed),
            ("another user", try forged { $0["sub"] = "bob" }, .tokenForeign),
        ]
        for (title, token, reason) in cases {
            let verdict = try await refused(token)
            #expect(verdict.reason == reason, "\(title)")
            #expect(verdict.action == .reauth, "\(title)")
            #expect(verdict.proof == nil, "\(title)")
        }
        #expect(try stack.generation(answer) == 1)
        #expect(try stack.end(answer) == nil)
    }

    @Test("a leaked refresh key mints nothing: the jti is derived from a secret that is not in the token")
    func derivedTokenID() async throws {
        let answer = try await stack.exchange()
        for generation in Int64(1)...3 {
            var claims = try DecodedToken(answer.refreshToken).claims
            claims["gen"] = .integer(generation)
            if generation == 1 { claims["jti"] = "AAAAAAAAAAAAAAAAAAAAAA" }
            let verdict = try await refused(try signed(claims, type: "rt+jwt", by: FixedKeys.refresh, kid: nil))
            #expect(verdict.reason == .tokenForeign)
        }
        #expect(try stack.generation(answer) == 1)
        #expect(try stack.end(answer) == nil)
    }

    @Test("a well signed token of a session that we do not know is session_unknown")
    func unknownSession() async throws {
        let answer = try await stack.exchange()
        var claims = try DecodedToken(answer.refreshToken).claims
        claims["sid"] = "00000000-0000-4000-8000-000000000000"
        let verdict = try await refused(try signed(claims, type: "rt+jwt", by: FixedKeys.refresh, kid: nil))
        #expect(verdict.reason == .sessionUnknown)
        #expect(verdict.action == .reauth)
    }

    @Test("a clock that was set back by a day signs nobody out")
    func clockSetBack() async throws {
        let answer = try await stack.exchange()
        stack.clock.advance(by: .hours(-23))
        _ = try await stack.refresh(try answer.refreshToken)
    }

    @Test("an unknown kid is looked up before it is refused")
    func unknownKid() async throws {
        let answer = try await stack.exchange()
        let moved = FixedKeys.ring([
            FixedKeys.pair(.access, .current, FixedKeys.signing),
            FixedKeys.pair(.refresh, .current, FixedKeys.nextRefresh),
            FixedKeys.pair(.verdict, .current, FixedKeys.verdict),
        ])
        stack.keys.set(moved)
        stack.keys.setStored(FixedKeys.keyring)
        _ = try await stack.refresh(try answer.refreshToken)
        #expect(stack.keys.reloads == 1)

        let foreign = try signed(
            try DecodedToken(answer.refreshToken).claims, type: "rt+jwt", by: FixedKeys.foreign, kid: nil)
        #expect(try await refused(foreign).reason == .tokenForeign)
        #expect(stack.keys.reloads == 2)

        stack.faults.fail(before: .reloadKeys, .dependency)
        let unavailable = await failure { () async throws(AuthFailure) in try await stack.refresh(foreign) }
        #expect(unavailable == .unavailable(.dependency))
    }

    @Test("a secret that our key-encryption keys do not open is our fault: 503, no verdict")
    func lostKEK() async throws {
        let answer = try await stack.exchange()
        let service = TokenService(
            policy: stack.policy, store: stack.store, identities: stack.store, keys: stack.keys, signer: stack.signer,
            sealing: FixedKeys.sealing(0x11), sessionTokens: SessionTokenReader(secrets: [], allowsUnsigned: false),
            lookup: .plain, clock: stack.clock, random: stack.random)
        let found = await failure { () async throws(AuthFailure) in
            try await service.refresh(.init(token: answer.refresh?.token ?? "", key: nil, options: .init()))
        }
        #expect(found == .unavailable(.misconfigured))
        #expect(try stack.generation(answer) == 1)
    }

    private func signed(
        _ claims: JSONObject, type: String, by key: SigningKey, kid: String?
    ) throws -> String {
        let header = JWTHeader(type: type, kid: kid ?? JWK(key.publicKey).kid)
        let input = JWS.signingInput(header: header.json, claims: claims)
        return JWS.compact(signingInput: input, signature: try key.sign(input))
    }
}
