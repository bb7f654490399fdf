import FaultRun
import Foundation

// sallyport-faults [--seconds N] [--seed N] [--keep] [PATH OF SALLYPORT]
// Exit status: 0 no violation and every fault has struck, 1 otherwise, 2 a bad call.

func giveUp(_ text: String) -> Never {
    FileHandle.standardError.write(Data((text + "\n").utf8))
    exit(2)
}

var seconds = 120.0
var seed = UInt64.random(in: 0...999_999)
var isKept = false
var program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "sallyport").path
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "--keep": isKept = true
    case "--seconds":
        guard let value = arguments.popFirst().flatMap({ Double($0) }), (30...600).contains(value) else {
            giveUp("--seconds takes a number from 30 to 600")
        }
        seconds = value
    case "--seed":
        guard let value = arguments.popFirst().flatMap({ UInt64($0) }) else { giveUp("--seed takes a number") }
        seed = value
    case _ where !argument.hasPrefix("-"): program = argument
    default: giveUp("usage: sallyport-faults [--seconds 120|30] [--seed N] [--keep] [PATH OF SALLYPORT]")
    }
}

func abandon(_ text: String) -> Never {
    FaultWorld.closeCurrent()
    giveUp(text)
}

// Bounded whatever hangs.
let limit = seconds * 2 + 90
Thread.detachNewThread {
    Thread.sleep(forTimeInterval: limit)
    abandon("the run did not end within \(limit) s")
}
let interruptions = [SIGINT, SIGTERM].map { number in
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler { abandon("interrupted") }
    source.resume()
    return source
}

do {
    defer { withExtendedLifetime(interruptions) {} }
    let isShort = seconds < 60
    let run = FaultRun(isShort ? .short : .long(seconds: seconds), seed: seed, program: program)
    let report = try run.run { FileHandle.standardError.write(Data("\($0)\n".utf8)) }
    let violations = (isShort ? RotationChecker.relaxed : RotationChecker()).violations(in: report.history)
    print(report.table)
    for name in report.idleFaults { print("\(name) did not strike: the run says nothing") }
    for violation in violations.prefix(40) { print(violation) }
    print("\(violations.count) violations")
    if isKept {
        let path = "/tmp/sallyport-faults-\(seed).jsonl"
        try report.history.lines.write(toFile: path, atomically: true, encoding: .utf8)
        print("history: \(path)")
    }
    exit(violations.isEmpty && report.idleFaults.isEmpty ? 0 : 1)
} catch {
    giveUp("the run could not be made: \(error)")
}
