import Glibc
import SallyportServer

exit(Command.run(.ofThisProcess()))
