"""A small study that fills every table, and what each table shows of it."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from cfeval.core.records import Record
from cfeval.core.sampling import derive_seed
from cfeval.edct.protocols.rules import BLANK_IMAGE, CONTROLS, EDCT_2025, EDCT_BENCH_2026, NULL_EDIT, UNCITED_EDIT
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables import test_models as known_models
from cfeval.edct.tables.scores import TableData, material
from cfeval.stats.intervals import Interval
from tests.edct.tables.study import by_condition, condition, score
from tests.listed import TABLES as LISTED

KNOWN = {"grounded": 0.0, "mixed": 0.5, "again": 0.5, "shortcut": 1.0}
PAPERS = (EDCT_2025, EDCT_BENCH_2026)


def conditions(vlms: Sequence[str], protocols: Sequence[str], judges: Sequence[str] = ("grammar",)) -> list[Condition]:
    """Every combination of these names."""
    return [condition(vlm=v, protocol=p, judge=j) for p in protocols for v in vlms for j in judges]


THREE = ("grounded", "mixed", "shortcut")
CONDITIONS_OF = {
    "table1": conditions(THREE, [EDCT_2025]),
    "table2": conditions(["mixed"], [EDCT_2025], ["grammar", "lexical", "reader"]),
    "bench": conditions(THREE, [EDCT_BENCH_2026]),
    **{
        name: conditions(THREE, [EDCT_2025, *CONTROLS])
        for name in ("controls", "faithfulness", "card", "bounds", "test_models")
    },
    "calibration": conditions(THREE, PAPERS, ["grammar", "lexical"]),
    "instrument": conditions(THREE, PAPERS, ["grammar", "lexical"]),
    "agreement": [
        *conditions(["mixed"], PAPERS, ["grammar", "lexical", "reader"]),
        *conditions(["mixed"], CONTROLS, ["grammar", "lexical"]),
    ],
    "comparisons": conditions(THREE, PAPERS),
    "variance": conditions(["mixed", "again"], [EDCT_2025], ["grammar", "lexical"]),
    "repeats": conditions(["mixed", "again"], [EDCT_2025], ["grammar", "lexical"]),
}
OF_SCORES = [name for name, listed in LISTED["edct"].items() if listed.made_of == "scores"]
"""The tables that are made of scores."""
CONDITIONS = list(dict.fromkeys(one for of in CONDITIONS_OF.values() for one in of))
ITEMS = [f"i{number:02d}" for number in range(16)]


def likely(chance: float, *of: object) -> int:
    """1 with some chance; always the same for the same names."""
    return int(derive_seed(7, *map(str, of)) / 2**31 < chance)


def scores_of(one: Condition, item: str) -> list[Score]:
    """The edits of one item; two items an image, and chains of one or two."""
    several = one.protocol in (EDCT_BENCH_2026, UNCITED_EDIT)
    edits = range(1, 2 + (several and likely(0.5, item)))
    fields: dict[str, Any] = {"cluster": f"image{int(item[1:]) // 2}", "correct": likely(0.8, item), "verified": 1}
    if one.protocol in CONTROLS:
        return [_control(one, item, edit, fields) for edit in edits]
    found = []
    for edit in edits:
        good = likely(0.95 - 0.9 * KNOWN[one.vlm], one.vlm, item)
        bits = [good ^ likely(0.1, one.vlm, item, edit, one.protocol, one.judge, name) for name in "ab"]
        graded = {"ccs_graded": (sum(bits) + good) / 4} if one.protocol == EDCT_BENCH_2026 else {}
        moved = {"answer_moved": bits[0], "names_edited": bits[1], "present": 1, "breadth": 2}
        found.append(score(one, item, *bits, edit=edit, **fields, **graded, **moved))
    return found


def _control(one: Condition, item: str, edit: int, fields: dict[str, Any]) -> Score:
    """An edit of a control: of an object, then of the background; nothing that is cited is there to be named."""
    chances = {UNCITED_EDIT: (0.2, 0.3), BLANK_IMAGE: (0.7, 0.8)}.get(one.protocol, (0.1, 0.2))
    bits = [likely(chance, one.vlm, one.protocol, item, edit, place) for place, chance in enumerate(chances, 1)]
    if one.protocol == UNCITED_EDIT:
        fields = fields | {"evidence": ("object", "background")[edit - 1], "drawn_from": 3 if edit == 1 else None}
        fields = fields | {"names_edited": bits[1], "present": 1}
    if one.protocol == NULL_EDIT:
        fields = fields | {"sham": likely(0.1, one.vlm, item), "swapped": likely(0.95, one.vlm, item, "swapped")}
    return score(one, item, *bits, edit=edit, **fields)


SCORES = [row for one in CONDITIONS for item in ITEMS for row in scores_of(one, item)]


def made(scores: Sequence[Score]) -> TableData:
    """With everything that is known of these targets."""
    return material(
        by_condition(scores),
        how=Interval(resamples=100),
        known=KNOWN,
        judge_error=["grounded", "shortcut"],
        repeats={"again": "mixed"},
        test_targets=["grounded"],
        expected={name: {"faithful": 1 - share, "ccs": 1 - share, "noise": 0.0} for name, share in KNOWN.items()},
    )


def table(name: str) -> Any:
    """A table."""
    return LISTED["edct"][name].load()


def rows(name: str, scores: Sequence[Score] = SCORES) -> list[Record]:
    """A table of this study, or of these scores."""
    return list(_whole(name)) if scores is SCORES else _made_of(name, scores)


@cache
def _whole(name: str) -> list[Record]:
    return _made_of(name, SCORES)


def _made_of(name: str, scores: Sequence[Score]) -> list[Record]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_models, "RESAMPLES", 20)  # of which nothing here depends, and 200 take a second
        found: list[Record] = table(name).rows(CONDITIONS_OF[name], made(scores))
    return found
