"""Check that the results of the study belong together, offline: images, counterfactuals, scores, groups, tables."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cfeval.core.errors import InputError
from cfeval.core.images import Image, fault_of, folder_of
from cfeval.core.jsonl import read_jsonl
from cfeval.core.vouching import Fault, report_links, vouched
from cfeval.vce.predictions import Views
from cfeval.vce.records import GroupScore, SourceImage, VceCounterfactual, VceScore
from cfeval.vce.stages.group_figures import Distributions
from cfeval.vce.stages.group_scores import group_scores
from cfeval.vce.stages.scores import COMMON

_SAME = (*COMMON, "status")
_REFERENCE = "_batch"
"""How figures end that the reference evaluation alone has."""


def verify(results: Path, limit: int = 20, tables: Iterable[Fault] = ()) -> None:
    """Check every file of the study's results against those that it rests on, and print what does not fit.

    Images are those that their records name; a counterfactual is of an image of its source class; each has one score,
    with its names and status; a group has the figures that follow from its scores. What needs a classifier or the
    images is not measured again. Records (`X.made.json`), where there are any, name the files as they are.

    Args:
        results: the study's folder, such as results/vce.
        limit: how many faults to print.
        tables: what was found when the tables were made again.

    Raises:
        InputError: there are no groups, or something does not fit.
    """
    groups = sorted((results / "groups").rglob("*.jsonl"))
    if not groups:
        raise InputError(f"{results}: no groups; name the folder that holds images/, counterfactuals/ and scores/")
    kinds = (
        ("images", _images(results)),
        ("counterfactuals", _counterfactuals(results)),
        ("scores", _scores(results)),
        ("groups", _groups(results, groups)),
        ("records", ((str(file), fault) for file, fault in vouched(results).faults(groups))),
        ("tables", tables),
    )
    report_links(results, len(groups), kinds, limit)


def shards(folder: Path, name: Path) -> list[Path]:
    """The files of what has a name: one, or its shards in the folder of that name."""
    whole = folder / name.with_name(f"{name.name}.jsonl")
    return [whole] if whole.is_file() else sorted((folder / name).glob("*.jsonl"))


def _images(results: Path) -> Iterator[Fault]:
    kinds: dict[str, type[SourceImage] | type[VceCounterfactual]] = {
        "images": SourceImage,
        "counterfactuals": VceCounterfactual,
    }
    for stage, kind in kinds.items():
        for file in sorted((results / stage).rglob("*.jsonl")):
            for record in read_jsonl(file, kind):
                if record.image is not None:
                    yield f"{file}, item '{record.id}'", fault_of(folder_of(file), record.image)


def _counterfactuals(results: Path) -> Iterator[Fault]:
    """Each counterfactual is of an image that is there, and of its class."""
    made, labels = results / "counterfactuals", dict[str, dict[str, str]]()
    for file in sorted(made.rglob("*.jsonl")):
        name = file.relative_to(made).parts[0]
        if name not in labels:
            images = (
                image for part in shards(results / "images", Path(name)) for image in read_jsonl(part, SourceImage)
            )
            labels[name] = {image.id: image.label for image in images}
        for record in read_jsonl(file, VceCounterfactual):
            label = labels[name].get(record.source_image)
            fault = f"is of class '{label}', not '{record.source}'" if label else "is not among the images"
            message = f"its original '{record.source_image}' {fault}"
            yield f"{file}, item '{record.id}'", "" if label == record.source else message


def _scores(results: Path) -> Iterator[Fault]:
    """Each counterfactual has its score, under its names and with its status."""
    made, scored = results / "counterfactuals", results / "scores"
    for place in sorted({file.relative_to(folder) for folder in (made, scored) for file in folder.rglob("*.jsonl")}):
        try:
            for record, score in zip_longest(
                read_jsonl(made / place, VceCounterfactual), read_jsonl(scored / place, VceScore)
            ):
                either = score or record
                assert either is not None, "the longer of both goes on"
                same = record and score and all(getattr(record, name) == getattr(score, name) for name in _SAME)
                yield f"{scored / place}, item '{either.id}'", "" if same else "is not the score of its counterfactual"
        except InputError as error:
            yield str(scored / place), str(error)


def _groups(results: Path, groups: Iterable[Path]) -> Iterator[Fault]:
    """Each group has the counts, and those of its figures, that its scores give without a look at images."""
    for file in groups:
        name = file.relative_to(results / "groups").with_suffix("")
        try:
            recorded = list(read_jsonl(file, GroupScore))
            again = _again(
                recorded, [s for part in shards(results / "scores", name) for s in read_jsonl(part, VceScore)]
            )
            for old, new in zip_longest(recorded, again):
                either = old or new
                assert either is not None, "the longer of both goes on"
                where = f"{file}, {either.group.source} → {either.group.target}"
                yield where, _difference(old, new) if old and new else "is not a group of the scores"
        except InputError as error:
            yield str(file), str(error)


def _again(recorded: Sequence[GroupScore], scores: Sequence[VceScore]) -> list[GroupScore]:
    if not recorded:
        return []
    reference = any(name.endswith(_REFERENCE) for group in recorded for name in group.figures)
    views = Views(_no_image, _no_image, _no_sample if reference else None)
    return list(group_scores(scores, recorded[0].condition, Distributions(views, {}), {}, 0))


def _difference(old: GroupScore, new: GroupScore) -> str:
    for name in ("condition", "group", "n", "n_scored", "missing"):
        if getattr(old, name) != getattr(new, name):
            return f"{name} is {getattr(old, name)}, not {getattr(new, name)}"
    wrong = (name for name, value in new.figures.items() if old.figures.get(name) != value)
    return next((f"{name} is {old.figures.get(name)}, not {new.figures[name]}" for name in wrong), "")


def _no_image(name: str) -> Image:
    raise AssertionError(f"no figure of the scores needs the image {name}")


def _no_sample(name: str) -> npt.NDArray[np.float32]:
    raise AssertionError(f"no figure of the scores needs the sample {name}")
