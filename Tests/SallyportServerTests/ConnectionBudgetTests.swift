import Testing

@testable import SallyportServer

@Suite("Connections of a process")
struct ConnectionBudgetTests {
    @Test("no share exceeds the setting, and each loop has a reader and a writer before a second reader")
    func shares() {
        for hasIdentityURL in [false, true] {
            for workers in 1...9 {
                for connections in 3...120 {
                    let budget = ConnectionBudget(
                        connections: connections, workers: workers, hasIdentityURL: hasIdentityURL)
                    let ofLoop =
                        budget.readers + budget.writers + (hasIdentityURL ? 0 : budget.identityReaders)
                    #expect(budget.loops * ofLoop + 1 <= connections)
                    #expect(budget.loops == min(workers, (connections - 1) / 2))
                    #expect(budget.readers >= 1 && budget.writers >= 1 && budget.readers <= 2)
                    #expect(budget.identityReaders <= 2 && (budget.identityReaders > 0 || ofLoop == 2))
                }
            }
        }
    }

    @Test("the default is six a loop and one that listens", arguments: [1, 2, 64])
    func standard(workers: Int) {
        let budget = ConnectionBudget(connections: nil, workers: workers, hasIdentityURL: false)
        #expect(budget.loops == workers)
        #expect(budget.readers == 2 && budget.identityReaders == 1 && budget.writers == 3)
        let apart = ConnectionBudget(connections: nil, workers: workers, hasIdentityURL: true)
        #expect(apart.readers == 2 && apart.writers == 4 && apart.identityReaders == 2)
    }

    @Test(
        "a role's limit lowers the default and never raises it, and no limit is below a reader, a writer and a listener"
    )
    func roleLimits() {
        func budget(_ connections: Int?, _ limit: Int?) -> ConnectionBudget {
            ConnectionBudget(connections: connections, roleLimit: limit, workers: 2, hasIdentityURL: false)
        }
        #expect(budget(nil, 100) == budget(nil, nil))
        #expect(budget(nil, 5) == budget(5, nil))
        for limit in 0...3 { #expect(budget(nil, limit) == budget(3, nil)) }
        #expect(budget(3, nil).loops == 1 && budget(3, nil).writers == 1)
    }
}
