"""Nothing unscored is counted as 0 anywhere: what a failure of any kind does to any figure of any table."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import product

import pytest

from cfeval.core.records import Record, Status
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables.scores import condition_of
from tests.edct.tables.study import failed
from tests.edct.tables.whole import CONDITIONS_OF, ITEMS, OF_SCORES, SCORES, rows

FAILURES = [status for status in Status if status != Status.OK]
COUNTS = ("n", "bench_n", "n_edits", "n_targets")
RESTS_ON = ("n_scored", "bench_n_scored", "n_edits_scored", "n_null", "n_uncited")
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


def set_to(bits: Sequence[int], row: Score) -> list[Score]:
    """Every score of edit i is bit i."""
    said = {name: bits[row.edit - 1] for name in BITS if getattr(row, name) is not None}
    return [row.model_copy(update=said)]


@cache
def whole(table: str) -> list[Record]:
    """The table of the study as it is."""
    return rows(table)


def without_the_missing(row: Record) -> dict[str, object]:
    """All that must not depend on whether a failed item is listed or was never there."""
    told = row.model_dump()
    return {k: v for k, v in told.items() if k not in COUNTS and "missing" not in k and k[-4:] not in ("_min", "_max")}


def fields(found: Sequence[Record], wanted: Callable[[str], bool]) -> list[dict[str, object]]:
    return [{name: value for name, value in row.model_dump().items() if wanted(name)} for row in found]


@pytest.mark.parametrize("table", OF_SCORES)
@pytest.mark.parametrize("status", FAILURES, ids=str)
def test_a_failure_of_any_kind_counts_neither_way_and_widens_the_bounds(table: str, status: Status) -> None:
    place = FAILURES.index(status)
    victim = (CONDITIONS_OF[table][place * 5 % len(CONDITIONS_OF[table])], ITEMS[place * 7 % len(ITEMS)])
    edits = len(places(victim))
    before = whole(table)
    poisoned = rows(table, changed(victim, lambda row: poison(status, row)))
    absent = rows(table, changed(victim, lambda row: []))
    imagined = [rows(table, changed(victim, partial(set_to, bits))) for bits in product((0, 1), repeat=edits)]

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
    assert fields(late, told.__contains__) == fields(whole(table), told.__contains__)
