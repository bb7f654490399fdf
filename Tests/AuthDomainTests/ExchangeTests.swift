import AuthDomain
import AuthTesting
import JOSE
import JSON
import Primitives
import Testing

@Suite("Exchange")
struct ExchangeTests {
    private let stack = TokenStack()

    private func refused(
        _ name: String = "ada", installation: String? = TokenStack.installation,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Refusal {
        try await refusal(
            { () async throws(AuthFailure) in try await stack.exchange(name, installation: installation) },
            sourceLocation: sourceLocation)
    }

    @Test("a session with a device starts a device session; the answer says all of it")
    func answer() async throws {
        let answer = try await stack.exchange()
        let now = stack.clock.now()
        let refresh = try #require(answer.refresh)
        #expect(answer.accessExpiresAt == now + .minutes(30))
        #expect(refresh.expiresAt == now + .days(30))
        #expect(refresh.sessionExpiresAt == now + .days(90))
        #expect(!refresh.isReauthSoon)
        #expect(refresh.offline.readUntil == refresh.expiresAt)
        #expect(refresh.offline.writeUntil == now + .days(7))
        #expect(answer.scopes == ScopeSet(["api", "sync"]))
        #expect(answer.now == now)
        #expect(answer.verdictKey.kid == FixedKeys.keyring.verdict.kid)
        let session = try stack.session(answer)
        #expect(session.deviceID == answer.deviceID)
        #expect(session.identitySessionID == "s-ada")
        #expect(session.rotation.generation == 1)

        let token = try DecodedToken(answer.accessToken)
        #expect(token.header["typ"] == "at+jwt")
        #expect(token.header["kid"] == .string(FixedKeys.keyring.signing.kid))
        #expect(
            token.claims.names == [
                "iss", "sub", "aud", "iat", "exp", "jti", "client_id", "scope", "sid", "device_id", "email_verified",
                "auth_time", "amr",
            ])
        #expect(token.claims["sub"] == "ada")
        #expect(token.claims["client_id"] == "app")
        #expect(token.claims["sid"] == .string(answer.sessionID))
        #expect(token.claims["email_verified"] == true)
        #expect(token.claims["amr"] == ["session"])
    }

    @Test("without a device there is an access token only, without device_id")
    func withoutDevice() async throws {
        let answer = try await stack.exchange(installation: nil)
        #expect(answer.refresh == nil)
        #expect(answer.deviceID == nil)
        #expect(answer.sessionID.hasPrefix("s_"))
        #expect(!answer.sessionID.contains("ada"))
        #expect(try DecodedToken(answer.accessToken).claims["device_id"] == nil)
        #expect(stack.store.deviceSessions(of: "ada").isEmpty)
        #expect(try await stack.accessToken().sessionID == answer.sessionID)
    }

    @Test("the same installation is the same device, and each exchange a device session of its own")
    func sameInstallation() async throws {
        let first = try await stack.exchange()
        stack.putSession("again", of: "ada")
        let second = try await stack.exchange("again")
        #expect(first.deviceID == second.deviceID)
        #expect(first.sessionID != second.sessionID)
        #expect(try await stack.exchange(installation: "installation-0000-0002").deviceID != first.deviceID)
        #expect(try stack.end(first) == nil)
    }

