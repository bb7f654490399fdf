/// Why a text was refused. It holds none of the text.
package enum JSONError: Error, Equatable, Sendable {
    /// Not JSON, or JSON with what we refuse (byte order mark, lone surrogates); `offset` counts bytes from 0.
    case malformed(offset: Int)
    /// Two members of one object have the same name once escapes are decoded.
    case duplicateMember
    case tooDeep
    case tooLarge
}
