"""python -m tests.inference.remote.batch_job URL FIRST LAST OPTIONS: a job that asks by batches.

It holds conversations of two turns with a model of these options, as JSON. Prints the texts of all
replies as one JSON list, as `child` does; looks and moments are short.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from cfeval.cli import _refuse
from cfeval.core.config import Calls
from cfeval.core.errors import CfevalError
from cfeval.inference.remote import batches
from cfeval.inference.remote.settings import VARIABLE
from tests.inference.remote.child import conversations
from tests.inference.remote.keys import KEY, KEY_ENV

MOMENT, POLL = 0.1, 0.05
"""Seconds in place of those of `cfeval.inference.remote.batches`."""


def batched(url: str, first: int, last: int, **options: Any) -> list[dict[str, Any]]:
    """Hold the conversations about these items by batches."""
    return conversations(url, first, last, **{"provider": "openai", "batch": True, **options})


def job(
    url: str, first: int, last: int, options: dict[str, Any] | None = None, **calls: Any
) -> "subprocess.Popen[str]":
    """Start this module as a job with these options of the model and settings of calls."""
    command = [
        sys.executable,
        "-m",
        "tests.inference.remote.batch_job",
        url,
        str(first),
        str(last),
        json.dumps(options or {}),
    ]
    environment = {**os.environ, VARIABLE: Calls(**calls).model_dump_json(), KEY_ENV: KEY}
    pipe, root = subprocess.PIPE, Path(__file__).parents[3]
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=root, env=environment)


if __name__ == "__main__":
    batches.MOMENT, batches.POLL = MOMENT, POLL
    try:
        print(json.dumps(batched(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), **json.loads(sys.argv[4]))))
    except CfevalError as error:
        sys.exit(_refuse(error))
