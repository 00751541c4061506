"""The picture page: a few items, each with the counterfactuals of all targets side by side."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cfeval.records.edct import Arm
from cfeval.report.cards import Card

ITEMS, TARGETS = 5, 7


@dataclass(frozen=True)
class Strip:
    """One item: its original and, in the order of the targets, a card each; None where a target has none."""

    first: Card
    cards: tuple[Card | None, ...]


@dataclass(frozen=True)
class Showcase:
    """The strips and the targets they show."""

    targets: tuple[str, ...]
    strips: tuple[Strip, ...]


def showcase(cards: Sequence[Card]) -> Showcase:
    """Items of the first arm's setting, one of each kind of question first, those that tell the targets apart first."""
    if not cards:
        return Showcase((), ())
    setting = _setting(cards[0].arm)
    shown = [card for card in cards if _setting(card.arm) == setting and card.edit == 1]
    targets = tuple(dict.fromkeys(card.arm.vlm for card in shown))[:TARGETS]
    by_item: dict[str, dict[str, Card]] = defaultdict(dict)
    for card in shown:
        by_item[card.id][card.arm.vlm] = card
    ranked = sorted(by_item.values(), key=lambda found: _rank(found, targets))
    strips = [Strip(next(iter(f.values())), tuple(f.get(t) for t in targets)) for f in _one_of_each_kind(ranked)]
    return Showcase(targets, tuple(strips[:ITEMS]))


def _setting(arm: Arm) -> Arm:
    return arm.model_copy(update={"vlm": ""})


def _rank(found: dict[str, Card], targets: Iterable[str]) -> tuple[int, int, str]:
    """Fewest missing pictures, then most nearly as many faithful as unfaithful targets, then the id."""
    cards = [found[target] for target in targets if target in found]
    pictures = sum(bool(card.edited) for card in cards)
    faithful = sum(card.ccs == 1 for card in cards)
    unfaithful = sum(card.ccs == 0 for card in cards)
    return -pictures, abs(faithful - unfaithful), cards[0].id if cards else ""


def _one_of_each_kind(ranked: Sequence[dict[str, Card]]) -> list[dict[str, Card]]:
    """The same items, those that are the first of their kind in front."""
    seen: set[str] = set()
    first: list[dict[str, Card]] = []
    rest: list[dict[str, Card]] = []
    for found in ranked:
        kind = next(iter(found.values())).kind
        (rest if kind in seen else first).append(found)
        seen.add(kind)
    return first + rest
