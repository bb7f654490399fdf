import JSON
import Primitives

/// Bytes of a compact JWS. Ours stay below 4 KiB with the operator's claims at their limit, those of Apple and Google
/// below 2 KiB.
let tokenBytesMax = 16_384

/// Bytes of a `kid`; ours have 43.
let keyIDBytesMax = 256

/// Header and claims; the bytes are limited by the token's own.
let tokenJSONLimits = JSONLimits(bytesMax: tokenBytesMax, depthMax: 32)

/// 256 KiB hold some 500 keys; Apple and Google publish under ten.
let keySetJSONLimits = JSONLimits(bytesMax: 262_144, depthMax: 16)

/// 9999-12-31T23:59:59Z: a larger NumericDate is a mistake of unit or an attack on the arithmetic.
let numericDateMax: Int64 = 253_402_300_799

extension Duration {
    /// How far the clocks of two honest servers may be apart; PowerSync allows the same.
    package static var tokenLeeway: Duration { .seconds(60) }
}
