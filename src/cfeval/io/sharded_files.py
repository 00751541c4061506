"""Record files that one or several shards make up: `X.jsonl`, or the folder `X/` with `000.jsonl`, `001.jsonl`, …"""

from collections.abc import Iterable
from pathlib import Path

from cfeval.errors import InputError
from cfeval.io.shards import shard_files


def whole_or_shards(path: Path) -> list[Path]:
    """The file `X.jsonl` itself, or in order its shards, where `--shards` cut it or the folder X is named.

    Raises:
        InputError: there is neither.
    """
    if path.is_file():
        return [path]
    folder = path if path.is_dir() else path.with_suffix("")
    if found := sorted(folder.glob("[0-9][0-9][0-9].jsonl")):
        return found
    raise InputError(f"{path}: no such file; run the step that makes it")


def whole_or_shards_of_all(paths: Iterable[Path], cut: int | None = None) -> list[Path]:
    """The same of several, one after the other.

    Args:
        paths: as in `whole_or_shards`.
        cut: into how many shards each `X.jsonl` is cut; shards of another run that lie beside are left out. None: what
            lies there.
    """
    return [file for path in paths for file in (shard_files(path, cut) if cut else whole_or_shards(path))]
