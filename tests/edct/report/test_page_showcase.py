"""Which items the picture page shows."""

from cfeval.edct.report.cards import Card
from cfeval.edct.report.page import ITEMS, showcase
from tests.edct.tables.study import condition


def card(item: str, vlm: str, ccs: int | None, kind: str = "color", edited: str = "x.png", **names: str) -> Card:
    texts = dict.fromkeys(
        ("question", "reference", "original", "answer", "explanation", "concept", "positive", "negative"), ""
    )
    rest = {"new_answer": "", "new_explanation": "", "status": "ok", "stage": "", "reason": "", "verified": None}
    bits = {"answer_score": ccs, "explanation_score": ccs, "ccs": ccs, "ccs_graded": None}
    own = {"id": item, "edit": 1, "kind": kind, "edited": edited}
    return Card(condition=condition(vlm=vlm, **names), **texts, **rest, **bits, **own)  # type: ignore[arg-type]


def test_items_that_tell_the_targets_apart_come_first() -> None:
    cards = [card("a", "grounded", 1), card("a", "prior", 1), card("b", "grounded", 1), card("b", "prior", 0)]
    assert [strip.first.id for strip in showcase(cards).strips] == ["b", "a"]


def test_an_item_without_a_picture_comes_last_and_one_of_each_kind_first() -> None:
    cards = [
        card("a", "grounded", None, edited=""),
        card("b", "grounded", 1),
        card("c", "grounded", 1),
        card("d", "grounded", 1, kind="shape"),
    ]
    assert [strip.first.id for strip in showcase(cards).strips] == ["b", "d", "c", "a"]


def test_targets_keep_their_order_and_another_editor_is_left_aside() -> None:
    cards = [card("a", "prior", 0), card("a", "grounded", 1), card("a", "other", 1, editor="diffusion")]
    found = showcase(cards)
    assert found.targets == ("prior", "grounded")
    assert [one.condition.vlm for one in found.strips[0].cards if one] == ["prior", "grounded"]


def test_a_target_that_was_not_asked_leaves_a_gap() -> None:
    cards = [card("a", "grounded", 1), card("a", "prior", 0), card("b", "grounded", 1)]
    assert showcase(cards).strips[1].cards[1] is None


def test_the_number_of_strips_is_bounded_and_no_cards_make_none() -> None:
    assert len(showcase([card(f"i{n}", "grounded", 1) for n in range(20)]).strips) == ITEMS
    assert showcase([]).strips == ()
