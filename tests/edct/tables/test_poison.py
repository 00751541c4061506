"""Nothing unscored is counted as 0 anywhere: what a failure of any kind does to any figure of any table."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import product

import pytest

from cfeval.core.records import Record, Status
from cfeval.edct.protocols.rules import BLANK_IMAGE, EDCT_2025, NULL_EDIT, UNCITED_EDIT
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables.scores import condition_of
from tests.edct.tables.study import condition, failed
from tests.edct.tables.whole import CONDITIONS_OF, ITEMS, OF_SCORES, SCORES, rows
from tests.slow import each_once_fast, first_fast

FAILURES = [status for status in Status if status != Status.OK]
COUNTS = ("n", "bench_n", "n_edits", "n_targets")
RESTS_ON = ("n_scored", "bench_n_scored", "n_edits_scored", "n_null", "n_uncited", "n_blank")
OF_FIT = ("card", "bounds", "faithfulness", "test_models")
"""Tables whose figures need several edits of an item at once."""
SINGLE = [name for name in OF_SCORES if name not in OF_FIT]
BITS = ("pcs", "ncc", "ac", "ef", "ccs", "answer_moved", "explanation_moved")


@cache
def places(victim: tuple[Condition, str]) -> frozenset[int]:
    """Where the edits of one item of one condition stand in the study."""
    return frozenset(n for n, row in enumerate(SCORES) if (condition_of(row), row.id) == victim)


def changed(victim: tuple[Condition, str], how: Callable[[Score], list[Score]]) -> list[Score]:
    """The whole study, with every edit of one item of one condition changed."""
    out: list[Score] = []
    for number, row in enumerate(SCORES):
        out += how(row) if number in places(victim) else [row]
    return out


def poison(status: Status, row: Score) -> list[Score]:
    return [failed(condition_of(row), row.id, status, edit=row.edit, cluster=row.cluster, evidence=row.evidence)]


def set_to(bits: Sequence[int], row: Score, there: int = 1) -> list[Score]:
    """Every score of edit i is bit i; what is cited is `there`, or is not."""
    said = {name: bits[row.edit - 1] for name in BITS if getattr(row, name) is not None}
    return [row.model_copy(update=said | ({} if row.present is None else {"present": there}))]


def without_the_missing(row: Record) -> dict[str, object]:
    """All that must not depend on whether a failed item is listed or was never there."""
    told = row.model_dump()
    return {k: v for k, v in told.items() if k not in COUNTS and "missing" not in k and k[-4:] not in ("_min", "_max")}


def fields(found: Sequence[Record], wanted: Callable[[str], bool]) -> list[dict[str, object]]:
    return [{name: value for name, value in row.model_dump().items() if wanted(name)} for row in found]


@pytest.mark.parametrize(("status", "table"), each_once_fast(FAILURES, SINGLE))
def test_a_failure_of_any_kind_counts_neither_way_and_widens_the_bounds(status: Status, table: str) -> None:
    place = FAILURES.index(status)
    victim = (CONDITIONS_OF[table][place * 5 % len(CONDITIONS_OF[table])], ITEMS[place * 7 % len(ITEMS)])
    edits = len(places(victim))
    before = rows(table)
    poisoned = rows(table, changed(victim, lambda row: poison(status, row)))
    absent = rows(table, changed(victim, lambda row: []))
    imagined = [
        rows(table, changed(victim, partial(set_to, bits, there=there)))
        for bits in product((0, 1), repeat=edits)
        for there in (0, 1)
    ]

    assert [without_the_missing(row) for row in poisoned] == [without_the_missing(row) for row in absent]
    assert fields(poisoned, COUNTS.__contains__) == fields(before, COUNTS.__contains__)
    fallen = [
        (one[name], other[name])
        for one, other in zip(
            fields(poisoned, RESTS_ON.__contains__), fields(before, RESTS_ON.__contains__), strict=True
        )
        for name in one
        if one[name] != other[name]
    ]
    assert fallen
    assert {had - has for has, had in fallen} <= {1, edits}  # type: ignore[operator]
    for row, *others in zip(poisoned, *imagined, strict=True):
        for name in type(row).model_fields:
            if name.endswith("_min"):
                assert getattr(row, name) == min(getattr(other, name) for other in others)
            elif name.endswith("_max"):
                assert getattr(row, name) == max(getattr(other, name) for other in others)
    reasons = " ".join(str(value) for row in fields(poisoned, lambda name: "missing" in name) for value in row.values())
    assert f"{status} {edits}" in reasons


@pytest.mark.parametrize("table", ["table1", "bench"])
def test_a_failure_after_the_baseline_leaves_accuracy_and_checks_as_they_were(table: str) -> None:
    victim = (CONDITIONS_OF[table][0], ITEMS[3])

    def fails_late(row: Score) -> list[Score]:
        kept = {"correct": row.correct, "verified": row.verified, "edit": row.edit, "cluster": row.cluster}
        return [failed(victim[0], row.id, Status.UNPARSABLE, stage="judge", **kept)]

    told = ("accuracy", "edit_verified", "n_checked")
    late = rows(table, changed(victim, fails_late))
    assert fields(late, told.__contains__) == fields(rows(table), told.__contains__)


def of_grounded(protocol: str, item: str) -> tuple[Condition, str]:
    """An item of one condition of the tables with controls."""
    return condition(protocol=protocol), item


@pytest.mark.parametrize("protocol", [EDCT_2025, UNCITED_EDIT, NULL_EDIT, BLANK_IMAGE])
@pytest.mark.parametrize("item", first_fast(ITEMS[:6], 1))
def test_a_failure_leaves_fit_between_what_it_could_have_been(protocol: str, item: str) -> None:
    victim = of_grounded(protocol, item)
    poisoned = rows("faithfulness", changed(victim, partial(poison, Status.REFUSED)))[0].model_dump()
    imagined = [
        rows("faithfulness", changed(victim, partial(set_to, bits)))[0].model_dump()
        for bits in product((0, 1), repeat=len(places(victim)))
    ]
    for name, limit in (("fit_min", min), ("fit_max", max)):
        assert poisoned[name] == limit(one[name] for one in imagined)
    decided = [one["fit"] for one in imagined]
    assert len(set(decided)) == 1 or poisoned["n_fit"] == len(ITEMS) - 1


@pytest.mark.parametrize("protocol", [NULL_EDIT, BLANK_IMAGE])
@pytest.mark.parametrize("table", ["card", "faithfulness"])
@pytest.mark.parametrize("item", first_fast(ITEMS[:4], 1))
def test_a_control_of_one_item_that_failed_counts_as_little_as_one_that_was_not_made(
    protocol: str, table: str, item: str
) -> None:
    victim = of_grounded(protocol, item)
    poisoned, absent = (rows(table, changed(victim, how)) for how in (partial(poison, Status.NO_IMAGE), lambda row: []))
    assert poisoned == absent
    assert poisoned != rows(table), "it had counted"


@pytest.mark.parametrize("status", [status for status in FAILURES if status != Status.CITATION_ABSENT], ids=str)
def test_an_item_that_failed_has_no_strict_ccs_and_one_that_cites_what_is_absent_has_0(status: Status) -> None:
    victim = of_grounded(EDCT_2025, ITEMS[0])
    before = rows("faithfulness")[0].model_dump()
    scored = before["strict_ccs"] * len(ITEMS)
    [own] = [row.ccs for row in SCORES if (condition_of(row), row.id) == victim]

    def absent(row: Score) -> list[Score]:
        return [failed(victim[0], row.id, Status.CITATION_ABSENT, cluster=row.cluster, present=0)]

    gone = rows("faithfulness", changed(victim, partial(poison, status)))[0].model_dump()
    cites_absent = rows("faithfulness", changed(victim, absent))[0].model_dump()
    assert gone["strict_ccs"] == pytest.approx((scored - (own or 0)) / (len(ITEMS) - 1), abs=1e-4)
    assert cites_absent["strict_ccs"] == pytest.approx((scored - (own or 0)) / len(ITEMS), abs=1e-4)
    assert (gone["citation_rate"], cites_absent["citation_rate"]) == (1, pytest.approx(15 / 16, abs=1e-4))
    assert gone["missing"] == f"{status} 1"
