"""Two sets of replies compared: with chain of thought and without (C-VQA, Table 4), images of women and of men (Section
4.3 and Figure 5), published questions and fresh ones.

The first two are about the same pairs; the others are independent samples, each resampled by image.
"""

from collections.abc import Sequence
from typing import Annotated

from cfeval.cvqa.records import HEADLINE, READERS, REAL, SIDES, CvqaCondition, ExtractorName
from cfeval.cvqa.tables.accuracy import SIDES_AND_DIFFERENCE, AccuracyRow, render_accuracy, row_figures
from cfeval.cvqa.tables.items import (
    ALL,
    Kind,
    Llm,
    ReadRow,
    Solver,
    TestSolver,
    Type,
    adjusted,
    arrow,
    both_sides,
    bounds,
    changes,
    difference_bounds,
    in_short,
    items,
    kinds,
    missing,
    noted,
    of_kind,
    paired,
    range_columns,
    side_values,
    tested,
    unpaired,
)
from cfeval.cvqa.tables.replies import CvqaTableData, Reply
from cfeval.report.tables import (
    Bounded,
    Figure,
    Figures,
    Heading,
    Methods,
    RenderedTable,
    Table,
    TableRow,
    estimate_fields,
    figures_of,
    interval_methods,
    p_cell,
    table,
)
from cfeval.stats import means
from cfeval.stats.intervals import ItemScore, estimate, mean_of, rounded
from cfeval.stats.paired import holm


class CotRow(AccuracyRow):
    """Chain of thought beside the same solver without."""

    no_cot_baseline: str
    """The same solver without chain of thought."""
    n_both: int = 0
    """Pairs that both have a score for on both sides; the tests rest on them."""
    plain_original: Annotated[
        Figure, Heading("Without", lambda row: arrow(row.plain_original, row.plain_counterfactual))
    ] = None
    """Accuracy without chain of thought, on the pairs that both were asked about."""
    plain_counterfactual: Figure = None
    """The same on counterfactual questions."""
    change_original: Annotated[Bounded, Heading("Change, original")] = None
    """With chain of thought − without."""
    p_original: Figure = None
    """Two-sided, that the change is 0."""
    p_original_holm: Annotated[Figure, Heading("p, Holm", lambda row: p_cell(row.p_original_holm))] = None
    """Adjusted by Holm over all changes of one reader in this table, on either side."""
    change_counterfactual: Annotated[Bounded, Heading("Change, counterfactual")] = None
    """The same change on counterfactual questions."""
    p_counterfactual: Figure = None
    """Two-sided, that it is 0."""
    p_counterfactual_holm: Annotated[Figure, Heading("p, Holm", lambda row: p_cell(row.p_counterfactual_holm))] = None
    """Adjusted likewise."""
    ci_change: str = ""
    """How the intervals of the changes were computed."""


def cot_rows(material: CvqaTableData) -> list[CotRow]:
    """A row for each solver with chain of thought, type and reader; their p-values adjusted over both sides."""
    rows = adjusted(
        [
            _cot_row(material, condition, kind, reader)
            for condition, replies in material.scores.items()
            if replies and material.facts(condition.solver).cot
            for kind in kinds(replies)
            for reader in READERS
        ]
    )
    for reader in READERS:
        places = [(number, side) for number, row in enumerate(rows) if row.reader == reader for side in SIDES]
        p_values = [getattr(rows[number], f"p_{side}") for number, side in places]
        for (number, side), p, p_holm in zip(places, p_values, holm(p_values), strict=True):
            update = {f"p_{side}": rounded(p), f"p_{side}_holm": rounded(p_holm)}
            rows[number] = rows[number].model_copy(update=update)
    return rows


