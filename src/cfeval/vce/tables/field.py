"""The field's tables for two classes in both directions: realism, identity, sparsity, validity; published ones beside.

As in ACE (Jeanneret et al. 2023, Section 4), figures are of what succeeded where the method rejects the rest, and
the flip rate is of all that was asked for. FID and sFID, of Inception's 2,048 features, are of both directions together
where both were run; CD, which needs both, is of them alone. The other figures are means over the groups of the two
classes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

from cfeval.report.columns import Heading, laid_out
from cfeval.report.tables import Figure, RenderedTable, Table
from cfeval.stats.intervals import rounded
from cfeval.vce.records import GroupScore
from cfeval.vce.tables.group_scores import GroupMaterial, PublishedFigure, Setting, SettingNames
from cfeval.vce.tables.summary import mean, shown, told

EMPTY = "Empty: no groups with ideal targets."
_TITLE = "Two classes: what the field's papers report"
_READING = (
    "FID and sFID are of both directions together where both were run, CD only where they were and where the attribute "
    "came in some image and went from another; the other figures are means over groups. "
    "FR: of all counterfactuals that were asked for, the share that the classifier sees otherwise than their image. "
    "↑ higher is better, ↓ lower. Blank: there is no such figure; FID needs more images than its 2,048 features."
)
_PUBLISHED = (
    "Published: other images, classifiers and samplers stand behind these figures; read them as orders of size."
)
METRICS = {
    "fid": ("fid_2048_both", "fid_2048"),
    "sfid": ("sfid_2048_both", "sfid_2048"),
    "fva": ("fva",),
    "fs": ("fs",),
    "s3": ("s3",),
    "mnac": ("mnac_",),
    "cd": ("cd_",),
    "cout": ("cout",),
}
"""Columns, and the figures of groups that may fill them, the best first; a name that ends in `_` is the beginning."""


def _cell(name: str) -> Heading:
    headed = {"fid": "FID ↓", "sfid": "sFID ↓", "fva": "FVA ↑", "fs": "FS ↑", "s3": "S3 ↑", "mnac": "MNAC ↓"}
    headed |= {"cd": "CD ↓", "cout": "COUT ↑", "fr": "FR ↑"}
    return Heading(headed[name], lambda row: shown(getattr(row, name)))


class FieldRow(Setting):
    """One method on one classifier and two classes, or what a paper printed for such."""

    classes: Annotated[str, Heading("Classes")]
    """The two, in the order of their names."""
    method: Annotated[str, Heading("Method")]
    """Whose counterfactuals."""
    classifier: Annotated[str, Heading("Classifier")] = ""
    """The classifier that is explained; empty of a published figure."""
    source: Annotated[str, Heading("Published in")] = ""
    """The paper; empty of what this study measured."""
    fid: Annotated[Figure, _cell("fid")] = None
    """Fréchet distance of Inception's 2,048 features between images and counterfactuals."""
    sfid: Annotated[Figure, _cell("sfid")] = None
    """The same across halves."""
    fva: Annotated[Figure, _cell("fva")] = None
    """Face verification accuracy: the share with a cosine of face embeddings above 0.5."""
    fs: Annotated[Figure, _cell("fs")] = None
    """Face similarity: the mean of these cosines."""
    s3: Annotated[Figure, _cell("s3")] = None
    """Mean cosine of SimSiam's embeddings."""
    mnac: Annotated[Figure, _cell("mnac")] = None
    """Mean number of attributes changed."""
    cd: Annotated[Figure, _cell("cd")] = None
    """Correlation difference, of both directions together; blank where one alone was run."""
    cout: Annotated[Figure, _cell("cout")] = None
    """Counterfactual transition."""
    fr: Annotated[Figure, _cell("fr")] = None
    """Flip rate, of all that was asked for."""
    n_groups: int = 0
    """Directions that were run."""
    n: int = 0
    """Counterfactual images that were asked for."""
    n_scored: Annotated[int, Heading("Scored", lambda row: f"{row.n_scored} of {row.n}" if row.n else "")] = 0
    """Those of them that have a result."""


def rows(material: GroupMaterial) -> list[FieldRow]:
    """A row a pair of classes, method and classifier, with the published ones after those of the same classes."""
    return [row for setting in material.settings() for row in _of_setting(material, setting)]


def render(of: Sequence[FieldRow]) -> RenderedTable:
    """The table for readers, without columns that nothing fills."""
    several = len({(row.image_set, row.denoiser) for row in of}) > 1
    empty = [name for name in (*METRICS, "fr", "source", "classifier") if not any(getattr(row, name) for row in of)]
    without = [*(() if several else ("image_set", "denoiser")), *(empty if of else ())]
    columns = laid_out(FieldRow, of, without=without)
    notes = (_READING, *((_PUBLISHED,) if any(row.source for row in of) else ()))
    return RenderedTable("vce_field", _TITLE, *columns, notes if of else (EMPTY,))


def classes_of(source: str, target: str) -> str:
    """Two classes in the order of their names: `cheetah / cougar`."""
    return " / ".join(sorted((source, target), key=str.lower))


def _of_setting(material: GroupMaterial, setting: SettingNames) -> Iterator[FieldRow]:
    found: dict[str, list[FieldRow]] = {}
    for condition, scores in material.conditions.items():
        if (condition.image_set, condition.denoiser) != setting:
            continue
        ideal = [score for score in scores if score.group.pair == "ideal"]
        for classes in dict.fromkeys(classes_of(score.group.source, score.group.target) for score in ideal):
            some = [score for score in ideal if classes_of(score.group.source, score.group.target) == classes]
            named = {"method": condition.method, "classifier": condition.classifier, "classes": classes}
            found.setdefault(classes, []).append(_row(setting, named, some))
    for classes, own in found.items():
        yield from own
        yield from _published(setting, classes, material.others)


def _row(setting: SettingNames, named: dict[str, str], groups: Sequence[GroupScore]) -> FieldRow:
    flipped = [score.figures["fr"] * score.n_scored / score.n for score in groups if "fr" in score.figures and score.n]
    flipped += [0.0 for score in groups if not score.n_scored and score.n]
    figures = {column: _figure(groups, names) for column, names in METRICS.items()}
    return FieldRow(
        **{"image_set": setting[0], "denoiser": setting[1]},
        **named,
        **figures,
        fr=rounded(mean(flipped)),
        n_groups=len(groups),
        n=sum(score.n for score in groups),
        n_scored=sum(score.n_scored for score in groups),
    )


def _figure(groups: Sequence[GroupScore], names: Iterable[str]) -> float | None:
    """The mean of the first of some figures that a group has."""
    known = sorted({name for score in groups for name in score.figures})
    wanted = (n for name in names for n in known if n == name or (name.endswith("_") and n.startswith(name)))
    first = next(wanted, None)
    return rounded(mean(told(groups, first))) if first else None


def _published(setting: SettingNames, classes: str, of: Sequence[PublishedFigure]) -> Iterator[FieldRow]:
    here = [figure for figure in of if figure.classes == classes]
    for method, source in dict.fromkeys((figure.method, figure.source) for figure in here):
        values = {f.metric: f.value for f in here if (f.method, f.source) == (method, source)}
        named = {"image_set": setting[0], "denoiser": setting[1], "classes": classes, "method": method}
        yield FieldRow(**named, source=source, **values)


TABLE = Table(row=FieldRow, rows=rows, render=render)
