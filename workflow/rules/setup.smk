"""Before anything is read: where code comes from, and how bad parameters end a run.

Inputs: none.
Outputs: none.
Steps: 1. let the workflow and its jobs use this folder's code. 2. show a line a job. 3. say how a run ends that cannot
use its parameters.
"""

import atexit
import gc
import sys

from snakemake.logging import logger
from snakemake.settings.types import Quietness

atexit.register(gc.freeze)  # or Python, at its end, would look through all that is imported, more than once

# A checkout runs its own code, whatever is installed; the workflow of an installed package, or one that another workflow
# takes in from GitHub, the package that is installed.
_here = Path(workflow.current_basedir.get_path_or_uri(secret_free=True))
CHECKOUT = _here.parents[1] if (_here.parents[1] / "src/cfeval").is_dir() else None
if CHECKOUT:
    sys.path.insert(0, str(CHECKOUT / "src"))

import json

from cfeval.core import process
from cfeval.core.package import carried

if workflow.is_main_process:
    process.end_as_by_sigterm()

sys.path.insert(0, str(carried("workflow")))

import progress
import surroundings

surroundings.use_code_of(CHECKOUT)

FOLLOWED = next((handler for handler in logger.handlers if isinstance(handler, progress.Progress)), None)
"""What shows a line a job, where Snakemake itself is to be quiet; once, also where a workflow takes this one in twice."""
if FOLLOWED is None and workflow.is_main_process and Quietness.RULES in (workflow.output_settings.quiet or ()):
    FOLLOWED = progress.follow(logger, workflow.output_settings.dryrun, workflow.output_settings.printshellcmds)

from cfeval import config as study
from cfeval.core.errors import CfevalError


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
