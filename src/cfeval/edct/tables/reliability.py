"""How far the instrument can be relied on: agreement of judges, sources of the variance of CCS, repeated runs of the
same items, and what a gate lets through.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean, stdev
from typing import Annotated

from cfeval.edct.protocols.rules import CONTROLS, RULES
from cfeval.edct.records import Condition
from cfeval.edct.tables.conditions import (
    Dataset,
    Editor,
    Judge,
    Missing,
    Protocol,
    TestTarget,
    Writer,
    edct_table,
    noted,
)
from cfeval.edct.tables.scores import Row, TableData, extremes, missing, n_items, values
from cfeval.report.tables import (
    Bounded,
    Estimated,
    Figure,
    Figures,
    Heading,
    Methods,
    TableRow,
    cell,
    figures_of,
    intervals,
    scored_cell,
    table,
)
from cfeval.stats.agreement import agreement_rate, alpha, cohen, fleiss, variance_split
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import rounded, t_interval
from cfeval.stats.proportions import share, wilson


class AgreementRow(TableRow):
    """How far judges agree about the same edits: two of them, or all that judged the same conditions.

    Judges may differ in what they are, in what they see (the texts, or the edited image), in the order of what they are
    shown or in the wording of their prompt; whatever it is, `1 − agreement` is how often it flips a verdict.
    """

    protocol: Annotated[str, Heading("Protocol")]
    """The protocol."""
    score: Annotated[str, Heading("Score", lambda row: row.score.replace("_", " "))]
    """A score of the protocol, or ccs."""
    judges: Annotated[str, Heading("Judges")]
    """Two judges, or all that judged the same conditions."""
    n: int
    """Edits that were handed to them."""
    n_scored: Annotated[int, Heading("Edits scored by all", scored_cell)]
    """Those that all of them scored."""
    agreement: Annotated[Bounded, Heading("Agreement")] = None
    """Share of these on which all say the same; bounds: each missing verdict differs from the others', or does not."""
    kappa: Annotated[Estimated, Heading("Kappa")] = None
    """Of two judges Cohen's; of more Fleiss'."""
    alpha: Annotated[Estimated, Heading("Alpha")] = None
    """Krippendorff's, over all edits that at least two of them scored."""
    n_alpha: int = 0
    """Edits that alpha rests on."""
    ci: Methods = ""
    missing: Annotated[str, Heading("Missing")] = ""
    """Why verdicts are missing, with counts: one for each judge that gave none."""


# What each of some judges said of an edit; None where one did not say.
_Judged = Sequence[Row | None]


def agreement_rows(conditions: Sequence[Condition], material: TableData) -> list[AgreementRow]:
    """For every protocol and score, a row for all judges of the same conditions together and one for each pair of them;
    InputError where a condition has no scores.
    """
    judges_of: dict[Condition, set[str]] = defaultdict(set)
    for condition in conditions:
        judges_of[condition.model_copy(update={"judge": ""})].add(condition.judge)
    in_order = list(dict.fromkeys(condition.judge for condition in conditions))
    conditions_of: dict[tuple[str, tuple[str, ...]], list[Condition]] = defaultdict(list)
    for condition, unordered in judges_of.items():
        judges = tuple(judge for judge in in_order if judge in unordered)
        for some in (*([judges] if len(judges) > 2 else []), *combinations(judges, 2)):
            conditions_of[condition.protocol, some].append(condition)
    rows = []
    for (protocol, judges), judged_conditions in conditions_of.items():
        judged = _judged(judged_conditions, judges, material)
        for score in (*RULES[protocol].scores, *(() if protocol in CONTROLS else ("ccs",))):
            rows.append(_agreement_row(protocol, score, judges, judged, material))
    return rows


def _judged(conditions: Sequence[Condition], judges: Sequence[str], material: TableData) -> list[_Judged]:
    """Every edit of some conditions."""
    judged: list[_Judged] = []
    for condition in conditions:
        by_judge = [
            {(row.id, row.edit): row for row in material.of(condition.model_copy(update={"judge": judge}))}
            for judge in judges
        ]
        keys = sorted({key for rows_of in by_judge for key in rows_of})
        judged += [[rows_of.get(key) for rows_of in by_judge] for key in keys]
    return judged


