"""Sidecars as others read them: what a job wrote beside its first output, `X.made.json` (see `cfeval.provenance`)."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from pydantic import BaseModel, ValidationError

from cfeval.provenance.jobs import ENDING


class Plan(BaseModel):
    """What a job was made from besides other jobs' files; see `cfeval.provenance.plans`."""

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
        raise ValueError("is no sidecar of a job") from None
    if any(".." in PurePosixPath(path).parts for path in (*found.inputs, *found.outputs)):
        raise ValueError("names a path with '..' in it")
    first = place.removesuffix(ENDING)
    roots = [path.removesuffix(first) for path in found.outputs if path == first or path.endswith(f"/{first}")]
    if not roots:
        raise ValueError("tells of other files than the one it lies beside")
    return found.model_copy(update={"root": roots[0]})
