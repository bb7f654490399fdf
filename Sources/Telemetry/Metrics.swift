import Primitives
import Synchronization

/// Counters and histograms of the process, and their text for Prometheus.
///
/// Names and label values come from closed lists of ours: no id, token or text of a client is ever a label.
package final class Metrics: Sendable {
    package struct Name: Hashable, Sendable {
        let text: String
        let help: String

        package init(_ text: StaticString, help: StaticString) {
            self.text = text.description
            self.help = help.description
        }
    }

    /// Label names and values, in the order that they are written.
    package typealias Labels = [(name: StaticString, value: String)]

    /// One series that counts up. Adding is one atomic addition.
    package final class Counter: Sendable {
        private let total = Atomic<UInt64>(0)

        package func add(_ count: UInt64 = 1) {
            total.wrappingAdd(count, ordering: .relaxed)
        }

        fileprivate var value: UInt64 { total.load(ordering: .relaxed) }
    }

    /// One series of durations in the buckets of `Limits.latencyBuckets`.
    package final class Histogram: Sendable {
        fileprivate struct State {
            var counts = [UInt64](repeating: 0, count: Limits.latencyBuckets.count)
            var sum = 0.0
            var count: UInt64 = 0
        }

        private let state = Locked(State())

        package func observe(_ duration: Duration) {
            let seconds = Double(duration.wholeMicroseconds) / 1e6
            state.withLock { state in
                // Each bucket holds all that is not above its bound.
                for index in state.counts.indices.reversed() {
                    guard seconds <= Limits.latencyBuckets[index] else { break }
                    state.counts[index] += 1
                }
                state.sum += seconds
                state.count += 1
            }
        }

        fileprivate var value: State { state.withLock { $0 } }
    }

    private struct Series: Hashable {
        let name: String
        let labels: String
    }

    private struct State {
        var help: [String: (kind: String, text: String)] = [:]
        var counters: [Series: Counter] = [:]
        var histograms: [Series: Histogram] = [:]
    }

    private let state = Locked(State())

    package init() {}

    /// The series of a name and labels, made when it is asked for first. Whoever adds with every request keeps it.
    package func counter(_ name: Name, _ labels: Labels = []) -> Counter {
        let series = Series(name: name.text, labels: Self.text(labels))
        return state.withLock { state in
            if let counter = state.counters[series] { return counter }
            let counter = Counter()
            state.help[name.text] = ("counter", name.help)
            state.counters[series] = counter
            return counter
        }
    }

    /// As `counter`.
    package func histogram(_ name: Name, _ labels: Labels = []) -> Histogram {
        let series = Series(name: name.text, labels: Self.text(labels))
        return state.withLock { state in
            if let histogram = state.histograms[series] { return histogram }
            let histogram = Histogram()
            state.help[name.text] = ("histogram", name.help)
            state.histograms[series] = histogram
            return histogram
        }
    }

    /// One value of this moment; all of one name stand together.
    package struct Gauge: Sendable {
        let name: Name
        let labels: String
        let value: Double

        package init(_ name: Name, _ labels: Labels = [], _ value: Double) {
            self.name = name
            self.labels = Metrics.text(labels)
            self.value = value
        }
    }

    /// Prometheus text format 0.0.4. `gauges` are read at this moment.
    package func text(gauges: [Gauge]) -> String {
        var lines: [String] = []
        let state = state.withLock { $0 }
        for (name, help) in state.help.sorted(by: { $0.key < $1.key }) {
            lines.append("# HELP \(name) \(help.text)")
            lines.append("# TYPE \(name) \(help.kind)")
            for (series, counter) in Self.sorted(state.counters, named: name) {
                lines.append("\(name)\(Self.braced(series.labels)) \(counter.value)")
            }
            for (series, histogram) in Self.sorted(state.histograms, named: name) {
                lines += Self.lines(of: histogram.value, series)
            }
        }
        var previous: Name?
        for gauge in gauges {
            let name = gauge.name
            if name != previous { lines += ["# HELP \(name.text) \(name.help)", "# TYPE \(name.text) gauge"] }
            previous = name
            lines.append("\(name.text)\(Self.braced(gauge.labels)) \(gauge.value)")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func lines(of histogram: Histogram.State, _ series: Series) -> [String] {
        let prefix = series.labels.isEmpty ? "" : series.labels + ","
        let buckets = zip(Limits.latencyBuckets, histogram.counts).map { bound, count in
            "\(series.name)_bucket{\(prefix)le=\"\(bound)\"} \(count)"
        }
        return buckets + [
            "\(series.name)_bucket{\(prefix)le=\"+Inf\"} \(histogram.count)",
            "\(series.name)_sum\(braced(series.labels)) \(histogram.sum)",
            "\(series.name)_count\(braced(series.labels)) \(histogram.count)",
        ]
    }

    private static func sorted<Value>(
        _ all: [Series: Value], named name: String
    ) -> [(key: Series, value: Value)] {
        all.filter { $0.key.name == name }.sorted { $0.key.labels < $1.key.labels }
    }

    private static func braced(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }

    private static func text(_ labels: Labels) -> String {
        labels.map { "\($0.name)=\"\(escaped($0.value))\"" }.joined(separator: ",")
    }

    private static func escaped(_ value: String) -> String {
        guard value.utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") || $0 < 0x20 }) else {
            return value
        }
        return value.unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}