def _agreement_row(
    protocol: str, score: str, judges: tuple[str, ...], judged: Sequence[_Judged], material: TableData
) -> AgreementRow:
    interval, groups = material.how, [next(row.cluster for row in rows if row) for rows in judged]
    ratings = [[None if row is None else getattr(row.told, score) for row in rows] for rows in judged]
    alike, whole = [len(set(row) - {None}) < 2 for row in ratings], [None not in row for row in ratings]
    least = sum(is_alike and is_whole for is_alike, is_whole in zip(alike, whole, strict=True))
    boot = (interval.level, interval.resamples, interval.seed)
    rate = agreement_rate(ratings, interval.level, groups)
    kappa = (cohen if len(judges) == 2 else fleiss)(ratings, *boot, groups)
    chance = alpha(ratings, "nominal", *boot, groups)
    figures: Figures = {"protocol": protocol, "score": score, "judges": ", ".join(judges), "n": len(ratings)}
    figures |= {"n_scored": rate.n, "n_alpha": chance.n}
    figures |= {"agreement_min": rounded(least / len(ratings)), "agreement_max": rounded(sum(alike) / len(ratings))}
    figures |= {"missing": missing(row for rows in judged for row in rows if row)}
    return AgreementRow.model_validate(figures | figures_of({"agreement": rate, "kappa": kappa, "alpha": chance}))


AGREEMENT = table(
    "edct_agreement",
    "Agreement of judges",
    AgreementRow,
    agreement_rows,
    lambda _: (
        "Agreement: share of the edits that all of the named judges scored on which they say the same, with Wilson's "
        "interval. Kappa: Cohen's of two judges, Fleiss' of more. Alpha: Krippendorff's. Both have bootstrap "
        "intervals over images; they are empty where nobody's verdicts vary. An edit that a judge could not score is "
        "missing, not a disagreement. A panel agrees with its own members by construction.",
    ),
    "Empty: no two judges judge the same items (edct.tables).",
)


class VarianceRow(TableRow):
    """Where the variance of CCS comes from: a row a source.

    Conditions of one target are a crossed design: writer, editor, judge, re-sampling and item on one set of items.
    """

    dataset: Dataset
    protocol: Protocol
    target: Annotated[str, Heading("Target")]
    """The target."""
    source: Annotated[str, Heading("Source")]
    """writer, editor, judge, re-sampling, item, or the residual."""
    levels: Annotated[int, Heading("Levels")]
    """How many there are of it."""
    variance: Annotated[Figure, Heading("Variance")] = None
    """On the scale of CCS, squared; empty for a source with one level."""
    share: Annotated[Figure, Heading("Share")] = None
    """Of the sum of all components."""
    n: int = 0
    """Items of all conditions."""
    n_scored: Annotated[int, Heading("Scored", scored_cell)] = 0
    """Those with a score."""
    missing: Annotated[str, Heading("Missing", after="note")] = ""
    """Why edits have no score, with counts."""
    note: Annotated[str, Heading("Note")] = ""
    """Why there is no component."""


def variance_rows(conditions: Sequence[Condition], material: TableData) -> list[VarianceRow]:
    """For each dataset, protocol and target a row a source; InputError where a condition has no scores."""
    designs: dict[tuple[str, str, str], list[Condition]] = defaultdict(list)
    for condition in dict.fromkeys(conditions):
        designs[condition.dataset, condition.protocol, material.repeats.get(condition.vlm, condition.vlm)].append(
            condition
        )
    rows = []
    for names, some in designs.items():
        every = [material.of(condition) for condition in some]
        scores_of = [(name, value) for name, scores in zip(some, every, strict=True) for value in values(scores, "ccs")]
        if not scores_of:
            continue
        factors = {factor: [getattr(name, factor) for name, _ in scores_of] for factor in ("writer", "editor", "judge")}
        factors["item"] = [value.item for _, value in scores_of]
        shared: Figures = dict(zip(("dataset", "protocol", "target"), names, strict=True))
        shared |= {"n": sum(map(n_items, every)), "n_scored": len(scores_of)}
        shared |= {"missing": missing(score for scores in every for score in scores)}
        for part in variance_split([value.value for _, value in scores_of], factors):
            figures = shared | {"source": part.source, "levels": part.levels, "note": part.note}
            figures |= {"variance": rounded(part.variance), "share": rounded(part.share)}
            rows.append(VarianceRow.model_validate(figures))
    return rows


