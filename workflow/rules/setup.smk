"""Before anything is read: where code comes from, and how bad parameters end a run.

Inputs: none.
Outputs: none.
Steps: 1. let the workflow and its jobs use this folder's code. 2. show a line a job. 3. say how a run ends that cannot
use its parameters.
"""

import sys

from snakemake.logging import logger
from snakemake.settings.types import Quietness

ROOT = next(folder for folder in (Path(workflow.basedir), Path(workflow.basedir).parent) if (folder / "src").is_dir())
for _folder in ("workflow", "src"):
    sys.path.insert(0, str(ROOT / _folder))

import json

import progress
import surroundings

surroundings.use_code_of(ROOT)

FOLLOWED = None
"""What shows a line a job, where Snakemake itself is to be quiet."""
if workflow.is_main_process and Quietness.RULES in (workflow.output_settings.quiet or ()):
    FOLLOWED = progress.follow(logger, dry=workflow.output_settings.dryrun)

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
