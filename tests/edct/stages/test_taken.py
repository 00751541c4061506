"""Of which items a control is made: by their ids alone, about one in so many."""

from math import sqrt

import pytest

from cfeval.edct.protocols.rules import BLANK_IMAGE, EDCT_2025, NULL_EDIT
from cfeval.edct.records import Baseline
from cfeval.edct.stages.instructions import instructions
from tests.edct.stages.in_memory import IMAGES, samples, scripted

ITEMS = [f"item-{number:04d}" for number in range(900)]


def taken(items: list[str], protocol: str, every: int, seed: int = 3) -> list[str]:
    """The items that have an instruction."""
    said = [Baseline(id=item, question="?", answer="a", explanation="e") for item in items]
    found = instructions(said, {}, lambda sample: IMAGES["i0"], None, protocol, seed, 1, every)
    return [record.id for record in found]


@pytest.mark.parametrize(("protocol", "every"), [(NULL_EDIT, 2), (BLANK_IMAGE, 3), (BLANK_IMAGE, 2)])
def test_about_one_item_in_so_many_is_taken(protocol: str, every: int) -> None:
    share, wanted = len(taken(ITEMS, protocol, every)) / len(ITEMS), 1 / every
    assert abs(share - wanted) < 4 * sqrt(wanted * (1 - wanted) / len(ITEMS)), "within 4 standard deviations"


@pytest.mark.parametrize("protocol", [NULL_EDIT, BLANK_IMAGE])
def test_whether_an_item_is_taken_depends_on_no_other_item_and_no_shard(protocol: str) -> None:
    whole = taken(ITEMS, protocol, 3)
    shards = [taken(ITEMS[number::7], protocol, 3) for number in range(7)]
    assert sorted(item for shard in shards for item in shard) == whole
    assert taken(ITEMS[::-1], protocol, 3) == whole[::-1]


def test_controls_and_seeds_take_items_of_their_own() -> None:
    drawn = {name: set(taken(ITEMS, name, 2)) for name in (NULL_EDIT, BLANK_IMAGE)} | {
        "": set(taken(ITEMS, NULL_EDIT, 2, 4))
    }
    both = drawn[NULL_EDIT] & drawn[BLANK_IMAGE]
    assert 170 < len(both) < 280, "a quarter of 900: one does not tell the other"
    assert drawn[NULL_EDIT] != drawn[""]


def test_every_item_is_taken_where_nothing_else_is_said() -> None:
    assert taken(ITEMS, NULL_EDIT, 1) == ITEMS
    said = [Baseline(id=item, question="?", answer="a", explanation="e") for item in samples()]
    writer = scripted("instruction_writers")
    found = instructions(said, samples(), lambda sample: IMAGES[sample.id], writer, EDCT_2025, 1)
    assert [record.id for record in found] == list(samples())