    @Test("the same installation of another user is another device, and the old one's pushes end")
    func anotherUser() async throws {
        let push = "push-token-of-this-phone"
        let first = try await stack.exchange(push: push)
        stack.signIn("bob")
        let second = try await stack.exchange("bob")
        let (ada, bob) = (try #require(first.deviceID), try #require(second.deviceID))
        #expect(ada != bob)
        #expect(stack.store.pushToken(of: ada) == nil)
        #expect(stack.store.pushToken(of: bob) == nil)
        #expect(try stack.end(first) == nil)

        _ = try await stack.exchange("bob", push: push)
        #expect(stack.store.pushToken(of: bob) == push)
        _ = try await stack.exchange(installation: "installation-0000-0002", push: push)
        #expect(stack.store.pushToken(of: bob) == nil)
    }

    @Test("the eleventh live device session of a device ends the longest unused one, as superseded")
    func superseded() async throws {
        var answers: [TokenAnswer] = []
        for _ in 0..<Limits.liveSessionsPerDevice {
            answers.append(try await stack.exchange())
            stack.clock.advance(by: .minutes(1))
        }
        answers[0] = try await stack.refresh(try answers[0].refreshToken)
        stack.clock.advance(by: .minutes(1))
        let elsewhere = try await stack.exchange(installation: "installation-0000-0002")
        _ = try await stack.exchange()
        #expect(try answers.map { try stack.end($0) } == [nil, .superseded] + Array(repeating: nil, count: 8))
        #expect(try stack.end(elsewhere) == nil)
        let verdict = try await refusal { () async throws(AuthFailure) in
            try await stack.refresh(answers[1].refresh?.token ?? "")
        }
        #expect(verdict.reason == .superseded)
        #expect(verdict.action == .lock)
    }

    @Test(
        "what the identity store says of the session is the verdict",
        arguments: [
            ("unknown", RefusalReason.sessionUnknown, ClientAction.reauth), ("gone", .sessionRevoked, .lock),
            ("gone, never presented", .sessionUnknown, .reauth), ("run out", .sessionExpired, .lock),
            ("moved back", .sessionRevoked, .lock), ("banned", .userBanned, .lock), ("no user", .accountDeleted, .lock),
        ])
    func verdicts(situation: String, reason: RefusalReason, action: ClientAction) async throws {
        if situation != "gone, never presented" { _ = try await stack.exchange(installation: nil) }
        switch situation {
        case "gone", "gone, never presented": stack.store.removeSession(column: "token-of-ada")
        case "run out": stack.clock.advance(by: .days(7))
        case "moved back":
            stack.putSession("ada", of: "ada", createdAt: stack.clock.now() - .days(1), expiresIn: .seconds(-1))
        case "banned": stack.store.putUser("ada", ban: .init(until: nil))
        case "no user": stack.store.removeUser("ada")
        default: break
        }
        for installation in [TokenStack.installation, nil] {
            let verdict = try await refused(situation == "unknown" ? "nobody" : "ada", installation: installation)
            #expect(verdict.reason == reason)
            #expect(verdict.action == action)
            #expect((verdict.proof != nil) == (action == .lock))
        }
    }

    @Test("a passive expiry of the sign-in does not end the device session that it began")
    func passiveExpiry() async throws {
        let answer = try await stack.exchange()
        stack.clock.advance(by: .days(20))
        #expect(try await refused().reason == .sessionExpired)
        _ = try await stack.refresh(try answer.refreshToken)
    }

    @Test("a token by no secret of ours is foreign, one that is no token malformed")
    func credentials() async throws {
        func found(_ token: String) async throws -> RefusalReason {
            try await refusal { () async throws(AuthFailure) in
                try await stack.service.exchange(.init(token: token, device: nil, push: nil, options: .init()))
            }.reason
        }
        let good = stack.token(of: "ada")
        #expect(try await found("token-of-bob" + good.dropFirst("token-of-ada".count)) == .tokenForeign)
        #expect(try await found("token-of-ada") == .tokenMalformed)
        #expect(try await found("") == .tokenMalformed)
        #expect(stack.faults.calls.allSatisfy { $0 == .sign })
    }

    @Test("an impersonation gets a short access token with act, and never a device session")
    func impersonation() async throws {
        stack.putSession("helped", of: "ada", impersonatedBy: "admin")
        for answer in [try await stack.exchange("helped"), try await stack.accessToken("helped", installation: "x")] {
            #expect(answer.refresh == nil)
            #expect(answer.deviceID == nil)
            #expect(answer.accessExpiresAt == stack.clock.now() + .seconds(300))
            let claims = try DecodedToken(answer.accessToken).claims
            #expect(claims["act"] == ["sub": "admin"])
            #expect(claims["sub"] == "ada")
        }
        #expect(stack.store.deviceSessions(of: "ada").isEmpty)
    }

    @Test("scopes beyond the configured ones are refused, and nothing is written")
    func scopes() async throws {
        let found = await failure { () async throws(AuthFailure) in
            try await stack.exchange(scopes: ScopeSet(["api", "admin"]))
        }
        #expect(found == .invalid(.scopeInvalid))
        #expect(stack.store.deviceSessions(of: "ada").isEmpty)
    }

    @Test("a device that another exchange registers first is found, not made twice")
    func registrationRace() async throws {
        let other = Locked<TokenAnswer?>(nil)
        stack.faults.once(before: .register) { [stack] in
            let answer = try? await stack.exchange()
            other.withLock { $0 = answer }
        }
        let answer = try await stack.exchange()
        #expect(try #require(other.withLock { $0 }).deviceID == answer.deviceID)
        #expect(stack.store.deviceSessions(of: "ada").count == 2)
        let caller = try await stack.gate.authenticate(answer.accessToken)
        #expect(try await stack.devices.devices(caller).count == 1)
    }

    @Test("a sign-out between read and write of an exchange wins")
    func signOutRace() async throws {
        let first = try await stack.accessToken()
        stack.faults.once(before: .register) { [stack] in
            try? await stack.store.endIdentitySession(
                accessSID: first.sessionID, reason: .signedOut, at: stack.clock.now())
        }
        #expect(try await refused().reason == .signedOut)
        #expect(stack.store.deviceSessions(of: "ada").isEmpty)
    }

    @Test("a device whose row changes at every try is busy after a bounded number of them")
    func contention() async throws {
        let device = try #require(try await stack.exchange().deviceID)
        for _ in 0..<20 {
            stack.faults.once(before: .register) { [stack] in
                stack.store.setStatus(.suspended, of: device, at: stack.clock.now())
            }
            stack.faults.once(after: .register) { [stack] in
                stack.store.setStatus(.active, of: device, at: stack.clock.now())
            }
        }
        stack.putSession("again", of: "ada")
        let found = await failure { () async throws(AuthFailure) in try await stack.exchange("again") }
        #expect(found == .unavailable(.busy))
        #expect(stack.store.deviceSessions(of: "ada").count == 1)
    }
}
