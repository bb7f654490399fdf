import FuzzSupport
import JSON

fuzz { bytes in
    guard let value = try? JSONParser.parse(bytes) else { return }
    let written = value.encoded()
    guard let again = try? JSONParser.parse(written) else {
        hold(written.count > bytes.count, "what was read can be written, unless its escapes make it too large")
        return
    }
    hold(again == value, "written and read again, the value is the same")
    hold(again.encoded() == written, "written again, the bytes are the same")
}
