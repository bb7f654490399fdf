/// What a document may cost before it is refused.
package struct JSONLimits: Sendable {
    /// Bytes of the whole text.
    package var bytesMax: Int
    /// Arrays and objects around one value; a bare array of numbers has depth 1.
    package var depthMax: Int

    package init(bytesMax: Int, depthMax: Int) {
        self.bytesMax = bytesMax
        self.depthMax = depthMax
    }

    /// 1 MiB: the largest documents we read are key sets of other servers, seen up to some hundred KiB. Depth 32: the
    /// parser calls itself per level, and no document we know goes past 6.
    package static let standard = JSONLimits(bytesMax: 1_048_576, depthMax: 32)
}

/// An object of more members than this looks for repeated names in a hash set instead of a scan.
let scannedMembersMax = 16
