"""C-VQA, Section 4.3 and Figure 5: does a counterfactual cost more accuracy on images of women than on images of men?

Women's and men's images are two independent samples; each is resampled by image.
"""

from collections.abc import Sequence
from typing import Annotated

from cfeval.core.records import Binary
from cfeval.cvqa.records import HEADLINE, READERS, REAL, CvqaCondition, ExtractorName
from cfeval.cvqa.tables.accuracy import named
from cfeval.cvqa.tables.cells import arrow, range_columns, world
from cfeval.cvqa.tables.items import ALL, Item, both_sides, bounds, difference_of, items, kinds, missing
from cfeval.cvqa.tables.replies import CvqaTableData, ReadRow, Reply
from cfeval.report.columns import Bounded, Heading, laid_out
from cfeval.report.tables import (
    Figure,
    Figures,
    RenderedTable,
    Table,
    figures_of,
    interval_methods,
    intervals,
    p_cell,
)
from cfeval.stats import means
from cfeval.stats.intervals import ItemScore, estimate, mean_of, rounded
from cfeval.stats.paired import holm


class BiasRow(ReadRow):
    """How much more accuracy falls on images of women than of men: pairs about images with people of one kind only."""

    n: Annotated[int, Heading("Scored", lambda row: f"{row.n_female + row.n_male} of {row.n}", after="male_original")]
    """Pairs about images whose people are all women or all men."""
    n_unlabelled: int = 0
    """Pairs of the set about images without a label, or with people of both kinds."""
    missing: Annotated[str, Heading("Missing", after="n")] = ""
    """Why questions have no score, with counts of questions."""
    n_female: int = 0
    """Scored pairs on images of women only."""
    images_female: int = 0
    """Their different images."""
    female_original: Annotated[
        Figure,
        Heading(
            "Women",
            lambda row: f"{arrow(row.female_original, row.female_counterfactual)} ({row.images_female} images)",
            after="p_holm",
        ),
    ] = None
    """Accuracy on original questions about them."""
    female_counterfactual: Figure = None
    """Accuracy on counterfactual questions about them."""
    diff_female: Annotated[Bounded, Heading("diff(female)")] = None
    """Original − counterfactual, as the paper defines it: larger is worse."""
    n_male: int = 0
    """Scored pairs on images of men only."""
    images_male: int = 0
    """Their different images."""
    male_original: Annotated[
        Figure,
        Heading(
            "Men",
            lambda row: f"{arrow(row.male_original, row.male_counterfactual)} ({row.images_male} images)",
            after="female_original",
        ),
    ] = None
    """Accuracy on original questions about them."""
    male_counterfactual: Figure = None
    """Accuracy on counterfactual questions about them."""
    diff_male: Annotated[Bounded, Heading("diff(male)")] = None
    """Original − counterfactual."""
    gap: Annotated[Bounded, Heading("Gap")] = None
    """diff_female − diff_male, from two independent samples of images: above 0, counterfactual questions about women
    suffer more.
    """
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    p: Figure = None
    """Two-sided, that the gap is 0; from the same bootstrap."""
    p_holm: Annotated[Figure, Heading("p, Holm", lambda row: p_cell(row.p_holm))] = None
    """Adjusted by Holm over the rows of one reader."""
    test_world: Binary = 0
    """1: a built-in test solver, which stands for no real model."""


GENDERS = ("female", "male")
EMPTY = "Empty: no labels of people were given, or nobody answered questions about labelled images."
NOTE = (
    "diff: original − counterfactual, so larger is worse; gap: diff(female) − diff(male), above 0 where counterfactual "
    "questions about women suffer more. Read by the robust reader; ranges say what the missing scores could change. "
    "Labels are of perceived gender; images of people of both kinds are left out."
)
DRAWN = "People of the built-in scenes are figures as on signs, a woman or a man by lot, of whom no question speaks."


def rows(material: CvqaTableData) -> list[BiasRow]:
    """A row for each solver of a whole set, type and reader; `all` is all types together."""
    conditions = [
        condition
        for condition, of in material.scores.items()
        if of and of[0].type in REAL and not material.is_subset(condition.set)
    ]
    found = [
        BiasRow.model_validate(_figures(material, condition, kind, reader))
        for condition in conditions
        if _labelled(material, material.scores[condition])
        for kind in (*kinds(material.scores[condition]), ALL)
        for reader in READERS
    ]
    return _adjusted(found)


