"""`python -m cfeval.warm LISTENER LIFE FOLDER [MODULE…]`: the parent, as `cfeval.warm.start` starts it.

LISTENER and LIFE are open files: the socket, and the end of a pipe whose other end only the starter has.
"""

import json
import shutil
import socket
import sys
from pathlib import Path

from cfeval.warm import parent
from cfeval.warm.request import answer
from cfeval.warm.start import IMPORTS


def main() -> None:
    """Serve until the run has ended, and in each fork run a command."""
    listener, life, folder, *modules = sys.argv[1:]
    imports = json.loads(Path(folder, IMPORTS).read_text(encoding="utf-8"))
    held = parent.prepare(socket.socket(fileno=int(listener)), int(life), modules, imports)
    request = parent.serve(held)
    if request is not None:
        answer(request, held.tell)
    shutil.rmtree(folder, ignore_errors=True)
    parent.finish(held)


if __name__ == "__main__":
    main()
