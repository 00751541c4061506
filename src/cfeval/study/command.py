"""The command that runs the workflow of cfeval in a study's folder."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from cfeval.core.package import carried


def snakemake(cores: str, overlays: Sequence[Path], name: str, more: Sequence[str]) -> list[str]:
    """The words after `snakemake` that run this study with the workflow that comes with cfeval.

    A profile of the user's takes the place of ours, as it does for any other workflow.
    """
    words = ["--snakefile", str(carried("Snakefile")), "--cores", cores]
    if not Path("profiles/default").is_dir():
        words += ["--workflow-profile", str(carried("profiles") / "default")]
    words += ["--configfile", *map(str, overlays)] if overlays else []
    words += ["--config", f"name={name}"] if name else []
    return [*words, *more, *([] if "--" in more else ["--", "all"])]


def shown(words: Sequence[str], folder: Path) -> str:
    """The command for a shell, from wherever it is typed."""
    return shlex.join(["snakemake", "--directory", str(folder.absolute()), *words])


def command(words: Sequence[str]) -> list[str]:
    """The command for a process of this interpreter."""
    return [sys.executable, "-m", "snakemake", *words]
