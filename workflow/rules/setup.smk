"""Before anything is read: where code comes from, and how a bad parameter file ends the run.

Inputs: params.yaml, looked at only to say in one line what is wrong with it.
Outputs: none.
Steps: 1. let the workflow and its jobs use this folder's code. 2. stop with exit status 2 where params.yaml is unreadable.
"""

import os
import sys

ROOT = next(folder for folder in (Path(workflow.basedir), Path(workflow.basedir).parent) if (folder / "src").is_dir())
for _folder in ("workflow", "src"):
    sys.path.insert(0, str(ROOT / _folder))
# Jobs run this folder's code with this interpreter, whatever else is installed or on the path.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])

from cfeval import params
from cfeval.errors import CfevalError


def stop(reason):
    """End with one line and exit status 2."""
    print(f"cfeval: {reason}", file=sys.stderr)
    raise SystemExit(2)


def checked(read, *arguments):
    """What a reader of parameters makes of them; stops where they cannot be used."""
    try:
        return read(*arguments)
    except CfevalError as error:
        stop(error)


checked(params.read, Path("params.yaml"))