VARIANCE = edct_table(
    "variance",
    "Where the variance of CCS comes from",
    VarianceRow,
    variance_rows,
    lambda _: (
        "Variance components of CCS on the linear scale (MIVQUE(0)), as shares of their sum. Residual: what sources do "
        "only together. A component from two levels describes these two and is a poor guide to others.",
    ),
    names=("dataset", "protocol"),
    always=("protocol",),
    empty="Empty: params.yaml names no condition for this table (edct.tables.variance), or none has a score.",
    noted_names=False,
)


class RepeatRow(TableRow):
    """A figure of one target over several runs of the same items.

    A target that params.yaml names several times, with another `repeat` each, is the same target run again. Over runs
    EDCT-Bench 2026 prints mean and standard deviation, of five.
    """

    dataset: Dataset
    target: Annotated[str, Heading("Target", lambda row: row.target + " †" * row.test_world)]
    """The target."""
    writer: Writer
    protocol: Protocol
    editor: Editor
    judge: Judge
    score: Annotated[str, Heading("Score", lambda row: row.score.replace("_", " "))]
    """A score of the protocol, ccs (their product) or ccs_graded."""
    runs: Annotated[int, Heading("Runs")]
    """Those that have the figure."""
    mean: Annotated[Estimated, Heading("Mean")] = None
    """Of the runs' figures, with Student's t interval over runs."""
    mean_min: Annotated[
        Figure, Heading("Range", lambda row: f"{cell(row.mean_min)} to {cell(row.mean_max)}", after="sd")
    ] = None
    """The mean if every missing score of every run had been 0."""
    mean_max: Figure = None
    """The mean if every missing score of every run had been 1."""
    sd: Annotated[Figure, Heading("SD")] = None
    """Standard deviation of the runs' figures."""
    n: int = 0
    """Items of all runs."""
    n_scored: Annotated[int, Heading("Scored", scored_cell)] = 0
    """Those that the figures rest on."""
    ci: Methods = ""
    note: Annotated[str, Heading("Note")] = ""
    """Why there is no figure, or no interval."""
    missing: Missing = ""
    test_world: TestTarget = 0


_NAMES = ("dataset", "writer", "protocol", "editor", "judge")


def repeat_rows(conditions: Sequence[Condition], material: TableData) -> list[RepeatRow]:
    """A row for each setting and score of a target with several runs; InputError where a condition has no scores."""
    runs_of: dict[Condition, list[Condition]] = defaultdict(list)
    for condition in dict.fromkeys(conditions):
        target = material.repeats.get(condition.vlm, condition.vlm)
        runs_of[condition.model_copy(update={"vlm": target})].append(condition)
    rows = []
    for condition, repeated in runs_of.items():
        if len(repeated) < 2:
            continue
        rules, runs = RULES[condition.protocol], [material.of(run) for run in repeated]
        shared: Figures = {name: getattr(condition, name) for name in _NAMES} | {"target": condition.vlm}
        shared |= {"n": sum(map(n_items, runs)), "missing": missing(score for run in runs for score in run)}
        shared |= {"test_world": material.is_test(condition.vlm)}
        product = () if condition.protocol in CONTROLS else ("ccs",)
        for score in (*rules.scores, *product, *(("ccs_graded",) if rules.graded else ())):
            figures = shared | {"score": score} | _repeat_figures(runs, score, material.how.level)
            rows.append(RepeatRow.model_validate(figures))
    return rows


