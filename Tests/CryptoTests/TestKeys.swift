import Crypto

/// Keys made for this run, and fixed ones that must be refused.
enum TestKeys {
    static let first = generated()
    static let second = generated()

    /// PKCS #8, RSA of 1024 bits.
    static let rsa1024 = """
        MIICeAIBADANBgkqhkiG9w0BAQEFAASCAmIwggJeAgEAAoGBAJegsQAucnx6eo92CDfgdrIqc7cQzNr+g98iwIm9zBVV8zxUsgbPUSWW\
        CUkqvAhpKUJAa884ywa0nOtRJwJoTLwiAdqGEV5O2DtZOGi1tV98NIeqMpyU7sNZ7Wzg0R2996fkc2FlFMNewFQ3iHqU9n+g0aE1DfLc\
        t/xYeEPgejarAgMBAAECgYBvsKORIaWdgc7T7DrjhgmI9fJk8BAmZIKZFA1FqTQypyxTzYORtpbsm9ddOQhnHaeRsMh5TTloSBSq1g1p\
        HZEfhZ+7gMUfOEh5SfyEmpdlCu04IL/z+wRtCHo7LidVVlb3EVJvBm+7+Qh7XQJCfdtaTO8FgHwYZPNxlbdDSUyDwQJBAMUyd+gchVSf\
        pXm2pRKCnbeytZr1XiOZI5DpftBgA3iTnnDQmkEGQ9zKK9JQlm16ZVI0fPRezv2X2iCsjY8hu0sCQQDE15EnLtMlt6xGjgxK64eTnM06\
        jEqImgbTz43zlJZd/q9LcS7PFrXOSjJmQnve/ocs18o6Ib+HZPPZHMMyFfYhAkEAlQ0QlOD55nzFFrp3CwavL6pkmjvcbAvUVjQnJlls\
        RjdOCvehoISbxscJWG6RRS6+ZuRFjnAbBJNCzG+gkA9vAQJBAJcjLUB4o4cCUDScPLQJxD+C1dFuhov8N+HKK6QrIolpVA8JCHfZaB7M\
        uYXq5lGB/ShhR9T6tKSwzsqVWwrJ8gECQQCUnSnh9Fnk7VT25Rl5tNs1k/dgx+sQgZR/sJcoO8Ix8qRzS9TgL8979O93OYMYsscuLqTj\
        xK8gK1l5wbuK7/L+
        """

    /// PKCS #8, P-256.
    static let ec = """
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg193trMsT1asN2+kL8TKTlFrQlXk42yRZBOzYv+FjXX2hRANCAARsEBJc\
        +Exg9wMqh7hELIsrWl/x/nsKvD7LFkFNdnd2I+GMFla62tr0k1w6dMxgEGwixWYWq+iOiw0BId+qcXVA
        """

    /// PKCS #8, another curve of 256 bits.
    static let secp256k1 = """
        MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgCLfnDO2xR8xd2ndmD/DttKzdKCY5O0jqUvfU3ks9WfahRANCAAT/KdpSGybo0y\
        CNwf3swZ5Tr2WfNX+qZeX2UR4l6iDcxDmFFX8nCHNHkmGkw/9yQJDaR/U67jK4/IjwDDF6ViC8
        """

    /// PKCS #8, P-384.
    static let p384 = """
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDB+ZKeQoOy6SlKLOOj/UuImevUHlw9Ri5rYd+1nbIWdwoeuF9gG/jFwKymUlt\
        dWOpyhZANiAAQu2duxBXb4EwWqoc2Db1Z7YEsGsgEchE8LDGldUa/fq752cI/xWV2cC9OHklxIsPUIb2pNHsw8A1Jh1XlEIjkK68fxGpwj\
        v4/7wbI31FIPewq57Xkf2mI9uJBWwbRyU5w=
        """

    private static func generated() -> RSAPrivateKey {
        do {
            return try RSAPrivateKey.generate(bits: 2048)
        } catch {
            preconditionFailure("no test key: \(error)")
        }
    }
}
