import Glibc

/// Hands libFuzzer the target and runs it with the arguments of the process.
package func fuzz(_ target: @escaping ([UInt8]) -> Void) -> Never {
    current = target
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> = CommandLine.unsafeArgv
    exit(
        runDriver(&count, &arguments) { bytes, count in
            current(Array(UnsafeBufferPointer(start: bytes, count: count)))
            return 0
        })
}

/// Ends the process, which libFuzzer reports with the input, when a fact does not hold.
package func hold(_ isTrue: Bool, _ fact: StaticString) {
    guard !isTrue else { return }
    let line = Array("broken: \(fact)\n".utf8)
    write(STDERR_FILENO, line, line.count)
    abort()
}

// SAFETY: set once before the driver starts; libFuzzer calls from the one thread of the process.
nonisolated(unsafe) private var current: ([UInt8]) -> Void = { _ in }

/// libFuzzer's own entry, for programs with a `main` of their own: the package manager renames ours.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ target: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32
