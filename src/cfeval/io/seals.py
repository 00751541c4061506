"""What ties the files of a study together: the sidecars that jobs write beside their outputs (`X.made.json`).

Each names by hash what the job made and what it was made from.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from cfeval.io.sidecars import Sidecar, parsed
from cfeval.provenance.hashes import Hashes, digest
from cfeval.provenance.jobs import ENDING

_EMPTY = digest(b"")
"""The hash of a folder without pictures, which neither git nor DVC brings back."""


def seal_faults(results: Path, files: Iterable[Path] = ()) -> Iterator[tuple[Path, str]]:
    """What is wrong with each output and input under a folder of results that a sidecar names; empty where nothing is.

    Where there is any sidecar, each of `files` must be named by one. Nothing comes of results without any: the verbs
    write none. Inputs that lie elsewhere are left aside.
    """
    hashes, sealed = Hashes(), set[Path]()
    found = sorted(results.rglob(f"*{ENDING}"))
    for file in found:
        place = file.relative_to(results).as_posix()
        try:
            sidecar = parsed(file.read_bytes(), place)
        except OSError:
            yield file, "cannot be read"
        except ValueError as error:
            yield file, str(error)
        else:
            sealed |= {results / path for path in sidecar.results_in(sidecar.outputs)}
            yield from _faults(results, place.removesuffix(ENDING), sidecar, hashes)
    for file in sorted(set(files) - sealed) if found else ():
        yield file, f"no seal: no sidecar (X{ENDING}) names it"


def _faults(results: Path, first: str, sidecar: Sidecar, hashes: Hashes) -> Iterator[tuple[Path, str]]:
    name = f"{Path(first).name}{ENDING}"
    for place, sha in sorted(sidecar.results_in(sidecar.outputs).items()):
        what = "its pictures are not those that" if place.endswith("/") else "is not the file that"
        yield results / place, "" if _hash(results, place, hashes) == sha else f"{what} {name} names"
    for place, sha in sorted(sidecar.results_in(sidecar.inputs).items()):
        same = _hash(results, place, hashes) == sha
        yield results / first, "" if same else f"was made from another {place} than lies there now"


def _hash(results: Path, place: str, hashes: Hashes) -> str | None:
    """The hash of a file, or of a folder of pictures; None where there is no such file, or none that can be read."""
    try:
        found = hashes.path(f"{results}/{place}")
    except (OSError, ValueError):
        return None
    return _EMPTY if found is None and place.endswith("/") else found
