"""Agreement of judges about the same items: two at a time, and all that judged the same conditions.

Judges may differ in what they are, in what they see (the texts, or the edited image), in the order of what they are
shown or in the wording of their prompt; whatever it is, `1 − agreement` is how often it flips a verdict.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated

from cfeval.edct.protocols.rules import CONTROLS, RULES
from cfeval.edct.records import Condition
from cfeval.edct.tables.scores import Row, TableData, missing
from cfeval.report.tables import (
    Bounded,
    Estimated,
    Figures,
    Heading,
    RenderedTable,
    Table,
    TableRow,
    figures_of,
    laid_out,
    scored_cell,
)
from cfeval.stats.agreement import agreement_rate, alpha, cohen, fleiss
from cfeval.stats.intervals import rounded


class AgreementRow(TableRow):
    """How far judges agree about the same edits: two of them, or all that judged the same conditions."""

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
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    missing: Annotated[str, Heading("Missing")] = ""
    """Why verdicts are missing, with counts: one for each judge that gave none."""


NO_CONDITION_NOTE = "Empty: no two judges judge the same items (edct.tables)."
_READING = (
    "Agreement: share of the edits that all of the named judges scored on which they say the same, with Wilson's "
    "interval. Kappa: Cohen's of two judges, Fleiss' of more. Alpha: Krippendorff's. Both have bootstrap intervals "
    "over images; they are empty where nobody's verdicts vary. An edit that a judge could not score is missing, not a "
    "disagreement. A panel agrees with its own members by construction."
)


@dataclass(frozen=True)
class _Judged:
    """Edits and all that some judges said of each; None where one did not say."""

    rows: list[list[Row | None]] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)

    def ratings(self, score: str) -> list[list[float | None]]:
        """One score of every edit."""
        return [[None if said is None else getattr(said.told, score) for said in row] for row in self.rows]


def rows(conditions: Sequence[Condition], material: TableData) -> list[AgreementRow]:
    """For every protocol and score, a row for all judges of the same conditions together and one for each pair of them.

    Raises:
        InputError: a condition has no scores.
    """
    conditions_of: dict[tuple[str, tuple[str, ...]], list[Condition]] = defaultdict(list)
    for one, judges in _judges_of(conditions).items():
        for some in _sets(judges):
            conditions_of[one.protocol, some].append(one)
    return [
        _row(protocol, score, judges, judged, material)
        for (protocol, judges), of in conditions_of.items()
        for judged in [_judged(of, judges, material)]
        for score in (*RULES[protocol].scores, *(() if protocol in CONTROLS else ("ccs",)))
    ]


def render(of: Sequence[AgreementRow]) -> RenderedTable:
    """The table for readers."""
    notes = (_READING if of else NO_CONDITION_NOTE,)
    return RenderedTable("edct_agreement", "Agreement of judges", *laid_out(AgreementRow, of), notes)


def _judges_of(conditions: Sequence[Condition]) -> dict[Condition, list[str]]:
    """The judges of every condition without its judge, where there are several, always in the same order."""
    place = {judge: number for number, judge in enumerate(dict.fromkeys(condition.judge for condition in conditions))}
    found: dict[Condition, list[str]] = defaultdict(list)
    for condition in dict.fromkeys(conditions):
        found[condition.model_copy(update={"judge": ""})].append(condition.judge)
    return {one: sorted(judges, key=place.__getitem__) for one, judges in found.items() if len(judges) > 1}


def _sets(judges: Sequence[str]) -> list[tuple[str, ...]]:
    return [*([tuple(judges)] if len(judges) > 2 else []), *combinations(judges, 2)]


def _judged(of: Sequence[Condition], judges: Sequence[str], material: TableData) -> _Judged:
    found = _Judged()
    for one in of:
        said = [
            {(row.id, row.edit): row for row in material.of(one.model_copy(update={"judge": judge}))}
            for judge in judges
        ]
        for key in sorted({key for by in said for key in by}):
            row = [by.get(key) for by in said]
            found.rows.append(row)
            found.groups.append(next(score.cluster for score in row if score))
    return found


def _row(protocol: str, score: str, judges: tuple[str, ...], judged: _Judged, material: TableData) -> AgreementRow:
    how, ratings, groups = material.how, judged.ratings(score), judged.groups
    boot = (how.level, how.resamples, how.seed)
    rate = agreement_rate(ratings, how.level, groups)
    kappa = (cohen if len(judges) == 2 else fleiss)(ratings, *boot, groups)
    chance = alpha(ratings, "nominal", *boot, groups)
    figures: Figures = {"protocol": protocol, "score": score, "judges": ", ".join(judges), "n": len(ratings)}
    figures |= {"n_scored": rate.n, "n_alpha": chance.n, **_bounds(ratings)}
    figures |= {"missing": missing(said for row in judged.rows for said in row if said)}
    return AgreementRow.model_validate(figures | figures_of({"agreement": rate, "kappa": kappa, "alpha": chance}))


def _bounds(ratings: Sequence[Sequence[float | None]]) -> Figures:
    """What agreement over all edits could be, whatever the missing verdicts were."""
    alike = [len(set(row) - {None}) < 2 for row in ratings]
    whole = [None not in row for row in ratings]
    least = sum(one and told for one, told in zip(alike, whole, strict=True))
    return {"agreement_min": rounded(least / len(ratings)), "agreement_max": rounded(sum(alike) / len(ratings))}


TABLE = Table(row=AgreementRow, rows=rows, render=render)