def render(of: Sequence[BiasRow]) -> RenderedTable:
    """The table for readers, by the robust reader."""
    shown = [row for row in of if row.reader == HEADLINE]
    ranges = range_columns(shown, {"diff_female": "Women range", "diff_male": "Men range", "gap": "Gap range"})
    columns = laid_out(BiasRow, shown, {"gap": ranges}, without=() if len({row.set for row in shown}) > 1 else ("set",))
    drawn = (DRAWN,) if any(row.test_world for row in of) else ()
    notes = (intervals(of) + NOTE, *drawn, *world(of)) if of else (EMPTY,)
    return RenderedTable("cvqa_bias", "C-VQA, Figure 5: women and men", *columns, notes)


def _labelled(material: CvqaTableData, replies: Sequence[Reply]) -> list[Reply]:
    return [reply for reply in replies if _people(material, reply)]


def _figures(material: CvqaTableData, condition: CvqaCondition, kind: str, reader: ExtractorName) -> Figures:
    wanted = REAL if kind == ALL else (kind,)
    replies = [reply for reply in material.scores[condition] if reply.type in wanted]
    known = _labelled(material, replies)
    figures = named(material, condition) | {"type": kind, "reader": reader, "missing": missing(known, reader)}
    figures |= {"n": _pairs(known), "n_unlabelled": _pairs(replies) - _pairs(known)}
    drops, methods = {}, []
    for who in GENDERS:
        everyone = items((reply for reply in known if _people(material, reply) == who), reader)
        figures |= _ranges(who, everyone)
        of = both_sides(everyone)
        drops[who] = _drops(of)
        more, method = _of_gender(who, of, drops[who], material)
        figures |= more
        methods.append(method)
    if all(f"diff_{who}_min" in figures for who in GENDERS):
        figures |= _gap_range(figures)
    if all(drops.values()):
        more, method = _gap(drops["female"], drops["male"], material)
        figures |= more
        methods.append(method)
    return figures | {"ci": interval_methods(*methods)}


def _people(material: CvqaTableData, reply: Reply) -> str | None:
    """Whom the image of a reply shows, as the set itself or a file of labels says; None: both, nobody or not known."""
    return reply.people or (None if reply.coco is None else material.genders.get(reply.coco))


def _pairs(replies: Sequence[Reply]) -> int:
    return len({reply.id for reply in replies})


def _ranges(who: str, of: Sequence[Item]) -> Figures:
    """What original − counterfactual could be over all pairs about a gender's images."""
    found: Figures = {}
    for end, other in (("min", "max"), ("max", "min")):
        value = bounds(of).get(f"difference_{other}")
        found |= {f"diff_{who}_{end}": 0.0 - value} if isinstance(value, float) else {}
    return found


def _gap_range(figures: Figures) -> Figures:
    """Between the ends of both genders' ranges."""
    ends = {name: value for name, value in figures.items() if isinstance(value, float)}
    return {
        "gap_min": rounded(ends["diff_female_min"] - ends["diff_male_max"]),
        "gap_max": rounded(ends["diff_female_max"] - ends["diff_male_min"]),
    }


def _drops(of: Sequence[Item]) -> list[ItemScore]:
    """Original − counterfactual of each item."""
    told = ((item, item.original, item.counterfactual) for item in of)
    return [ItemScore(i.id, i.image, first - then) for i, first, then in told if first is not None and then is not None]


def _of_gender(
    who: str, of: Sequence[Item], drops: Sequence[ItemScore], material: CvqaTableData
) -> tuple[Figures, str]:
    figures: Figures = {f"n_{who}": len(of), f"images_{who}": len({item.image for item in of})}
    if not drops:
        return figures, ""
    first = [ItemScore(item.id, item.image, item.original or 0.0) for item in of]
    then = [ItemScore(item.id, item.image, item.counterfactual or 0.0) for item in of]
    found = estimate(drops, material.interval, bounds=(-1.0, 1.0))
    figures |= {f"{who}_original": mean_of(first), f"{who}_counterfactual": mean_of(then)}
    more = figures_of({f"diff_{who}": found})
    return figures | {name: value for name, value in more.items() if name != "ci"}, found.method


def _gap(female: Sequence[ItemScore], male: Sequence[ItemScore], material: CvqaTableData) -> tuple[Figures, str]:
    how = material.interval
    numbers, groups = ([[getattr(v, f) for v in some] for some in (female, male)] for f in ("value", "cluster"))
    found = means.gap(numbers[0], numbers[1], how.level, how.resamples, how.seed, (groups[0], groups[1]))
    return difference_of("gap", found.difference) | {"p": found.p}, found.difference.method


def _adjusted(rows: Sequence[BiasRow]) -> list[BiasRow]:
    holms = {reader: iter(holm([row.p for row in rows if row.reader == reader])) for reader in READERS}
    return [
        row.model_copy(update={"p": rounded(row.p), "p_holm": rounded(next(holms[reader]))})
        for row in rows
        for reader in READERS
        if row.reader == reader
    ]


TABLE = Table(row=BiasRow, rows=rows, render=render)
