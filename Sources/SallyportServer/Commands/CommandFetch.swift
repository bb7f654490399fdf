import Outbound
import Reactor

/// One GET, for a command that waits for it.
enum CommandFetch {
    static func get(_ address: OutboundAddress) -> Result<OutboundResponse, OutboundError> {
        guard let loop = try? EventLoop(name: "fetch") else { return .failure(.failed(code: -1)) }
        loop.start()
        let result = loop.runBlocking { () async -> Result<OutboundResponse, OutboundError> in
            guard let fetcher = HTTPFetcher(on: loop) else { return .failure(.failed(code: -1)) }
            defer { fetcher.close() }
            do throws(OutboundError) { return .success(try await fetcher.get(address)) } catch {
                return .failure(error)
            }
        }
        loop.stop()
        loop.join()
        return result
    }
}
