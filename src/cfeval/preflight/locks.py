"""What a killed run leaves behind: a stale lock of Snakemake, a broken lock file of DVC; seen and removed."""

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

SNAKEMAKE_LOCKS = Path(".snakemake/locks")
DVC_LOCK = Path(".dvc/tmp/rwlock")


def complaints(folder: Path) -> Iterator[tuple[Path, str]]:
    """What is wrong, were no run alive: the file or folder to remove, and why."""
    locks = folder / SNAKEMAKE_LOCKS
    if locks.is_dir() and any(locks.iterdir()):
        yield locks, "the lock of a Snakemake run"
    dvc = folder / DVC_LOCK
    if dvc.is_file() and not _is_json(dvc):
        yield dvc, "DVC cannot read it, and stops"


def alive(folder: Path, programs: Iterable[str]) -> list[int]:
    """The processes of these programs that work in a folder, this process and those that started it left out."""
    import psutil

    here = folder.resolve()
    own = {process.pid for process in (psutil.Process(), *psutil.Process().parents())}
    return [
        process.pid
        for process in psutil.process_iter(["cmdline", "cwd"])
        if process.pid not in own
        and process.info["cwd"] == str(here)
        and any(Path(word).name in programs for word in (process.info["cmdline"] or [])[:2])
    ]


def remove(path: Path) -> None:
    """Remove a file or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True
