import AuthDomain
import AuthTesting
import JSON
import Primitives
import Testing

@Suite("Refresh: races")
struct RefreshRaceTests {
    private let stack = TokenStack()

    @Test(
        "two refreshes that read the same row both get the same successor",
        arguments: [
            [nil, nil], ["key-0000000000000001", "key-0000000000000001"],
            ["key-0000000000000001", "key-0000000000000002"],
            [nil, "key-0000000000000002"], ["key-0000000000000001", nil],
        ] as [[String?]])
    func lostSwap(keys: [String?]) async throws {
        let first = try await stack.exchange()
        let token = try first.refreshToken
        let winner = Locked<TokenAnswer?>(nil)
        stack.faults.once(before: .rotate) { [stack] in
            let answer = try? await stack.refresh(token, key: keys[0])
            winner.withLock { $0 = answer }
        }
        let loser = try await stack.refresh(token, key: keys[1])
        let won = try #require(winner.withLock { $0 })
        #expect(try loser.refreshToken == won.refreshToken)
        #expect(loser.accessToken != won.accessToken)
        #expect(try stack.generation(first) == 2)
        #expect(try stack.end(first) == nil)
        _ = try await stack.refresh(try loser.refreshToken)
    }

    @Test("64 refreshes at once, each overtaken at its write, get one successor and one generation")
    func many() async throws {
        let first = try await stack.exchange()
        let token = try first.refreshToken
        let answers = try await withThrowingTaskGroup(of: String.self) { [stack] group in
            for _ in 0..<64 { group.addTask { try await stack.refresh(token).refreshToken } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(answers.count == 1)
        #expect(try stack.generation(first) == 2)
    }

    @Test("a sign-out between read and write wins: no token, its reason")
    func signOut() async throws {
        let first = try await stack.exchange()
        let session = try stack.session(first)
        stack.faults.once(before: .rotate) { [stack] in
            stack.store.end(session.id, reason: .signedOut, at: stack.clock.now())
        }
        let verdict = try await refusal { () async throws(AuthFailure) in
            try await stack.refresh(first.refresh?.token ?? "")
        }
        #expect(verdict.reason == .signedOut)
        #expect(try stack.generation(first) == 1)
    }

    @Test("a revocation between read and write wins, and wipes")
    func revocation() async throws {
        let first = try await stack.exchange()
        let device = try #require(first.deviceID)
        stack.faults.once(before: .rotate) { [stack] in
            stack.store.setStatus(.revoked, of: device, at: stack.clock.now())
        }
        let verdict = try await refusal { () async throws(AuthFailure) in
            try await stack.refresh(first.refresh?.token ?? "")
        }
        #expect(verdict.reason == .deviceRevoked)
        #expect(verdict.action == .wipe)
    }

    @Test("a reuse verdict is decided anew when the row moved: a rotation just before it does not end the session")
    func reuseOvertaken() async throws {
        let first = try await stack.exchange()
        let token = try first.refreshToken
        let second = try await stack.refresh(token, key: "key-0000000000000001")
        stack.clock.advance(by: .minutes(1))
        let successor = try second.refreshToken
        stack.faults.once(before: .endSession) { [stack] in _ = try? await stack.refresh(successor) }
        // One behind without its key: reuse. After the other rotation it is two behind within the window: a race.
        let third = try await stack.refresh(token)
        #expect(try stack.generation(first) == 3)
        #expect(try stack.end(first) == nil)
        _ = try await stack.refresh(try third.refreshToken)
    }

    @Test("a row that changes at every try is busy after a bounded number of them, and the client may try again")
    func contention() async throws {
        let first = try await stack.exchange()
        let session = try stack.session(first)
        for generation in Int64(2)...60 {
            stack.faults.once(before: .rotate) { [stack] in
                // Never the generation that was read, and never behind the one presented.
                stack.store.restore(session.with(generation: generation % 2 == 0 ? 0 : 1))
            }
        }
        let found = await failure { () async throws(AuthFailure) in
            try await stack.refresh(first.refresh?.token ?? "")
        }
        #expect(found == .unavailable(.busy))
        #expect(stack.faults.calls.filter { $0 == .rotate }.count == Limits.rotationTriesMax)
        stack.faults.reset()
        stack.store.restore(session)
        _ = try await stack.refresh(try first.refreshToken)
    }

    @Test("a lost acknowledgement of the write is no special case: the retry gets what was written")
    func lostAcknowledgement() async throws {
        let first = try await stack.exchange()
        let token = try first.refreshToken
        stack.faults.fail(after: .rotate, .dependency)
        let found = await failure { () async throws(AuthFailure) in try await stack.refresh(token) }
        #expect(found == .unavailable(.dependency))
        stack.faults.reset()
        let retried = try await stack.refresh(token)
        #expect(try stack.generation(first) == 2)
        #expect(try DecodedToken(retried.refreshToken).claims["gen"] == 2)
    }
}

extension DeviceSession {
    fileprivate func with(generation: Int64) -> DeviceSession {
        DeviceSession(
            id: id, userID: userID, deviceID: deviceID, deviceStatus: deviceStatus, clientID: clientID, scopes: scopes,
            identitySessionID: identitySessionID, authTime: authTime, amr: amr, wasVerified: wasVerified,
            createdAt: createdAt, rotation: rotation,
            current: IssuedRefresh(
                generation: generation, kid: current.kid, issuedAt: current.issuedAt, expiresAt: current.expiresAt),
            sealedSecret: sealedSecret)
    }
}
