"""How calls travel. The settings come by the environment, because nothing that a job makes depends on them."""

import os

from pydantic import ValidationError

from cfeval.errors import InputError
from cfeval.params.sections import Calls

VARIABLE = "CFEVAL_CALLS"
"""Holds the section `calls` of params.yaml as JSON; the workflow sets it for its jobs."""


def settings() -> Calls:
    """The settings of this process; the defaults where the variable is not set.

    Raises:
        InputError: the variable holds something else.
    """
    try:
        return Calls.model_validate_json(os.environ.get(VARIABLE) or "{}")
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"{part}: " for part in first["loc"])
        raise InputError(f"the environment variable {VARIABLE}: {place}{first['msg']}") from None


def use(calls: Calls) -> None:
    """Make these the settings of this process and of those it starts."""
    os.environ[VARIABLE] = calls.model_dump_json()
