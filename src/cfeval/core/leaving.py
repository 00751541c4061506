"""How a command ends: with all that Python does on leaving, but for taking apart what was imported.

That takes a second for torch and two for diffusers, and gives back nothing that the end of the process does not.
`multiprocessing` ends its forks in the same way.
"""

import atexit
import gc
import os
import signal
import sys
import threading
from typing import NoReturn


def leave(status: int) -> NoReturn:
    """End this process with an exit status; minus SIGINT's number where a shell is to see that Ctrl-C ended it."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        gc.collect()  # what is closed by being forgotten
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # nobody reads any more; 120 is what Python then says
        status = 120
    except KeyboardInterrupt:
        status = -signal.SIGINT
    if "ctypes" in sys.modules:  # what libraries have printed past Python
        sys.modules["ctypes"].CDLL(None).fflush(None)
    if status == -signal.SIGINT:  # a shell ends its loop only where Ctrl-C has ended the command
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status)