def _cot_row(material: CvqaTableData, condition: CvqaCondition, kind: str, reader: ExtractorName) -> CotRow:
    """The changes are on the pairs that both were asked about: each on its own scores, the tests on all four."""
    name = material.facts(condition.solver).no_cot_baseline
    figures = row_figures(material, "table4", condition, kind, reader) | {"no_cot_baseline": name}
    with_, without = (
        {item.id: item for item in items(of_kind(material.scores.get(one, ()), kind), reader)}
        for one in (condition, condition.model_copy(update={"solver": name}))
    )
    shared = [(item, without[name]) for name, item in with_.items() if name in without]
    both = [pair for pair in shared if len(both_sides(pair)) == 2]
    figures |= {"n_both": len(both)}
    could_be = [bounds(some) for some in zip(*shared, strict=True)] or [{}, {}]
    for side in SIDES:
        figures |= difference_bounds(f"change_{side}", could_be[0], could_be[1], (side, side))
    if not both:
        return CotRow.model_validate(figures)
    methods = []
    for side in SIDES:
        scored, plain = (side_values(some, side) for some in zip(*both, strict=True))
        comparison = paired(scored, plain, material.interval)
        mine, theirs = (side_values(some, side) for some in zip(*shared, strict=True))
        whole = len(mine) == len(theirs) == len(both)
        change = comparison.difference if whole else unpaired(mine, theirs, material.interval)
        figures |= {f"plain_{side}": mean_of(theirs), f"p_{side}": tested(comparison)["p"]}
        figures |= estimate_fields(f"change_{side}", change)
        methods.append(change.method)
    return CotRow.model_validate(figures | {"ci_change": interval_methods(*methods)})


def _render_cot(rows: Sequence[CotRow]) -> RenderedTable:
    """The accuracies, then what chain of thought changes."""
    note = (
        "Change: with chain of thought − without, each on its own scores; its p-values are adjusted by Holm over "
        "all changes of the table."
    )
    ranges = {
        **SIDES_AND_DIFFERENCE,
        "change_original": "Change range, original",
        "change_counterfactual": "Change range, counterfactual",
    }
    title, empty = "C-VQA, Table 4: chain of thought", "Empty: no solver thinks step by step."
    return render_accuracy("cvqa_table4", title, in_short(rows), empty, more=[note], kind=CotRow, ranges=ranges)


CHAIN_OF_THOUGHT = Table(CotRow, cot_rows, _render_cot)


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
    ci: Methods = ""
    p: Figure = None
    """Two-sided, that the gap is 0; from the same bootstrap."""
    p_holm: Annotated[Figure, Heading("p, Holm", lambda row: p_cell(row.p_holm))] = None
    """Adjusted by Holm over the rows of one reader."""
    test_world: TestSolver = 0


BIAS_EMPTY = "Empty: no labels of people were given, or nobody answered questions about labelled images."


def bias_rows(material: CvqaTableData) -> list[BiasRow]:
    """A row for each solver of a whole set, type and reader; `all` is all types together."""
    return adjusted(
        [
            BiasRow.model_validate(_bias_figures(material, condition, kind, reader))
            for condition, replies in material.scores.items()
            if replies and replies[0].type in REAL and not material.is_subset(condition.set)
            if any(_people(material, reply) for reply in replies)
            for kind in (*kinds(replies), ALL)
            for reader in READERS
        ]
    )


def _bias_figures(material: CvqaTableData, condition: CvqaCondition, kind: str, reader: ExtractorName) -> Figures:
    wanted = REAL if kind == ALL else (kind,)
    replies = [reply for reply in material.scores[condition] if reply.type in wanted]
    labelled = [reply for reply in replies if _people(material, reply)]
    pairs = len({reply.id for reply in labelled})
    figures = material.named(condition) | {"type": kind, "reader": reader, "missing": missing(labelled, reader)}
    figures |= {"n": pairs, "n_unlabelled": len({reply.id for reply in replies}) - pairs}
    drops: dict[str, list[ItemScore]] = {}
    methods = []
    for who in ("female", "male"):
        more, drops[who], method = _of_gender(material, labelled, who, reader)
        figures |= more
        methods.append(method)
    figures |= difference_bounds("gap", figures, figures, ("diff_female", "diff_male"))
    if all(drops.values()):
        gap = _gap(drops["female"], drops["male"], material)
        figures |= estimate_fields("gap", gap.difference) | {"p": gap.p}
        methods.append(gap.difference.method)
    return figures | {"ci": interval_methods(*methods)}


