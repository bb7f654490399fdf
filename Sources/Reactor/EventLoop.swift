import CLinux
import Glibc
import Primitives
package import Telemetry

/// One thread that waits for sockets and timers and runs the tasks whose executor it is.
///
/// Async code started with `spawn` begins and ends on this thread: every continuation that it waits for is resumed
/// here, so nothing inside one loop needs a lock. Only `post`, `spawn`, `run`, `stop` and `enqueue` may be called from
/// elsewhere.
package final class EventLoop: TaskExecutor, @unchecked Sendable {
    // SAFETY: `inbox` is locked; everything that is `loop only` is touched by the loop's own thread alone, which
    // `assertCurrent` checks at every entry from outside this file. The object outlives its thread, which retains it.
    package let name: String
    let logger: Logger

    private let epoll: Int32
    private let wake: Int32
    private let inbox = Locked(Inbox())
    private let thread = LoopThread()

    // Loop only.
    private var jobs = RunQueues()
    /// The queue of a job that becomes ready now.
    private var source = JobSource.continuation
    private var endOfTurn: [() -> Void] = []
    private var quietWaiters = QuietWaiters()
    private var paused: [(continuation: UnsafeContinuation<Void, Never>, source: JobSource)] = []
    /// When the job that runs now began.
    private var jobStart = MonotonicInstant(nanoseconds: 0)
    /// What the other jobs of the last turn took: as long may computations take in this one.
    private var otherNanoseconds: UInt64 = 0
    private var isStopping = false
    var handlers = HandlerTable()
    var timers = TimerHeap()
    var deadlines = DeadlineWheel()
    var hasDeadlineTick = false

    private struct Inbox {
        var jobs: [UnownedJob] = []
        var work: [@Sendable () -> Void] = []

        var isEmpty: Bool { jobs.isEmpty && work.isEmpty }
    }

    package init(name: String, logger: Logger = .disabled) throws(ReactorError) {
        self.name = name
        self.logger = logger
        epoll = cl_epoll_create()
        wake = cl_eventfd()
        guard epoll >= 0, wake >= 0, cl_epoll_control(epoll, 1, wake, CL_IN, HandlerTable.wakeToken) == 0 else {
            throw .failed(call: "epoll", errno: errno)
        }
    }

    deinit {
        Glibc.close(wake)
        Glibc.close(epoll)
    }

    // MARK: From any thread

    /// Starts the loop's thread; once only.
    package func start() {
        thread.start { self.turnUntilStopped() }
    }

    /// Ends the loop after its present turn. Tasks that still wait are abandoned with it.
    package func stop() {
        post { self.isStopping = true }
    }

    /// Waits for the thread's end.
    package func join() {
        thread.join()
    }

    package static var current: EventLoop? {
        guard let pointer = cl_current_loop() else { return nil }
        return Unmanaged<EventLoop>.fromOpaque(pointer).takeUnretainedValue()
    }

    package var isCurrent: Bool {
        cl_current_loop() == Unmanaged.passUnretained(self).toOpaque()
    }

    package func post(_ work: @escaping @Sendable () -> Void) {
        wakeUnlessPending { $0.work.append(work) }
    }

    /// Starts a task whose executor is this loop. The one place of the product that does: a task without the executor
    /// preference would resume on a pool thread.
    package func spawn(_ body: @escaping @Sendable () async -> Void) {
        Task(executorPreference: self) { await body() }
    }

    /// Runs an async body on the loop from outside it, and hands its result over.
    package func run<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) async -> Result {
        await withUnsafeContinuation { continuation in
            spawn { continuation.resume(returning: await body()) }
        }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent { return jobs.push(job, from: source) }
        wakeUnlessPending { $0.jobs.append(job) }
    }

    private func wakeUnlessPending(_ add: (inout Inbox) -> Void) {
        let wasEmpty = inbox.withLock { inbox in
            let wasEmpty = inbox.isEmpty
            add(&inbox)
            return wasEmpty
        }
        guard wasEmpty else { return }
        var one: UInt64 = 1
        _ = Glibc.write(wake, &one, 8)
    }

    // MARK: On the loop

    /// Once, after the jobs of this turn: where a database connection sends what the turn has gathered.
    package func atEndOfTurn(_ work: @escaping () -> Void) {
        assertCurrent()
        endOfTurn.append(work)
    }

    /// Resumes in a turn in which no socket had news, or once it has waited for `Limits.quietWaitMax`: where a step of a
    /// tenth of a millisecond and more belongs.
    ///
    /// - Parameter since: when the wait began, where the caller waits on behalf of something older.
    package func quietTurn(for computation: Computation, since: MonotonicInstant = .now()) async {
        assertCurrent()
        await withUnsafeContinuation { quietWaiters.add($0, for: computation, since: since) }
    }

    /// Whether the job that runs now has had its share: one that could go on for long passes then.
    package var hasSpentShare: Bool {
        MonotonicInstant.now().nanoseconds - jobStart.nanoseconds >= Limits.jobNanoseconds
    }

    /// Lets all others have their share and goes on behind the clients that wait.
    package func pass() async { await pass(.event) }

    /// As `pass`, for the one that accepts.
    func passAccepting() async { await pass(.arrival) }

    private func pass(_ source: JobSource) async {
        assertCurrent()
        await withUnsafeContinuation { paused.append(($0, source)) }
    }

    package func sleep(for duration: Duration) async {
        assertCurrent()
        await withUnsafeContinuation { continuation in
            _ = schedule(after: duration) { continuation.resume() }
        }
    }

    /// Calls `action` on the loop, never early.
    package func schedule(after delay: Duration, _ action: @escaping () -> Void) -> LoopTimer {
        assertCurrent()
        let timer = LoopTimer(at: .now() + delay, action)
        timers.push(timer)
        return timer
    }

    func control(_ operation: Int32, _ descriptor: Int32, _ events: UInt32, _ token: UInt64) -> Bool {
        cl_epoll_control(epoll, operation, descriptor, events, token) == 0
    }

    func assertCurrent() {
        precondition(isCurrent, "called from outside its event loop")
    }

    // MARK: The turn

    private func turnUntilStopped() {
        cl_set_current_loop(Unmanaged.passUnretained(self).toOpaque())
        let executor = asUnownedTaskExecutor()
        let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: Limits.eventsPerTurn)
        defer { events.deallocate() }
        while !isStopping {
            let count = cl_epoll_wait(epoll, events, Int32(Limits.eventsPerTurn), waitLimit())
            let hadNews = dispatch(UnsafeBufferPointer(start: events, count: Int(max(count, 0))))
            source = .continuation
            fireTimers()
            compute(isQuiet: !hadNews && jobs.isEmpty, on: executor)
            let start = jobStart
            // Work in progress goes first: it holds database connections, and its clients have waited longest.
            run(.continuation, on: executor)
            run(.arrival, on: executor)
            run(.event, on: executor)
            otherNanoseconds = jobStart.nanoseconds - start.nanoseconds
            runEndOfTurn()
        }
        cl_set_current_loop(nil)
    }

    private func waitLimit() -> Int32 {
        if !jobs.isEmpty || !quietWaiters.isEmpty { return 0 }
        guard let next = timers.next else { return -1 }
        return next.millisecondsLeft(at: .now())
    }

    private func fireTimers() {
        guard timers.next != nil else { return }
        for timer in timers.takeDue(at: .now()) { timer.fire() }
    }

    /// Marks and resumes; whatever a resumed task does comes later, as a job. Says whether a socket had news.
    private func dispatch(_ events: UnsafeBufferPointer<epoll_event>) -> Bool {
        var hadNews = false
        for event in events {
            if event.data.u64 == HandlerTable.wakeToken {
                takeInbox()
            } else if let handler = handlers.handler(for: event.data.u64) {
                hadNews = true
                source = handler.source
                handler.fire(event.events)
            }
        }
        return hadNews
    }

    private func takeInbox() {
        var count: UInt64 = 0
        _ = Glibc.read(wake, &count, 8)
        let taken = inbox.withLock { inbox in
            let taken = inbox
            inbox = Inbox()
            return taken
        }
        source = .continuation
        for job in taken.jobs { jobs.push(job, from: source) }
        for work in taken.work { work() }
    }

    /// Runs computations: one in a quiet turn, else those that have waited too long, for as long as everything else
    /// took in the turn before. So neither side keeps the loop from the other.
    private func compute(isQuiet: Bool, on executor: UnownedTaskExecutor) {
        jobStart = .now()
        guard !quietWaiters.isEmpty else { return }
        // At most: the kernel may have had the core for another process meanwhile, which is no debt of the others.
        let end = jobStart.nanoseconds + min(otherNanoseconds, 2 * Limits.shareNanoseconds)
        let limit = isQuiet ? jobStart : MonotonicInstant(nanoseconds: jobStart.nanoseconds - Limits.quietWaitMax)
        repeat {
            guard let waiter = quietWaiters.take(since: limit) else { return }
            source = .computation
            waiter.resume()
            source = .continuation
            while let job = jobs.pop(.computation) { job.runSynchronously(on: executor) }
            jobStart = .now()
        } while jobStart.nanoseconds < end
    }

    /// Runs jobs of one source until none is left or its share of the turn is over.
    private func run(_ source: JobSource, on executor: UnownedTaskExecutor) {
        // What an accepted connection does first is a client's event; whatever else a job sets off is work in progress.
        self.source = source == .continuation ? .continuation : .event
        let end = jobStart.nanoseconds + Limits.shareNanoseconds
        while jobStart.nanoseconds < end, let job = jobs.pop(source) {
            // No other overload: the ones that name a serial executor enqueue again before a continuation's body runs.
            job.runSynchronously(on: executor)
            jobStart = .now()
        }
    }

    private func runEndOfTurn() {
        for pause in paused {
            source = pause.source
            pause.continuation.resume()
        }
        paused.removeAll(keepingCapacity: true)
        source = .continuation
        while !endOfTurn.isEmpty {
            let work = endOfTurn
            endOfTurn = []
            for step in work { step() }
        }
    }
}
