"""The table of conclusions under other bounds: one bound changes at a time, and nothing else."""

from typing import Any

import pytest

from cfeval.edct.faithfulness.claims import BOUNDS
from cfeval.edct.tables.card import CARD_BOUNDS, BoundRow, card_rows, holds, values_tried
from cfeval.edct.tables.scores import condition_of
from cfeval.study.diff import naming_columns
from tests.edct.faithfulness.test_card import SOUND, observed
from tests.edct.tables.study import GROUNDED, made_of
from tests.edct.tables.whole import CONDITIONS_OF, SCORES


def test_there_is_a_line_for_each_card_and_its_own_conclusion_is_the_card_s() -> None:
    conditions, material = CONDITIONS_OF["card"], made_of(SCORES)
    found, cards = CARD_BOUNDS.rows(conditions, material), card_rows(conditions, material)
    assert {(row.vlm, row.conclusion) for row in found if not row.steps} == {
        (card.vlm, card.conclusion) for card in cards
    }
    assert len(found) == len(cards) * sum(len(values_tried(bound)) for bound in BOUNDS)
    table = CARD_BOUNDS.render(found)
    assert [line[:2] for line in table.body] == [
        (f"{card.vlm} †" * card.test_world or card.vlm, card.conclusion) for card in cards
    ]
    assert table.headings[2:4] == ("FIT (0.75)", "A (0.85)")
    assert CARD_BOUNDS.render([]).body == ()


def of_items(monkeypatch: pytest.MonkeyPatch, **shares: Any) -> dict[str, str]:
    """What the table says, by bound, of items with these shares behind sound instruments."""
    monkeypatch.setattr("cfeval.edct.tables.card.observe", lambda *_: observed(400, **shares))
    monkeypatch.setattr("cfeval.edct.tables.card.instruments_of", lambda *_: SOUND)
    found = CARD_BOUNDS.rows([GROUNDED], made_of(SCORES))
    return {bound: holds([row for row in found if row.bound == bound]) for bound in BOUNDS}


def test_a_row_is_named_by_its_text_columns_so_that_runs_can_be_compared() -> None:
    assert naming_columns("edct", "bounds")[-2:] == ["bound", "value"]
    found = CARD_BOUNDS.rows(CONDITIONS_OF["card"], made_of(SCORES))
    assert len({(condition_of(row), row.bound, row.value) for row in found}) == len(found)


def test_a_conclusion_hangs_on_the_bounds_near_its_rates_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    said = of_items(monkeypatch, cited=0.85)
    assert said["FIT"] == "0.60 to 0.80, open above"
    assert said["A"] == "all"
    said = of_items(monkeypatch, cited=0.5)
    assert said["FIT"] == "all", "claim B is refuted, too"
    said = of_items(monkeypatch, null=0.2)
    assert said["D"] == "0.05 to 0.15, open above"
    assert {where for bound, where in said.items() if bound != "D"} == {"all"}


def test_what_lies_beyond_is_the_first_value_with_another_conclusion() -> None:
    def row(value: float, conclusion: str) -> BoundRow:
        same = int(conclusion == "open")
        names = dict.fromkeys(("dataset", "vlm", "writer", "protocol", "editor", "judge"), "x")
        return BoundRow(
            **names,
            bound="FIT",
            value=f"{value:.2f}",
            steps=round((value - 0.75) / 0.05),
            conclusion=conclusion,
            same=same,
        )

    tried = [row(0.6, "trust"), row(0.65, "trust"), row(0.7, "open"), row(0.75, "open"), row(0.8, "do not trust")]
    assert holds(tried) == "trust below, 0.70 to 0.75, do not trust above"
    assert holds(tried[2:4]) == "all"
