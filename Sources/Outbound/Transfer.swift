import CCurl
import Primitives

/// One GET under way: the handle, and what has come so far.
final class Transfer {
    typealias Result = Swift.Result<OutboundResponse, OutboundError>

    // SAFETY: the handle is this object's alone, freed in `finish` or `deinit`; libcurl writes into this object only
    // while the fetcher, which keeps it, drives the handle.
    let easy: UnsafeMutableRawPointer
    var onEnd: ((Result) -> Void)?
    private var fields: [(name: String, value: String)] = []
    private var fieldBytes = 0
    private var body: [UInt8] = []
    private var isTooLarge = false
    private var requestFields: UnsafeMutablePointer<curl_slist>?

    init?(_ address: OutboundAddress, accept: String, authorities: String?) {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        requestFields = curl_slist_append(nil, "Accept: \(accept)")
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_NOSIGNAL, 1), (CURLOPT_FOLLOWLOCATION, 0),
            (CURLOPT_CONNECTTIMEOUT_MS, Int(Limits.connect.wholeMilliseconds)),
            (CURLOPT_TIMEOUT_MS, Int(Limits.total.wholeMilliseconds)),
        ]
        var texts: [(CURLoption, String)] = [
            (CURLOPT_URL, address.description), (CURLOPT_PROTOCOLS_STR, address.isSecure ? "https" : "http"),
            // The environment names no proxy for us: it is read in one place, and that is not libcurl.
            (CURLOPT_PROXY, ""), (CURLOPT_USERAGENT, "sallyport"),
        ]
        if let authorities { texts.append((CURLOPT_CAINFO, authorities)) }
        let isSet =
            numbers.allSatisfy { sallyport_curl_set_number(easy, $0.0, $0.1) == 1 }
            && texts.allSatisfy { sallyport_curl_set_text(easy, $0.0, $0.1) == 1 }
            && sallyport_curl_set_list(easy, CURLOPT_HTTPHEADER, requestFields) == 1
            && sallyport_curl_set_receivers(
                easy, Self.onField, Self.onBody, Unmanaged.passUnretained(self).toOpaque()) == 1
        // A check that could not be set must not be left out.
        guard isSet else { return nil }
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(requestFields)
    }

    func finish(_ code: Int32) {
        guard let onEnd else { return }
        self.onEnd = nil
        if isTooLarge { return onEnd(.failure(.tooLarge)) }
        if let error = Self.error(code) { return onEnd(.failure(error)) }
        onEnd(
            .success(
                OutboundResponse(
                    status: sallyport_curl_status(easy), fields: fields, body: body,
                    duration: .microseconds(sallyport_curl_duration(easy)))))
    }

    private static func error(_ code: Int32) -> OutboundError? {
        if code < 0 { return .failed(code: code) }
        switch CURLcode(rawValue: UInt32(code)) {
        case CURLE_OK: return nil
        case CURLE_COULDNT_RESOLVE_HOST: return .nameUnknown
        case CURLE_COULDNT_CONNECT: return .unreachable
        case CURLE_OPERATION_TIMEDOUT: return .timedOut
        case CURLE_PEER_FAILED_VERIFICATION: return .certificateRefused
        case CURLE_SSL_CACERT_BADFILE: return .authoritiesMissing
        case CURLE_SSL_CONNECT_ERROR: return .tlsFailed
        default: return .failed(code: code)
        }
    }

    /// One line of the head; a status line begins a new answer (an interim 1xx came before).
    private func takeField(_ line: UnsafeRawBufferPointer) -> Int {
        fieldBytes += line.count
        guard fieldBytes <= Limits.fieldBytesMax else {
            isTooLarge = true
            return 0
        }
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("HTTP/") {
            fields = []
        } else if let colon = text.firstIndex(of: ":") {
            let value = text[text.index(after: colon)...].drop(while: \.isWhitespace)
            let end = value.lastIndex { !$0.isWhitespace }.map { value.index(after: $0) } ?? value.startIndex
            fields.append((String(text[..<colon]), String(value[..<end])))
        }
        return line.count
    }

    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard body.count + bytes.count <= Limits.bodyBytesMax else {
            isTooLarge = true
            return 0
        }
        body.append(contentsOf: bytes)
        return bytes.count
    }

    private static let onField: curl_write_callback = { bytes, size, count, context in
        guard let context else { return 0 }
        let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().takeField(line)
    }

    private static let onBody: curl_write_callback = { bytes, size, count, context in
        guard let context else { return 0 }
        let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().takeBody(part)
    }
}
