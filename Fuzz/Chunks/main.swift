import FuzzSupport

private let head = Array("POST /a HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)

fuzz { bytes in
    judge(head + bytes)
}
