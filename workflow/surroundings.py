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


def at_home(file: str) -> str:
    """Where a file of the working folder lies that no experiment may have a copy of: the response store.

    DVC runs queued and temporary experiments in a copy of the project beneath `.dvc/tmp/exps`. A store of its own there
    would be empty, every call paid for again, and gone with the copy.
    """
    here = Path.cwd()
    home = next((folder for folder in here.parents if here.is_relative_to(folder / ".dvc/tmp/exps")), None)
    return file if home is None else str(home / file)


def relative(file: str) -> str:
    """A file as the records name it: relative to the working folder where it lies beneath it."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_absolute() and path.is_relative_to(Path.cwd()) else file


def _put_first(variable: str, folder: str) -> None:
    others = [path for path in os.environ.get(variable, "").split(os.pathsep) if path not in ("", folder)]
    os.environ[variable] = os.pathsep.join([folder, *others])
