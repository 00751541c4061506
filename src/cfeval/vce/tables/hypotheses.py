"""The paper's five hypotheses (DBVCE, Section 5.2), each part with a test; controls, rejection, planted defects.

A part claims that a mean lies above or below a bar. It is `supported` where the adjusted p-value is below 1 − level and
the mean lies on the claimed side, `not supported` where it lies on the other, else `undecided`; a hypothesis is
supported where all its parts are, and not where one is not. The tests: `cfeval.stats.means`; Holm over the whole table.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

from cfeval.report.tables import Estimated, Figure, Heading, Methods, estimate_fields, interval_methods, p_cell, table
from cfeval.stats.intervals import rounded
from cfeval.stats.means import one_sample_test
from cfeval.stats.paired import holm
from cfeval.vce.tables.claims import Claim, Evidence, claims
from cfeval.vce.tables.group_scores import (
    GroupMaterial,
    Setting,
    SettingNames,
    hidden,
    number,
    number_with_limits,
    setting_fields,
    setting_of,
    several_settings,
)

Verdict = Literal["supported", "not supported", "undecided"]


def units_cell(row: Any) -> str:
    """How many values and units the effect rests on, or why there is none."""
    return f"{row.n_scored} of {row.n}, {row.n_units} × {row.unit}" if row.n_scored else row.note


class HypothesisRow(Setting):
    """A part of a hypothesis of the paper, tested."""

    hypothesis: Annotated[str, Heading("Hypothesis")]
    """Which hypothesis, or control."""
    part: Annotated[str, Heading("Part")]
    """Which part of it."""
    claim: Annotated[str, Heading("Claim")]
    """What would have to be so."""
    classifiers: str = ""
    """Those that it was tested on."""
    bar: Annotated[Figure, Heading("Bar", number("bar"))] = None
    """What the effect is held against."""
    effect: Annotated[Estimated, Heading("Effect", number_with_limits("effect"))] = None
    """The mean that the claim is about."""
    ci: Methods = ""
    unit: str = ""
    """What is drawn or has its sign flipped as a whole: source images, source classes, or groups."""
    n_units: int = 0
    """Different units."""
    n: int = 0
    """Values that the effect could rest on, were none missing: one a classifier, image and target."""
    n_scored: Annotated[int, Heading("Rests on", units_cell, after="paper")] = 0
    """Those that it rests on."""
    missing: str = ""
    """Why others are missing, with counts."""
    test: str = ""
    """Which test."""
    p: Figure = None
    """Two-sided, that the effect is at the bar."""
    p_holm: Annotated[Figure, Heading("p, Holm", lambda row: p_cell(row.p_holm))] = None
    """Adjusted by Holm over the table."""
    verdict: Annotated[Verdict, Heading("Verdict")] = "undecided"
    """Of the part."""
    overall: Verdict = "undecided"
    """Of all parts of the hypothesis."""
    paper: Annotated[str, Heading("Paper")] = ""
    """What the paper found."""
    note: str = ""
    """Why there is no effect, or what limits it."""


class _Tested(NamedTuple):
    """A row without its verdict; of the claim, which holds a figure of every counterfactual, no more than is needed."""

    row: HypothesisRow
    holds: bool | None = None
    """Whether the effect lies on the claimed side of the bar; None: at the bar, or there is none."""
    p: float | None = None


def hypothesis_rows(material: GroupMaterial) -> list[HypothesisRow]:
    """A row for each part of each hypothesis, for each image set and denoiser that has groups of the base."""
    level = material.roles.tests.level
    tested = [
        _tested(setting, claim, material)
        for setting in material.settings()
        if material.roles.base and material.classifiers(setting, material.roles.base)
        for claim in claims(Evidence(material, setting))
    ]
    rows = []
    for part, p in zip(tested, holm([part.p for part in tested]), strict=True):
        verdict: Verdict = "undecided"
        if p is not None and p < 1 - level and part.holds is not None:
            verdict = "supported" if part.holds else "not supported"
        rows.append(part.row.model_copy(update={"p_holm": rounded(p), "verdict": verdict}))
    verdicts: dict[tuple[str, ...], set[Verdict]] = {}
    for row in rows:
        verdicts.setdefault((*setting_of(row), row.hypothesis), set()).add(row.verdict)
    return [row.model_copy(update={"overall": _overall(verdicts[*setting_of(row), row.hypothesis])}) for row in rows]


def _overall(verdicts: set[Verdict]) -> Verdict:
    if "not supported" in verdicts:
        return "not supported"
    return "supported" if verdicts == {"supported"} else "undecided"


def _tested(setting: SettingNames, claim: Claim, material: GroupMaterial) -> _Tested:
    """The claim against its bar; nothing where nothing was scored."""
    missing: Counter[str] = sum((Counter(reading.missing) for reading in claim.readings), Counter())
    values = [value for reading in claim.readings for value in reading.values.values()]
    row = HypothesisRow(
        **setting_fields(setting),
        hypothesis=claim.hypothesis,
        part=claim.part,
        claim=claim.claim,
        classifiers=", ".join(claim.classifiers),
        bar=claim.bar,
        unit=claim.unit,
        n=sum(reading.asked for reading in claim.readings),
        n_scored=len(values),
        missing=", ".join(f"{reason} {count}" for reason, count in sorted(missing.items())),
        paper=claim.paper,
        note=claim.note or ("" if values else "no condition, or no figure, to test it on"),
    )
    if not values:
        return _Tested(row)
    tests = material.roles.tests
    units = [cell.unit for reading in claim.readings for cell in reading.values]
    test = one_sample_test(values, claim.bar, tests.level, tests.resamples, tests.seed, units, claim.bounds)
    update = estimate_fields("effect", test.estimate) | {
        "ci": test.estimate.method,
        "n_units": test.clusters,
        "test": test.test,
        "p": rounded(test.p),
        "note": "; ".join(text for text in (claim.note, test.estimate.note) if text),
    }
    effect = test.estimate.value or 0.0
    holds = None if effect == claim.bar else (effect > claim.bar) == claim.above
    return _Tested(row.model_copy(update=update), holds, test.p)


def _with_effect(rows: Sequence[HypothesisRow]) -> list[HypothesisRow]:
    return [row for row in rows if row.effect is not None]


def _notes(rows: Sequence[HypothesisRow]) -> tuple[str, ...]:
    tested = _with_effect(rows)
    used = interval_methods(*(row.ci for row in tested))
    several = several_settings(rows)
    overall = {
        (f"{row.image_set}, {row.denoiser}: " if several else "") + row.hypothesis: row.overall for row in tested
    }
    others = dict.fromkeys(f"{row.hypothesis} {row.part}" for row in rows if row.effect is None)
    return (
        f"Intervals: {used}." if used else "",
        "Supported, or not: the effect lies on the claimed side of the bar, or on the other, with p below 1 − level "
        "after Holm over this table; else undecided. Pairs are the same image, target and noise under two methods; "
        "what is drawn as a whole is the unit, so the tests speak of more images of these classes, not of other "
        "classes. With fewer than 20 units the test is exact (randomization), the interval Student's t, of zeros and "
        "ones Wilson's; six units allow no p below .031 before Holm.",
        f"Overall: {' · '.join(f'{name} {verdict}' for name, verdict in overall.items())}." if tested else "",
        f"Not tested, for want of data: {', '.join(others)}." if others else "",
    )


HYPOTHESES = table(
    "vce_hypotheses",
    "The paper's hypotheses, tested",
    HypothesisRow,
    hypothesis_rows,
    _notes,
    "Empty: no groups of the base method, or params.yaml names none (vce.roles.base).",
    without=hidden(),
    shown=_with_effect,
)