def _people(material: CvqaTableData, reply: Reply) -> str | None:
    """Whom the image of a reply shows, as the set itself or a file of labels says; None: both, nobody or not known."""
    return reply.people or (None if reply.coco is None else material.genders.get(reply.coco))


def _of_gender(
    material: CvqaTableData, replies: Sequence[Reply], who: str, reader: ExtractorName
) -> tuple[Figures, list[ItemScore], str]:
    """The figures of a gender's images, original − counterfactual of each pair, and how their interval was computed."""
    everyone = items((reply for reply in replies if _people(material, reply) == who), reader)
    scored = both_sides(everyone)
    sides = zip(*(side_values(scored, side) for side in SIDES), strict=True)
    drops = [ItemScore(first.item, first.cluster, first.value - second.value) for first, second in sides]
    figures: Figures = {f"n_{who}": len(scored), f"images_{who}": len({item.image for item in scored})}
    could_be = bounds(everyone)
    for end, other in (("min", "max"), ("max", "min")):
        if isinstance(value := could_be.get(f"difference_{other}"), float):
            figures[f"diff_{who}_{end}"] = 0.0 - value
    if not drops:
        return figures, drops, ""
    for side in SIDES:
        figures[f"{who}_{side}"] = mean_of(side_values(scored, side))
    drop = estimate(drops, material.interval, bounds=(-1.0, 1.0))
    return figures | estimate_fields(f"diff_{who}", drop), drops, drop.method


def _gap(first: Sequence[ItemScore], second: Sequence[ItemScore], material: CvqaTableData) -> means.Gap:
    """The difference of the means of two independent samples, images drawn as a whole."""
    interval = material.interval
    images = [score.cluster for score in first], [score.cluster for score in second]
    values = [score.value for score in first], [score.value for score in second]
    return means.gap(*values, interval.level, interval.resamples, interval.seed, images)


def _bias_notes(rows: Sequence[BiasRow]) -> tuple[str, ...]:
    how, world = noted(
        "diff: original − counterfactual, so larger is worse; gap: diff(female) − diff(male), above 0 where "
        "counterfactual questions about women suffer more. Read by the robust reader; ranges say what the missing "
        "scores could change. Labels are of perceived gender; images of people of both kinds are left out."
    )(rows)
    drawn = (
        "People of the built-in scenes are figures as on signs, a woman or a man by lot, of whom no question speaks."
    )
    return how, drawn if any(row.test_world for row in rows) else "", world


BIAS = table(
    "cvqa_bias",
    "C-VQA, Figure 5: women and men",
    BiasRow,
    bias_rows,
    _bias_notes,
    BIAS_EMPTY,
    without=lambda rows: () if len({row.set for row in rows}) > 1 else ("set",),
    shown=lambda rows: [row for row in rows if row.reader == HEADLINE],
    added=lambda rows: {
        "gap": range_columns(rows, {"diff_female": "Women range", "diff_male": "Men range", "gap": "Gap range"})
    },
)


