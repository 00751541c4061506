"""What the workflow takes from the environment, and what it gives to its jobs."""

import atexit
import functools
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cfeval.core.yaml_files import dump_yaml


@functools.cache
def scratch() -> Path:
    """A folder for what a dry run has to write; it is removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="cfeval-dry-run-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def use_code_of(checkout: Path | None) -> None:
    """Let jobs run this interpreter, and the code of a checkout where there is one, whatever else is installed."""
    if checkout:
        _put_first("PYTHONPATH", str(checkout / "packages/cfeval_testbed"))
        _put_first("PYTHONPATH", str(checkout / "src"))
    _put_first("PATH", str(Path(sys.executable).parent))


def at_home(file: str) -> str:
    """Where a file of the working folder lies that no experiment may have a copy of: the response cache.

    DVC runs queued and temporary experiments in a copy of the project beneath `.dvc/tmp/exps`. A cache of its own there
    would be empty, every call paid for again, and gone with the copy.
    """
    here = Path.cwd()
    home = next((folder for folder in here.parents if here.is_relative_to(folder / ".dvc/tmp/exps")), None)
    return file if home is None else str(home / file)


def write_params(file: Path, params: Mapping[str, Any]) -> None:
    """Keep the parameters of a named study beside its results; a file that would stay the same is not touched."""
    text = dump_yaml(json.loads(json.dumps(params)))
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _put_first(variable: str, folder: str) -> None:
    others = [path for path in os.environ.get(variable, "").split(os.pathsep) if path not in ("", folder)]
    os.environ[variable] = os.pathsep.join([folder, *others])
