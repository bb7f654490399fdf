import FuzzSupport

fuzz { bytes in
    judge(bytes)
}
