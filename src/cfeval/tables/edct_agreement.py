"""Agreement of judges about the same items: two at a time, and all that judged the same arms.

Judges may differ in what they are, in what they see (the texts, or the edited image), in the order of what they are shown
or in the wording of their prompt; whatever it is, `1 − agreement` is how often it flips a verdict.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

from cfeval.protocols.rules import CONTROLS, RULES
from cfeval.records.edct import Arm
from cfeval.records.tables import AgreementRow
from cfeval.stats.agreement import agreement_rate, alpha, cohen, fleiss
from cfeval.tables.arm_sheet import with_interval
from cfeval.tables.formats import Sheet
from cfeval.tables.items import Figures, estimate_figures
from cfeval.tables.material import Material

ROW = AgreementRow
NO_ARM_NOTE = "Empty: no two judges judge the same items (edct.tables)."
_HEADINGS = ("Protocol", "Score", "Judges", "Edits", "Agreement", "Kappa", "Alpha")
_READING = (
    "Agreement: share of the edits that all of the named judges scored on which they say the same, with Wilson's interval. "
    "Kappa: Cohen's of two judges, Fleiss' of more. Alpha: Krippendorff's. Both have bootstrap intervals over images; they "
    "are empty where nobody's verdicts vary. An edit that a judge could not score is missing, not a disagreement."
)


def rows(arms: Sequence[Arm], material: Material) -> list[AgreementRow]:
    """For every protocol and score, a row for all judges of the same arms together and one for each pair of them."""
    judges: dict[tuple[str, tuple[str, ...]], list[Arm]] = defaultdict(list)
    for one, of in _judges_of(arms).items():
        for some in _sets(of):
            judges[one.protocol, some].append(one)
    return [
        _row(protocol, score, some, of, material)
        for (protocol, some), of in judges.items()
        for score in (*RULES[protocol].scores, *(() if protocol in CONTROLS else ("ccs",)))
    ]


def sheet(of: Sequence[AgreementRow]) -> Sheet:
    """The table for readers."""
    body = tuple(
        (
            row.protocol,
            row.score,
            row.judges,
            str(row.n),
            *(with_interval(row, m) for m in ("agreement", "kappa", "alpha")),
        )
        for row in of
    )
    return Sheet("edct_agreement", "Agreement of judges", _HEADINGS, body, (_READING if of else NO_ARM_NOTE,))


def _judges_of(arms: Sequence[Arm]) -> dict[Arm, list[str]]:
    """The judges of every arm without its judge, where there are several."""
    found: dict[Arm, list[str]] = defaultdict(list)
    for arm in dict.fromkeys(arms):
        found[arm.model_copy(update={"judge": ""})].append(arm.judge)
    return {one: judges for one, judges in found.items() if len(judges) > 1}


def _sets(judges: Sequence[str]) -> list[tuple[str, ...]]:
    return list(dict.fromkeys([*([tuple(judges)] if len(judges) > 2 else []), *combinations(judges, 2)]))


def _row(protocol: str, score: str, judges: tuple[str, ...], of: Sequence[Arm], material: Material) -> AgreementRow:
    ratings: list[tuple[float | None, ...]] = []
    groups: list[str] = []
    for one in of:
        said = [
            {(row.id, row.edit): row for row in material.of(one.model_copy(update={"judge": judge}))}
            for judge in judges
        ]
        for key, row in said[0].items():
            ratings.append(tuple(getattr(by[key], score) if key in by else None for by in said))
            groups.append(row.group or row.id)
    how = material.how
    boot = (how.level, how.resamples, how.seed)
    rate = agreement_rate(ratings, how.level, groups).rounded()
    kappa = (cohen if len(judges) == 2 else fleiss)(ratings, *boot, groups).rounded()
    chance = alpha(ratings, "nominal", *boot, groups).rounded()
    figures: Figures = {"protocol": protocol, "score": score, "judges": ", ".join(judges), "n": rate.n}
    figures |= (
        estimate_figures("agreement", rate) | estimate_figures("kappa", kappa) | estimate_figures("alpha", chance)
    )
    return AgreementRow.model_validate(figures | {"n_alpha": chance.n, "ci": kappa.method or rate.method})
