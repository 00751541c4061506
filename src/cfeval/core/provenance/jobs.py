"""A job before it runs: what it is given, takes in and makes, and whose code it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

ENDING = ".made.json"
"""What the name of a sidecar adds to that of the job's first output."""


@dataclass(frozen=True)
class Job:
    """A job; paths are relative to the working folder, and a folder's name ends with a slash."""

    stage: str
    """The verb, as `edct.baselines`."""
    command: tuple[str, ...]
    """The words after `cfeval`."""
    inputs: tuple[str, ...]
    """Files that other jobs make."""
    outputs: tuple[str, ...]
    """What it makes; the first is a file, gives the job its name and has the sidecar beside it."""
    code: Mapping[str, str]
    """Whose code it runs, by a name that stays when the file moves: `module:name` or `module` (see `sources`)."""
    files: tuple[str, ...] = ()
    """Files that no job makes: prompts, weights, own data, published figures."""
    aside: tuple[str, ...] = ()
    """Further words of the command on which no result depends, such as a batch size."""
    resources: Mapping[str, Any] = field(default_factory=dict)
    """What it holds while it runs: `gpu`, `gpu_model`, `api_slots`."""

    @property
    def name(self) -> str:
        """The first output."""
        return self.outputs[0]

    @property
    def sidecar(self) -> str:
        """The file that says what the outputs were made from."""
        return f"{self.name}{ENDING}"

    @property
    def made_files(self) -> tuple[str, ...]:
        """The outputs that are files: those that Snakemake knows."""
        return tuple(path for path in self.outputs if not path.endswith("/"))

    def at(self, place: str) -> "Job":
        """The same job where results lie elsewhere: in `place`, a folder with a slash at its end.

        That are inputs, outputs, and the words of the command that name one of them or a folder of theirs.
        """
        if not place:
            return self
        root = self.name.partition(f"/{self.stage.partition('.')[0]}/")[0]

        def there(words: tuple[str, ...]) -> tuple[str, ...]:
            ours = (word not in self.files and f"{word}/".startswith(f"{root}/") for word in words)
            return tuple(f"{place}{word}" if its else word for its, word in zip(ours, words, strict=True))

        return replace(self, command=there(self.command), inputs=there(self.inputs), outputs=there(self.outputs))

    def as_json(self) -> dict[str, Any]:
        """The job as JSON can hold it."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "Job":
        """The job that `as_json` told of."""
        content: dict[str, Any] = {k: tuple(value) if isinstance(value, list) else value for k, value in told.items()}
        return cls(**content)