def _repeat_figures(runs: Sequence[Sequence[Row]], score: str, level: float) -> Figures:
    """A score over runs; one in which nothing was scored has no figure."""
    by_run = [values(run, score) for run in runs]
    means = sorted(fmean(value.value for value in of_run) for of_run in by_run if of_run)
    estimate = t_interval(means, level) if means else Estimate(None, note="nothing was scored")
    least, most = zip(*(extremes(run, score) for run in runs), strict=True)
    return figures_of({"mean": estimate}) | {
        "runs": len(means),
        "sd": rounded(stdev(means)) if len(means) > 1 else None,
        "mean_min": rounded(fmean(sorted(least))),
        "mean_max": rounded(fmean(sorted(most))),
        "n_scored": sum(map(len, by_run)),
        "note": estimate.note,
    }


REPEATS = edct_table(
    "repeats",
    "Repeated runs: the same items once more",
    RepeatRow,
    repeat_rows,
    noted(
        "Mean and standard deviation over runs that differ in their seeds alone. The interval tells how far the "
        "figure moves if the same items are run again; it says nothing of other items. Range: the mean if every "
        "missing score had been 0, or 1."
    ),
    names=_NAMES,
    always=("protocol",),
    empty="Empty: edct.tables names no target twice (under a second name in edct.vlms, with `repeat: 2`).",
    noted_names=False,
)


class GateRow(TableRow):
    """How many edits with one fault pass: of the flawed editor, whose faults are known, all targets together.

    Behind a gate every attempt counts, the rejected ones too; an editor without one lets through all in which anything
    was edited.
    """

    dataset: Dataset
    writer: Writer
    protocol: Protocol
    editor: str
    """The editor, with or without a gate."""
    fault: Annotated[str, Heading("Fault")]
    """What went wrong, as the flawed editor says; none: nothing."""
    n: Annotated[int, Heading("Edits")]
    """Edits that the editor made with this fault, every attempt of an item counted."""
    accepted: Annotated[Estimated, Heading("Accepted")] = None
    """Share of them that passed: of a fault the false-accept rate, of none the share of good edits that are kept."""
    ci: Methods = ""


def gate_rows(conditions: Sequence[Condition], material: TableData) -> list[GateRow]:
    """A row for each setting and fault, that of no fault first; none where no edit's fault is known."""
    names = ("dataset", "writer", "protocol", "editor")
    edits: dict[tuple[str, ...], list[tuple[str, float]]] = defaultdict(list)  # the item, and 1 where the edit passed
    once = {condition.model_copy(update={"judge": ""}): condition for condition in conditions}  # no judge plays a part
    for condition in once.values():
        for record in material.counterfactuals.get(condition, ()):
            # Every attempt behind a gate, else what the editor returned.
            made = [(attempt.details, attempt.image == record.image) for attempt in record.attempts]
            for details, passed in made or [(record.details, record.image is not None)]:
                if fault := details.get("fault"):
                    key = *(getattr(condition, name) for name in names), fault
                    edits[key].append((record.id, float(passed)))
    settings = list(dict.fromkeys(key[:-1] for key in edits))
    rows = []
    for key in sorted(edits, key=lambda key: (settings.index(key[:-1]), key[-1] != "none", key[-1])):
        accepted = share([passed for _, passed in edits[key]], [item for item, _ in edits[key]])
        figures = figures_of({"accepted": wilson(accepted, material.how.level)}) | {"n": len(edits[key])}
        rows.append(GateRow.model_validate(dict(zip((*names, "fault"), key, strict=True)) | figures))
    return rows


GATE = edct_table(
    "gate",
    "The gate: edits that pass, by what went wrong with them",
    GateRow,
    gate_rows,
    lambda rows: (
        intervals(rows)
        + "Fault none: the edit was made as told. Edits of one item, by whatever target, are a cluster.",
    ),
    names=("dataset", "writer", "protocol", "editor"),
    always=("editor",),
)
