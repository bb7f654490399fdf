import Glibc

exit(EchoServer.run(arguments: Array(CommandLine.arguments.dropFirst())))
