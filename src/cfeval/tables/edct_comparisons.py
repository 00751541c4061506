"""Targets compared two at a time on the same items: paired, clustered by image, adjusted over the whole table.

Neither paper compares its targets so; both print intervals of each alone, which answer another question.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

from cfeval.params import Interval
from cfeval.records.edct import Arm
from cfeval.records.tables import ComparisonRow
from cfeval.stats.holm import holm
from cfeval.stats.paired import compare
from cfeval.tables.arm_sheet import TEST_WORLD_NOTE, with_interval
from cfeval.tables.formats import Sheet, cell
from cfeval.tables.items import DECIMALS, Figures, Value, estimate_figures, mean, values
from cfeval.tables.material import Material

ROW = ComparisonRow
POWER = 0.8
NO_ARM_NOTE = "Empty: no two targets stand beside each other in a table (edct.tables)."
_SETTING = ("dataset", "writer", "protocol", "editor", "judge")
_HEADINGS = (
    *("Protocol", "Target", "Other", "Items", "CCS", "Other CCS", "Difference"),
    *("p, bootstrap", "p, McNemar", "p, Holm", "Detectable"),
)
_READING = (
    "On the items that both have a score for, resampled by image. McNemar: the exact test, where every item has one score "
    "(with several items an image, the randomization test over images). Holm: McNemar's p, or else the bootstrap's, "
    "adjusted over this whole table. Detectable: the smallest difference that as many items would show with "
    f"{POWER * 100:g} % power, were the targets to differ on as many as here."
)


def rows(arms: Sequence[Arm], material: Material) -> list[ComparisonRow]:
    """A row for each two targets of one setting, in the order of `arms`; InputError where an arm has no scores."""
    found = [_row(one, other, material) for one, other in _pairs(arms)]
    adjusted = holm([row.p_bootstrap if row.p_mcnemar is None else row.p_mcnemar for row in found])
    return [row.model_copy(update={"p_holm": _rounded(p)}) for row, p in zip(found, adjusted, strict=True)]


def sheet(of: Sequence[ComparisonRow]) -> Sheet:
    """The table for readers."""
    body = tuple((row.protocol, _marked(row.vlm, row), _marked(row.other, row), *_cells(row)) for row in of)
    said = [_READING if of else NO_ARM_NOTE]
    said += [TEST_WORLD_NOTE] if any(row.test_world for row in of) else []
    return Sheet("edct_comparisons", "Targets compared on the same items", _HEADINGS, body, tuple(said))


def _pairs(arms: Sequence[Arm]) -> list[tuple[Arm, Arm]]:
    beside: dict[Arm, list[Arm]] = defaultdict(list)
    for arm in dict.fromkeys(arms):
        beside[arm.model_copy(update={"vlm": ""})].append(arm)
    return [pair for some in beside.values() for pair in combinations(some, 2)]


def _row(one: Arm, other: Arm, material: Material) -> ComparisonRow:
    first = {value.item: value for value in values(material.of(one), "ccs")}
    second = {value.item: value for value in values(material.of(other), "ccs")}
    both = [item for item in first if item in second]
    figures: Figures = {name: getattr(one, name) for name in _SETTING}
    figures |= {"vlm": one.vlm, "other": other.vlm, "n": len(both)}
    figures |= {"images": len({first[item].group for item in both})}
    figures |= {"test_world": int(bool({one.vlm, other.vlm} & set(material.test_targets)))}
    if both:
        figures |= _compared([first[item] for item in both], [second[item].value for item in both], material.how)
    return ComparisonRow.model_validate(figures)


def _compared(first: Sequence[Value], second: Sequence[float], how: Interval) -> Figures:
    """The figures of two targets on the same items."""
    scores, groups = [value.value for value in first], [value.group for value in first]
    found = compare(scores, second, how.level, how.resamples, how.seed, groups, POWER)
    return estimate_figures("difference", found.difference) | {
        "ccs": mean(scores),
        "other_ccs": mean(second),
        "p_bootstrap": _rounded(found.p),
        "p_mcnemar": _rounded(found.mcnemar.exact if found.mcnemar else None),
        "detectable": _rounded(found.detectable),
        "ci": found.difference.method,
    }


def _rounded(p: float | None) -> float | None:
    return None if p is None else round(p, DECIMALS)


def _marked(vlm: str, row: ComparisonRow) -> str:
    return f"{vlm} †" if row.test_world else vlm


def _cells(row: ComparisonRow) -> list[str]:
    return [
        f"{row.n} ({row.images} images)",
        cell(row.ccs),
        cell(row.other_ccs),
        with_interval(row, "difference"),
        *(cell(value) for value in (row.p_bootstrap, row.p_mcnemar, row.p_holm, row.detectable)),
    ]
