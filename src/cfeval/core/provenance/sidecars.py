"""What ties the files of a study together: the sidecars that jobs write beside their first outputs, `X.made.json`.

Each names by hash what the job made and what it was made from (see `cfeval.core.provenance`).
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ValidationError

from cfeval.core.provenance.hashes import Hashes, digest
from cfeval.core.provenance.jobs import ENDING

_EMPTY = digest(b"")
"""The hash of a folder without images, which neither git nor DVC brings back."""


class Plan(BaseModel):
    """What a job was made from besides other jobs' files; see `cfeval.core.provenance.plans`."""

    stage: str
    command: tuple[str, ...]
    code: dict[str, str]
    files: dict[str, str | None]
    versions: dict[str, str]


class Sidecar(BaseModel):
    """The plan, and the SHA-256 of inputs and outputs by path; that of a folder, whose path ends with a slash, too.

    `root`: what the paths of results had before them when the job ran; results may have been moved since.
    """

    plan: Plan
    inputs: dict[str, str]
    outputs: dict[str, str]
    root: str = ""

    def results_in(self, hashes: Mapping[str, str]) -> dict[str, str]:
        """Those of some hashes whose paths lie in the results, by the path in there."""
        return {self.place(path): sha for path, sha in hashes.items() if self.is_result(path)}

    def is_result(self, word: str) -> bool:
        """Whether a word is a path in the results."""
        return word.startswith(self.root)

    def place(self, path: str) -> str:
        """A path of a result without what it had before it."""
        return path.removeprefix(self.root)


def parsed(text: str | bytes, place: str) -> Sidecar:
    """The sidecar that lies at a place in the results.

    Raises:
        ValueError: it is none, or one of other files than that which it lies beside.
    """
    try:
        found = Sidecar.model_validate_json(text)
    except ValidationError:
        raise ValueError("is no provenance record of a job") from None
    if any(".." in PurePosixPath(path).parts for path in (*found.inputs, *found.outputs)):
        raise ValueError("names a path with '..' in it")
    first = place.removesuffix(ENDING)
    roots = [path.removesuffix(first) for path in found.outputs if path == first or path.endswith(f"/{first}")]
    if not roots:
        raise ValueError("tells of other files than the one it lies beside")
    return found.model_copy(update={"root": roots[0]})


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
        yield file, f"no seal: no provenance record (X{ENDING}) names it"


def _faults(results: Path, first: str, sidecar: Sidecar, hashes: Hashes) -> Iterator[tuple[Path, str]]:
    name = f"{Path(first).name}{ENDING}"
    for place, sha in sorted(sidecar.results_in(sidecar.outputs).items()):
        what = "its images are not those that" if place.endswith("/") else "is not the file that"
        yield results / place, "" if _hash(results, place, hashes) == sha else f"{what} {name} names"
    for place, sha in sorted(sidecar.results_in(sidecar.inputs).items()):
        same = _hash(results, place, hashes) == sha
        yield results / first, "" if same else f"was made from another {place} than lies there now"


def _hash(results: Path, place: str, hashes: Hashes) -> str | None:
    """The hash of a file, or of a folder of images; None where there is no such file, or none that can be read."""
    try:
        found = hashes.path(f"{results}/{place}")
    except (OSError, ValueError):
        return None
    return _EMPTY if found is None and place.endswith("/") else found
