import FuzzSupport
import Primitives

fuzz { bytes in
    guard let fields = try? FormCoding.decode(bytes) else { return }
    hold(fields.count <= 64, "the fields are within their limit")
    // A piece without a name and a value is written as "=", which is read as one.
    let again = try? FormCoding.decode(Array(FormCoding.encode(fields).utf8))
    hold(again != nil, "what was read can be written")
    hold(
        again?.elementsEqual(fields) { one, other in
            one.name.utf8.elementsEqual(other.name.utf8) && one.value.utf8.elementsEqual(other.value.utf8)
        } == true, "written and read again, the fields are the same")
}
