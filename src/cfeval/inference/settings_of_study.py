"""The settings of calls of the study in this folder, for commands about its response cache."""

import os
from collections.abc import Mapping

from pydantic import ValidationError

from cfeval.core.config import Calls
from cfeval.core.errors import ParamsError
from cfeval.core.folder import PARAMS
from cfeval.core.yaml_files import read_yaml
from cfeval.inference.remote.settings import VARIABLE, settings


def study_settings() -> Calls:
    """Section `calls` of params.yaml; the process's own settings in a job, or where there is no study.

    Raises:
        ParamsError: the section cannot be used.
    """
    if os.environ.get(VARIABLE) or not PARAMS.is_file():
        return settings()
    content = read_yaml(PARAMS)
    section = content.get("calls") if isinstance(content, Mapping) else None
    try:
        return Calls.model_validate(section or {})
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(map(str, ("calls", *fault["loc"])))
        raise ParamsError(f"{PARAMS}: {key}: {fault['msg']}; `cfeval check` checks the whole file") from None
