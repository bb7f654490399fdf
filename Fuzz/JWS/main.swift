import FuzzSupport
import JOSE
import Primitives

fuzz { bytes in
    let text = String(decoding: bytes, as: UTF8.self)
    guard let token = try? UnverifiedJWS(text) else { return }
    let written = String(decoding: token.signingInput, as: UTF8.self) + "." + Base64URL.encode(token.signature)
    hold(written.utf8.elementsEqual(text.utf8), "the parts, written again, are the text")
    hold((try? token.verifySignature { _ in nil }) == nil, "without a key of ours nothing is proved")
    hold("\(token)" == "[token]", "a token does not show itself")
}
