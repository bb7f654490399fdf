import FuzzSupport
import JOSE

fuzz { bytes in
    guard let set = try? JWKSet.parse(bytes) else { return }
    hold(set.kids.allSatisfy { !$0.isEmpty }, "no key is without a name")
    for (index, kid) in set.kids.enumerated() {
        let isRepeated = set.kids[..<index].contains { $0.utf8.elementsEqual(kid.utf8) }
        hold(!isRepeated, "no name stands twice")
    }
    hold((try? JWKSet.parse(JWKSet.render(set.keys))) == set, "written and read again, the keys are the same")
}
