"""The record files of one condition: where they lie under a study's results, and what they hold."""

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from cfeval.core import images
from cfeval.core.cli_options import build, existing
from cfeval.core.errors import InputError, nearest
from cfeval.core.images import Image, folder_of
from cfeval.core.jsonl import read_jsonl, stream_csv
from cfeval.core.record import SHARD, shard_names
from cfeval.core.records import Record
from cfeval.core.shards import shard_files
from cfeval.core.streams import StreamingLookup
from cfeval.datasets.sample import Sample
from cfeval.edct.protocols.rules import RULES
from cfeval.edct.records import Baseline, Check, Condition, Counterfactual, Instruction, Requery, Score, Verdict
from cfeval.inference.prompts import load_prompt

# Which of two wordings of the conversation a target is sent.
Wording = Literal["a", "b"]
# An item and the number of its edit.
Key = tuple[str, int]
NAMES = tuple(Condition.model_fields)
# The names of a condition that are folders, outermost first; its protocol is the name of the file in them.
FOLDERS = ("dataset", "vlm", "writer", "editor", "judge")


class Stage(NamedTuple):
    """The files of a stage: how many folders they lie in, whether each is of one protocol, and the records in them.

    A file of all protocols has the name of its last folder: `baselines/world/grounded.jsonl`.
    """

    folders: int
    by_protocol: bool
    kind: type[Record]


# By name, in the order in which they follow each other.
STAGES = {
    "items": Stage(1, False, Sample),
    "baselines": Stage(2, False, Baseline),
    "instructions": Stage(3, True, Instruction),
    "counterfactuals": Stage(4, True, Counterfactual),
    "checks": Stage(4, True, Check),
    "requeries": Stage(4, True, Requery),
    "verdicts": Stage(5, True, Verdict),
    "scores": Stage(5, True, Score),
}
_SHARD = re.compile(SHARD)


def condition_path(condition: Condition, names: int = len(NAMES)) -> str:
    """A condition's first so many names, as a study's outputs call it."""
    return "/".join(getattr(condition, name) for name in NAMES[:names])


def stage_files(results: Path, stage: str, condition: Condition, shards: int) -> list[Path]:
    """The files of a stage of a condition, one a shard."""
    kind, ending = STAGES[stage], "csv" if stage == "scores" else "jsonl"
    folder = results.joinpath(stage, *(getattr(condition, name) for name in FOLDERS[: kind.folders]))
    if not kind.by_protocol:
        return shard_files(folder.with_name(f"{folder.name}.{ending}"), shards)
    folders = [folder] if shards == 1 else [folder / name for name in shard_names(shards)]
    return [place / f"{condition.protocol}.{ending}" for place in folders]


def stage_records(stage: str, file: Path) -> Iterator[Any]:
    """The records of a file of a stage, in the order of its lines; InputError where it is missing or broken."""
    kind = STAGES[stage].kind
    return stream_csv(file, kind) if stage == "scores" else read_jsonl(file, kind)


def condition_records(
    results: Path, stage: str, condition: Condition, shards: int, items: Collection[str] | None = None
) -> Iterator[tuple[Any, Path]]:
    """The records of a stage of a condition, of all items or of some, each with the folder of its images; InputError
    where a file is missing or broken.
    """
    for file in stage_files(results, stage, condition, shards):
        folder = folder_of(file)
        for record in stage_records(stage, file):
            if items is None or record.id in items:
                yield record, folder


def conditions_in(results: Path, may_be_none: bool = False) -> dict[Condition, int]:
    """Every condition that has verdicts or scores, and into how many shards its files are cut; in the order of their
    names; InputError where there is none and there must be one, or a condition has both whole files and shards.
    """
    shards_of: dict[Condition, set[str]] = {}  # an empty name stands for whole files
    for stage, ending in (("verdicts", "jsonl"), ("scores", "csv")):
        for file in sorted((results / stage).rglob(f"*.{ending}")):
            *names, protocol = file.relative_to(results / stage).with_suffix("").parts
            whole = len(names) == len(FOLDERS)
            if whole or (len(names) == len(FOLDERS) + 1 and _SHARD.fullmatch(names[-1])):
                condition = Condition(protocol=protocol, **dict(zip(FOLDERS, names, strict=False)))
                shards_of.setdefault(condition, set()).add("" if whole else names[-1])
    if not shards_of and not may_be_none:
        raise InputError(f"{results}: no verdicts and no scores; name the folder of a study's results (results/edct)")
    shards: dict[Condition, int] = {}
    for condition in sorted(shards_of, key=condition_path):
        names_of_shards = shards_of[condition]
        if "" in names_of_shards and len(names_of_shards) > 1:
            raise InputError(f"{condition_path(condition)}: both whole files and shards; remove those of the older run")
        shards[condition] = 1 if names_of_shards == {""} else max(map(int, names_of_shards)) + 1
    return shards


