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
    private var jobs = Queue<UnownedJob>()
    private var endOfTurn: [() -> Void] = []
    private var quietWaiters = Queue<UnsafeContinuation<Void, Never>>()
    private var busyTurns = 0
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
        if isCurrent { return jobs.push(job) }
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

    /// Resumes in a turn in which no socket had news: where a step of a tenth of a millisecond and more belongs.
    package func quietTurn() async {
        assertCurrent()
        await withUnsafeContinuation { quietWaiters.push($0) }
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
            fireTimers()
            resumeQuietWaiter(hadNews: hadNews)
            runJobs(on: executor)
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
            } else {
                hadNews = true
                handlers.handler(for: event.data.u64)?.fire(event.events)
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
        for job in taken.jobs { jobs.push(job) }
        for work in taken.work { work() }
    }

    private func resumeQuietWaiter(hadNews: Bool) {
        guard !quietWaiters.isEmpty else { return }
        busyTurns = hadNews || !jobs.isEmpty ? busyTurns + 1 : 0
        guard busyTurns == 0 || busyTurns > Limits.busyTurnsMax else { return }
        busyTurns = 0
        quietWaiters.pop()?.resume()
    }

    private func runJobs(on executor: UnownedTaskExecutor) {
        var budget = Limits.jobsPerTurn
        while budget > 0, let job = jobs.pop() {
            // No other overload: the ones that name a serial executor enqueue again before a continuation's body runs.
            job.runSynchronously(on: executor)
            budget -= 1
        }
    }

    private func runEndOfTurn() {
        while !endOfTurn.isEmpty {
            let work = endOfTurn
            endOfTurn = []
            for step in work { step() }
        }
    }
}
