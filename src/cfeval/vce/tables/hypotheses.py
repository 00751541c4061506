"""The paper's five hypotheses (DBVCE, Section 5.2), each part with a test, and two controls.

A part claims that a mean lies above or below a bar. It is `supported` where the adjusted p-value is below 1 − level and
the mean lies on the claimed side, `not supported` where it lies on the other, else `undecided`; a hypothesis is
supported where all its parts are, and not where one is not. The tests: `cfeval.stats.means`; Holm over the whole table.

The rows of the vce study's tables, one a classifier and figure; an empty cell: there is no such figure.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from cfeval.report.tables import Figure, RenderedTable, Table, cell, interval_methods
from cfeval.stats.intervals import rounded
from cfeval.stats.means import AgainstBar, one_sample_test
from cfeval.stats.paired import holm
from cfeval.vce.tables.claims import Claim, claims
from cfeval.vce.tables.evidence import Evidence
from cfeval.vce.tables.group_scores import GroupMaterial, Setting, SettingNames
from cfeval.vce.tables.summary import shown

Verdict = Literal["supported", "not supported", "undecided"]


class HypothesisRow(Setting):
    """A hypothesis of the paper, or one part of it, tested (vce_hypotheses)."""

    hypothesis: str
    part: str
    claim: str
    """What would have to be so."""
    classifiers: str = ""
    """Those that it was tested on."""
    bar: Figure = None
    """What the effect is held against."""
    effect: Figure = None
    effect_lo: Figure = None
    effect_hi: Figure = None
    ci: str = ""
    unit: str = ""
    """What is drawn or has its sign flipped as a whole: source images, source classes, or groups."""
    n_units: int = 0
    n: int = 0
    """Values that the effect could rest on, were none missing."""
    n_scored: int = 0
    """Those that it rests on."""
    missing: str = ""
    test: str = ""
    p: Figure = None
    """Two-sided, that the effect is at the bar."""
    p_holm: Figure = None
    """Adjusted by Holm over the table."""
    verdict: Verdict = "undecided"
    overall: Verdict = "undecided"
    """Of all parts of the hypothesis."""
    paper: str = ""
    """What the paper found."""
    note: str = ""


EMPTY = "Empty: no groups of the base method, or params.yaml names none (vce.roles.base)."
_TITLE = "The paper's hypotheses, tested"
_HEADINGS = ("Hypothesis", "Part", "Claim", "Bar", "Effect", "p, Holm", "Verdict", "Paper", "Rests on")
_READING = (
    "Supported, or not: the effect lies on the claimed side of the bar, or on the other, with p below 1 − level after "
    "Holm over this table; else undecided. Pairs are the same image, target and noise under two methods; what is drawn "
    "as a whole is the unit, so the tests speak of more images of these classes, not of other classes. With fewer than "
    "20 units the test is exact (randomization), the interval Student's t; six units allow no p below .031 before Holm."
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


def sheet(of: Sequence[HypothesisRow]) -> RenderedTable:
    """The table for readers."""
    several = len({(row.image_set, row.denoiser) for row in of}) > 1
    headings = (*(("Image set", "Denoiser") if several else ()), *_HEADINGS)
    body = tuple((*((row.image_set, row.denoiser) if several else ()), *_cells(row)) for row in of)
    if not of:
        return RenderedTable("vce_hypotheses", _TITLE, headings, body, (EMPTY,))
    used = interval_methods(*(row.ci for row in of))
    notes = (f"Intervals: {used}." if used else "", _READING, f"Overall: {_summary(of)}.")
    return RenderedTable("vce_hypotheses", _TITLE, headings, body, tuple(note for note in notes if note))


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


def _summary(of: Sequence[HypothesisRow]) -> str:
    several = len({(row.image_set, row.denoiser) for row in of}) > 1
    told = {(f"{row.image_set}, {row.denoiser}: " if several else "") + row.hypothesis: row.overall for row in of}
    return " · ".join(f"{name} {verdict}" for name, verdict in told.items())


def _cells(row: HypothesisRow) -> list[str]:
    effect = shown(row.effect)
    if row.effect_lo is not None:
        effect += f" [{shown(row.effect_lo)}, {shown(row.effect_hi)}]"
    rests = f"{row.n_scored} of {row.n}, {row.n_units} × {row.unit}" if row.n_scored else row.note
    p = "< 0.0001" if row.p_holm == 0 else cell(row.p_holm)
    return [row.hypothesis, row.part, row.claim, shown(row.bar), effect, p, row.verdict, row.paper, rests]


TABLE = Table(row=HypothesisRow, rows=rows, sheet=sheet)
