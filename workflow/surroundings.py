"""What the workflow takes from the environment, and what it gives to its jobs."""

import os
import sys
from pathlib import Path


def use_code_of(root: Path) -> None:
    """Let jobs run the code beside the workflow with this interpreter, whatever else is installed or on the path."""
    _put_first("PYTHONPATH", str(root / "src"))
    _put_first("PATH", str(Path(sys.executable).parent))


def dvc_stage() -> str:
    """The name of the DVC stage that started the run, or nothing."""
    return os.environ.get("DVC_STAGE", "").rpartition(":")[2]


def relative(file: str) -> str:
    """A file as the records name it: relative to the working folder where it lies beneath it."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_absolute() and path.is_relative_to(Path.cwd()) else file


def _put_first(variable: str, folder: str) -> None:
    others = [path for path in os.environ.get(variable, "").split(os.pathsep) if path not in ("", folder)]
    os.environ[variable] = os.pathsep.join([folder, *others])
