"""What the verbs of every study share: options, opening what the stages pass on, and parameters of whole studies.

A step that sees a whole study reads its parameters from a JSON file that the workflow writes. It holds just what the
step needs, so that no other parameter makes the step's results outdated.
"""

import json
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.core.files import ensure_writable
from cfeval.core.jsonl import read_jsonl
from cfeval.core.record import MOST_SHARDS, protocols, uses
from cfeval.core.records import Record

R = TypeVar("R", bound=Record)
T = TypeVar("T")


def writable(out: Path) -> Path:
    """Refuse an output that could not be written, before any work is spent on it (OutputError)."""
    ensure_writable(out)
    return out


def existing(path: Path) -> Path:
    """Refuse what is not there before a model is loaded, and what can be read only once: files are read again."""
    if not path.is_file():
        if path.exists() and not path.is_dir():
            raise InputError(f"{path}: a pipe, and it is read more than once; write it to a file and name that")
        raise InputError(f"{path}: {'is a folder, a file is needed' if path.is_dir() else 'no such file'}")
    return path


Out = Annotated[Path, typer.Option("--out", callback=writable, help="File to write; it appears whole or not at all.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the study.")]
PromptFolder = Annotated[str, typer.Option("--prompts", help="Folder with own prompt templates; empty: the package's.")]
Shards = Annotated[
    int, typer.Option("--shards", min=1, max=MOST_SHARDS, help="Into how many files; above 1, OUT becomes a folder.")
]
Archive = Annotated[
    bool, typer.Option("--archive", help="Put the images into one file, OUT.zip, in the place of the folder OUT.")
]
Cut = Annotated[
    int | None,
    typer.Option(
        "--cut", min=1, max=MOST_SHARDS, help="Into how many shards each file is cut; else all that lie there."
    ),
]
TableOut = Annotated[
    Path, typer.Option("--out", callback=writable, help="Table to write, without ending: OUT.csv, OUT.md and OUT.tex.")
]
OutFolder = Annotated[Path, typer.Option("--out", callback=writable, help="Folder to write into.")]


def plugin_spec(family: str, text: str, option: str, by_item: bool = False) -> dict[str, Any]:
    """The plugin that the command line describes as JSON: the key `plugin` and the plugin's options.

    What it depends on counts as read; with `by_item`, but for what it names item by item.

    Raises:
        InputError: not such JSON, or no such plugin or option.
    """
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{option}: not JSON ({error.msg} at character {error.pos})") from None
    if not isinstance(content, dict) or not isinstance(content.get("plugin"), str):
        raise InputError(f"""{option}: a plugin is JSON such as '{{"plugin": "world", "persona": "grounded"}}'""")
    uses(*registry.dependencies(family, content, protocols(), by_item))
    return content


def build(family: str, text: str, option: str, by_item: bool = False) -> Any:
    """Build the plugin that the command line describes as JSON; arguments and errors like `plugin_spec`."""
    return registry.build(family, plugin_spec(family, text, option, by_item))


def from_json(text: str, kind: type[T], option: str) -> T:
    """An option's JSON, checked.

    Raises:
        InputError: not JSON, or not of that kind; one line naming the place.
    """
    try:
        return TypeAdapter(kind).validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{option}: {place + ': ' if place else ''}{first['msg']}") from None


def count_valid_records(path: Path, kind: type[R]) -> int:
    """How many records a file holds, each read once: a line that is none is told before any work is done."""
    return sum(1 for _ in read_jsonl(path, kind))


class StudyParams(BaseModel):
    """Parameters of a step; unknown ones are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def as_json(self) -> str:
        """The text of the file: the same for the same parameters."""
        return self.model_dump_json(exclude_defaults=True)


P = TypeVar("P", bound=StudyParams)
StudyFile = Annotated[
    Path, typer.Option("--study", callback=existing, help="What the step needs of the study's parameters (JSON).")
]


def read_study_params(file: Path, kind: type[P]) -> P:
    """The parameters in a file; InputError where it is of another kind."""
    try:
        return kind.model_validate_json(file.read_text(encoding="utf-8"))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"{file}: {place}: {first['msg']}; the workflow writes this file: snakemake -n -p") from None
