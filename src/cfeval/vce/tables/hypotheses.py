"""The paper's five hypotheses (DBVCE, Section 5.2), each part with a test; controls, rejection, planted defects.

A part claims that a mean lies above or below a bar. It is `supported` where the adjusted p-value is below 1 − level and
the mean lies on the claimed side, `not supported` where it lies on the other, else `undecided`; a hypothesis is
supported where all its parts are, and not where one is not. The tests: `cfeval.stats.means`; Holm over the whole table.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

from cfeval.report.columns import Estimated, Heading, laid_out, limits
from cfeval.report.tables import Figure, RenderedTable, Table, interval_methods, p_cell
from cfeval.stats.intervals import rounded
from cfeval.stats.means import AgainstBar, one_sample_test
from cfeval.stats.paired import holm
from cfeval.vce.tables.claims import Claim, claims
from cfeval.vce.tables.evidence import Evidence
from cfeval.vce.tables.group_scores import GroupMaterial, Setting, SettingNames
from cfeval.vce.tables.summary import shown

Verdict = Literal["supported", "not supported", "undecided"]


def effect_cell(row: Any) -> str:
    """The effect with its interval."""
    low, high = limits(row, "effect")
    return shown(row.effect) + (f" [{shown(low)}, {shown(high)}]" if low is not None else "")


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
    bar: Annotated[Figure, Heading("Bar", lambda row: shown(row.bar))] = None
    """What the effect is held against."""
    effect: Annotated[Estimated, Heading("Effect", effect_cell)] = None
    """The mean that the claim is about."""
    ci: str = ""
    """How the interval was computed, and its nominal coverage."""
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


EMPTY = "Empty: no groups of the base method, or params.yaml names none (vce.roles.base)."
_TITLE = "The paper's hypotheses, tested"
_READING = (
    "Supported, or not: the effect lies on the claimed side of the bar, or on the other, with p below 1 − level after "
    "Holm over this table; else undecided. Pairs are the same image, target and noise under two methods; what is drawn "
    "as a whole is the unit, so the tests speak of more images of these classes, not of other classes. With fewer than "
    "20 units the test is exact (randomization), the interval Student's t, of zeros and ones Wilson's; six units allow "
    "no p below .031 before Holm."
)


def rows(material: GroupMaterial) -> list[HypothesisRow]:
    """A row for each part of each hypothesis, for each image set and denoiser that has groups of the base."""
    level = material.roles.tests.level
    tested = [
        _tested(setting, claim, material)
        for setting in material.settings()
        if material.roles.base and material.classifiers(setting, material.roles.base)
        for claim in claims(Evidence(material, setting))
    ]
    adjusted = holm([one.p for one in tested])
    made = [_judged(one, p, level) for one, p in zip(tested, adjusted, strict=True)]
    return [row.model_copy(update={"overall": _overall(row, made)}) for row in made]


def render(of: Sequence[HypothesisRow]) -> RenderedTable:
    """The table for readers: the parts that the study has data for; the CSV has all."""
    several = len({(row.image_set, row.denoiser) for row in of}) > 1
    tested = [row for row in of if row.effect is not None]
    columns = laid_out(HypothesisRow, tested, without=() if several else ("image_set", "denoiser"))
    if not of:
        return RenderedTable("vce_hypotheses", _TITLE, *columns, (EMPTY,))
    used = interval_methods(*(row.ci for row in tested))
    others = [f"{row.hypothesis} {row.part}" for row in of if row.effect is None]
    notes = (
        f"Intervals: {used}." if used else "",
        _READING,
        f"Overall: {_summary(of, tested)}." if tested else "",
        f"Not tested, for want of data: {', '.join(dict.fromkeys(others))}." if others else "",
    )
    return RenderedTable("vce_hypotheses", _TITLE, *columns, tuple(note for note in notes if note))


class _Tested(NamedTuple):
    """A row without its verdict; of the claim, which holds a figure of every counterfactual, no more than is needed."""

    row: HypothesisRow
    holds: bool | None = None
    """Whether the effect lies on the claimed side of the bar; None: at the bar, or there is none."""
    p: float | None = None


def _tested(setting: SettingNames, claim: Claim, material: GroupMaterial) -> _Tested:
    missing: Counter[str] = sum((Counter(reading.missing) for reading in claim.readings), Counter())
    found = _against(claim, material)
    row = HypothesisRow(
        image_set=setting[0],
        denoiser=setting[1],
        hypothesis=claim.hypothesis,
        part=claim.part,
        claim=claim.claim,
        classifiers=", ".join(claim.classifiers),
        bar=claim.bar,
        unit=claim.unit,
        n=sum(reading.asked for reading in claim.readings),
        n_scored=sum(len(reading.values) for reading in claim.readings),
        missing=", ".join(f"{reason} {count}" for reason, count in sorted(missing.items())),
        paper=claim.paper,
        note=claim.note or ("" if found else "no condition, or no figure, to test it on"),
    )
    if found is None:
        return _Tested(row)
    estimate = found.estimate
    update = {
        "effect": rounded(estimate.value),
        "effect_lo": rounded(estimate.low),
        "effect_hi": rounded(estimate.high),
        "ci": estimate.method,
        "n_units": found.clusters,
        "test": found.test,
        "p": rounded(found.p),
        "note": "; ".join(text for text in (claim.note, estimate.note) if text),
    }
    effect = estimate.value or 0.0
    holds = None if effect == claim.bar else (effect > claim.bar) == claim.above
    return _Tested(row.model_copy(update=update), holds, found.p)


def _against(claim: Claim, material: GroupMaterial) -> AgainstBar | None:
    """The claim against its bar; None where nothing was scored."""
    how = material.roles.tests
    values = [value for reading in claim.readings for value in reading.values.values()]
    units = [cell.unit for reading in claim.readings for cell in reading.values]
    if not values:
        return None
    return one_sample_test(values, claim.bar, how.level, how.resamples, how.seed, units, claim.bounds)


def _judged(one: _Tested, p: float | None, level: float) -> HypothesisRow:
    """The row with its verdict, by the adjusted p-value."""
    verdict: Verdict = "undecided"
    if p is not None and p < 1 - level and one.holds is not None:
        verdict = "supported" if one.holds else "not supported"
    return one.row.model_copy(update={"p_holm": rounded(p), "verdict": verdict})


def _overall(row: HypothesisRow, rows: Sequence[HypothesisRow]) -> Verdict:
    key = (row.image_set, row.denoiser, row.hypothesis)
    parts = {other.verdict for other in rows if (other.image_set, other.denoiser, other.hypothesis) == key}
    if "not supported" in parts:
        return "not supported"
    return "supported" if parts == {"supported"} else "undecided"


def _summary(of: Sequence[HypothesisRow], tested: Sequence[HypothesisRow]) -> str:
    """The verdict of each hypothesis of which some part was tested."""
    several = len({(row.image_set, row.denoiser) for row in of}) > 1
    told = {(f"{row.image_set}, {row.denoiser}: " if several else "") + row.hypothesis: row.overall for row in tested}
    return " · ".join(f"{name} {verdict}" for name, verdict in told.items())


TABLE = Table(row=HypothesisRow, rows=rows, render=render)
