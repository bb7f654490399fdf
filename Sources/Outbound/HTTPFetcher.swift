import CCurl
import Glibc
import Primitives
package import Reactor

/// GET by libcurl's multi interface on an event loop: HTTPS by the machine's authorities, no redirect followed, no proxy,
/// nothing kept on disk, and every transfer bounded in time and size.
///
/// Bound to its loop. `close` ends what is under way.
package final class HTTPFetcher {
    // SAFETY: libcurl calls back on the loop's thread alone, from inside `curl_multi_socket_action`, and holds this
    // object unretained: `close`, which the owner must call, takes the callbacks away before it goes.
    private let loop: EventLoop
    private let multi: UnsafeMutableRawPointer
    private let authorities: String?
    private var watchers: [Int32: Watcher] = [:]
    private var timer: LoopTimer?
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
    private var isClosed = false

    /// - Parameter authorities: a PEM file in the place of the machine's own authorities.
    package init?(on loop: EventLoop, authorities: String? = nil) {
        guard Self.isLibraryReady, let multi = curl_multi_init() else { return nil }
        self.loop = loop
        self.multi = multi
        self.authorities = authorities
        let context = Unmanaged.passUnretained(self).toOpaque()
        guard sallyport_curl_set_drivers(multi, Self.onSocket, Self.onTimer, context) == 1 else {
            curl_multi_cleanup(multi)
            return nil
        }
    }

    /// Once per process, before the first use.
    private static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    package func get(
        _ address: OutboundAddress, accept: String = "application/json"
    ) async throws(OutboundError) -> OutboundResponse {
        guard !isClosed, let transfer = Transfer(address, accept: accept, authorities: authorities) else {
            throw .failed(code: -1)
        }
        let result = await withUnsafeContinuation { (continuation: UnsafeContinuation<Transfer.Result, Never>) in
            transfer.onEnd = { continuation.resume(returning: $0) }
            transfers[transfer.easy] = transfer
            guard curl_multi_add_handle(multi, transfer.easy) == CURLM_OK else { return end(transfer.easy, -1) }
        }
        return try result.get()
    }

    /// Idempotent.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        for easy in Array(transfers.keys) { end(easy, -1) }
        timer?.cancel()
        curl_multi_cleanup(multi)
        for watcher in watchers.values { watcher.close() }
        watchers = [:]
    }

    private func end(_ easy: UnsafeMutableRawPointer, _ code: Int32) {
        guard let transfer = transfers.removeValue(forKey: easy) else { return }
        curl_multi_remove_handle(multi, easy)
        transfer.finish(code)
    }

    /// Lets libcurl go on, and ends what has ended.
    private func act(_ descriptor: Int32, _ news: Int32) {
        guard !isClosed else { return }
        var running: Int32 = 0
        curl_multi_socket_action(multi, descriptor, news, &running)
        var code = CURLE_OK
        while let easy = sallyport_curl_next_ended(multi, &code) { end(easy, Int32(code.rawValue)) }
    }

    private func watch(_ descriptor: Int32, _ what: Int32) {
        if what == CURL_POLL_REMOVE {
            watchers.removeValue(forKey: descriptor)?.close()
            return
        }
        var interest: Interest = []
        if what & CURL_POLL_IN != 0 { interest.insert(.read) }
        if what & CURL_POLL_OUT != 0 { interest.insert(.write) }
        if let watcher = watchers[descriptor] { return watcher.update(interest) }
        watchers[descriptor] = try? loop.watch(descriptor, interest) { [weak self] readiness in
            var news: Int32 = 0
            if readiness.contains(.readable) { news |= CURL_CSELECT_IN }
            if readiness.contains(.writable) { news |= CURL_CSELECT_OUT }
            if readiness.contains(.hangUp) { news |= CURL_CSELECT_ERR }
            self?.act(descriptor, news)
        }
    }

    private func wait(_ milliseconds: Int) {
        timer?.cancel()
        timer = nil
        guard milliseconds >= 0 else { return }
        timer = loop.schedule(after: .milliseconds(milliseconds)) { [weak self] in self?.act(-1, 0) }
    }

    private static let onSocket: curl_socket_callback = { _, descriptor, what, context, _ in
        if let context { Unmanaged<HTTPFetcher>.fromOpaque(context).takeUnretainedValue().watch(descriptor, what) }
        return 0
    }

    private static let onTimer: curl_multi_timer_callback = { _, milliseconds, context in
        if let context { Unmanaged<HTTPFetcher>.fromOpaque(context).takeUnretainedValue().wait(milliseconds) }
        return 0
    }
}
