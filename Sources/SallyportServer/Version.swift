/// What `version`, `/version` and the ready line say.
package enum Version {
    package static let text = "0.1.0"
}