class ContaminationRow(TableRow):
    """A measure on published questions and on a fresh draw of the same kind."""

    set: Annotated[str, Heading("Published")]
    """The set that models may have seen."""
    fresh: Annotated[str, Heading("Fresh")]
    """The set that is a fresh draw of the same kind."""
    solver: Solver
    kind: Kind = ""
    llm: Llm = ""
    type: Type
    measure: Annotated[str, Heading("Measure")]
    """Accuracy on `original` or `counterfactual` questions, or what the counterfactual changes in a pair."""
    reader: str
    """Who read the replies: `reference` or `robust`."""
    n: Annotated[int, Heading("Pairs", lambda row: f"{row.n} / {row.n_fresh}", after="p_holm")]
    """Published pairs with a score on both sides."""
    n_fresh: int
    """The same of fresh pairs."""
    published: Annotated[Bounded, Heading("On published")] = None
    """The measure on published pairs."""
    on_fresh: Annotated[Bounded, Heading("On fresh")] = None
    """The measure on fresh pairs."""
    difference: Annotated[Bounded, Heading("Published - fresh")] = None
    """published - on_fresh: over 0, the published questions are easier for this solver than fresh ones."""
    ci: Methods = ""
    p: Figure = None
    """Two-sided, that the difference is 0; the samples are independent (bootstrap)."""
    p_holm: Annotated[Figure, Heading("p, Holm", lambda row: p_cell(row.p_holm))] = None
    """Adjusted by Holm over the rows of one reader."""
    test_world: TestSolver = 0


def contamination_rows(material: CvqaTableData) -> list[ContaminationRow]:
    """Rows for each solver that answered a set and its fresh draw: types, measures, readers."""
    return adjusted(
        [
            ContaminationRow.model_validate(_contamination(material, condition, fresh, kind, measure, reader))
            for fresh in material.scores
            for condition in material.scores
            if condition.solver == fresh.solver and condition.set == material.fresh_of(fresh.set)
            for kind in kinds(material.scores[condition])
            for measure in (*SIDES, "counterfactual - original")
            for reader in READERS
        ]
    )


def _contamination(
    material: CvqaTableData,
    condition: CvqaCondition,
    fresh: CvqaCondition,
    kind: str,
    measure: str,
    reader: ExtractorName,
) -> Figures:
    side = next((side for side in SIDES if side == measure), None)
    of_seen, of_new = (items(of_kind(material.scores[one], kind), reader) for one in (condition, fresh))
    seen, new = (side_values(some, side) if side else changes(some) for some in (of_seen, of_new))
    figures = material.named(condition) | {"fresh": fresh.set, "type": kind, "measure": measure, "reader": reader}
    figures |= {"n": len(both_sides(of_seen)), "n_fresh": len(both_sides(of_new))}
    for name, some in (("published", of_seen), ("on_fresh", of_new)):
        figures |= {f"{name}_{end}": bounds(some).get(f"{side or 'difference'}_{end}") for end in ("min", "max")}
    figures |= difference_bounds("difference", figures, figures, ("published", "on_fresh"))
    if not seen or not new:
        return figures
    gap = _gap(seen, new, material)
    ends = (0.0, 1.0) if side else (-1.0, 1.0)
    estimates = {"published": seen, "on_fresh": new}
    figures |= figures_of({name: estimate(some, material.interval, ends) for name, some in estimates.items()})
    figures |= estimate_fields("difference", gap.difference) | {"p": gap.p}
    return figures | {"ci": interval_methods(figures["ci"], gap.difference.method)}


CONTAMINATION = table(
    "cvqa_contamination",
    "Published and fresh questions",
    ContaminationRow,
    contamination_rows,
    noted(
        "By the robust reader, on the replies with a score; ranges say what the missing scores could change. "
        "Published - fresh: over 0, the published questions are easier for the solver than new ones of the same kind, "
        "as they would be if it had seen them. The counterfactual's change is within a pair; the samples are "
        "independent, images drawn as a whole."
    ),
    "Empty: no solver answered both a set and a fresh draw of it (`fresh_of` of a set).",
    added=lambda rows: {
        "difference": range_columns(
            rows, {"published": "Published range", "on_fresh": "Fresh range", "difference": "Difference range"}
        )
    },
    shown=lambda rows: [row for row in in_short(rows) if row.reader == HEADLINE],
)
