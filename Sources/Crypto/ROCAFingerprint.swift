/// The mark of RSA keys made by Infineon's faulty generator, whose factors can be computed.
///
/// Both primes of such a key are powers of 65537 modulo a product of small primes, and so is the modulus: it lies in
/// the subgroup that 65537 spans modulo each of them. A sound key does so by chance once in 2^27 for these primes.
///
/// Source: CVE-2017-15361; Nemec et al., "The Return of Coppersmith's Attack", 2017, section 2.
enum ROCAFingerprint {
    private static let primes = [
        3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109,
        113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
    ]

    static func matches(_ modulus: [UInt8]) -> Bool {
        primes.allSatisfy { prime in
            let remainder = modulus.reduce(0) { ($0 * 256 + Int($1)) % prime }
            return isPower(remainder, of: 65537 % prime, modulo: prime)
        }
    }

    private static func isPower(_ number: Int, of base: Int, modulo prime: Int) -> Bool {
        var power = 1
        repeat {
            if power == number { return true }
            power = power * base % prime
        } while power != 1
        return false
    }
}