class ConditionFiles:
    """Reads the record files of a condition, of all items or of some; InputError where a file is missing or broken."""

    def __init__(self, results: Path, condition: Condition, shards: int, items: Collection[str] | None = None) -> None:
        self._results, self._condition, self._shards, self._items = results, condition, shards, items

    def scores(self) -> Iterator[Score]:
        """In the order of the files."""
        return (score for score, _ in self._records("scores"))

    def samples(self) -> Iterator[tuple[Sample, Path]]:
        """The samples, each with the folder that holds its image."""
        return self._records("items")

    def baselines(self) -> dict[str, Baseline]:
        """The conversations about the originals."""
        return {record.id: record for record, _ in self._records("baselines")}

    def instructions(self) -> dict[Key, Instruction]:
        """The edit instructions."""
        return self._by_edit("instructions")

    def counterfactuals(self) -> Iterator[tuple[Counterfactual, Path]]:
        """What was made of each instruction, with the folder that holds its images."""
        return self._records("counterfactuals")

    def checks(self) -> dict[Key, Check]:
        """What was found out about the counterfactual images."""
        return self._by_edit("checks")

    def requeries(self) -> dict[Key, Requery]:
        """The conversations about the counterfactual images."""
        return self._by_edit("requeries")

    def verdicts(self) -> dict[Key, Verdict]:
        """What the judge decided."""
        return self._by_edit("verdicts")

    def _records(self, stage: str) -> Iterator[tuple[Any, Path]]:
        return condition_records(self._results, stage, self._condition, self._shards, self._items)

    def _by_edit(self, stage: str) -> dict[Key, Any]:
        return {(record.id, record.edit): record for record, _ in self._records(stage)}


def _known_protocol(name: str) -> str:
    if name not in RULES:
        raise InputError(f"--protocol: unknown protocol '{name}'; {nearest(name, RULES)}")
    return name


BaselineFile = Annotated[Path, typer.Option("--baselines", callback=existing, help="Baseline conversations (JSONL).")]
InstructionsFile = Annotated[Path, typer.Option("--instructions", callback=existing, help="Edit instructions (JSONL).")]
CitedFile = Annotated[
    Path | None,
    typer.Option(
        "--cited",
        callback=lambda path: path and existing(path),
        help="Under null-edit: the instructions of the cited edits (JSONL).",
    ),
]
CounterfactualsFile = Annotated[
    Path,
    typer.Option(
        "--counterfactuals",
        callback=existing,
        help="Counterfactuals (JSONL); their images lie in the folder or archive beside.",
    ),
]
RequeryFile = Annotated[
    Path, typer.Option("--requeries", callback=existing, help="Conversations about the counterfactuals (JSONL).")
]
Protocol = Annotated[
    str,
    typer.Option(
        "--protocol",
        callback=_known_protocol,
        help="The protocol: edct-2025, edct-bench-2026, null-edit, editor-null, uncited-edit or blank-image.",
    ),
]
WordingOption = Annotated[
    Wording, typer.Option("--wording", help="Which of two wordings of question and request for a reason is sent.")
]
VlmSpec = Annotated[str, typer.Option("--vlm", help="The target model, as JSON: its plugin and options.")]


def build_if_asked(family: str, text: str, option: str, protocol: str) -> Any:
    """The same for a writer or editor; None under a protocol that asks neither."""
    needed = RULES[protocol].edited if family == "editors" else RULES[protocol].written
    return build(family, text, option) if needed else None


def conversation_prompts(folder: str, wording: Wording = "a") -> tuple[str, str]:
    """The templates of the two turns, answer.md and explain.md; of the other wording answer_b.md and explain_b.md."""
    source, ending = Path(folder) if folder else None, "" if wording == "a" else f"_{wording}"
    names = (f"answer{ending}", f"explain{ending}")
    answer, explain = (load_prompt(name, protocol="conversation", folder=source) for name in names)
    return answer, explain


def baselines_by_id(path: Path) -> StreamingLookup[str, Baseline]:
    """The baseline conversations of a file."""
    return StreamingLookup(path, Baseline, lambda record: record.id)


def instructions_by_edit(path: Path) -> StreamingLookup[tuple[str, int], Instruction]:
    """The instructions of a file by item and edit."""
    return StreamingLookup(path, Instruction, lambda record: (record.id, record.edit))


def made_by_edit(path: Path) -> StreamingLookup[tuple[str, int], Counterfactual]:
    """The counterfactuals of a file by item and edit."""
    return StreamingLookup(path, Counterfactual, lambda record: (record.id, record.edit))


def checks_by_edit(path: Path) -> StreamingLookup[tuple[str, int], Check]:
    """The checks of a file by item and edit."""
    return StreamingLookup(path, Check, lambda record: (record.id, record.edit))


def edited(counterfactuals: Path) -> Callable[[Counterfactual], Image]:
    """How to open a counterfactual's image."""
    folder = images.folder_of(counterfactuals)

    def open_one(record: Counterfactual) -> Image:
        assert record.image is not None, "only a counterfactual with status ok is opened"
        return images.load(folder, record.image)

    return open_one
