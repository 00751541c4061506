"""No image stands on both sides, and what is held out depends on itself alone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from cfeval.edct.training_set.cli import families, held_out

PAIRS = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), min_size=1, max_size=20)


@given(PAIRS)
def test_images_that_hang_together_are_one_family(pairs: list[tuple[int, int]]) -> None:
    found = families((f"{one:02}", f"{other:02}") for one, other in pairs)
    rows, columns = zip(*pairs, strict=True)
    _, labels = connected_components(coo_array((np.ones(len(pairs)), (rows, columns)), shape=(16, 16)), directed=False)
    for one in found:
        assert found[one] == min(other for other in found if labels[int(other)] == labels[int(one)])


@given(PAIRS)
def test_the_order_of_the_examples_does_not_matter(pairs: list[tuple[int, int]]) -> None:
    forth = families((str(one), str(other)) for one, other in pairs)
    assert forth == families((str(other), str(one)) for one, other in reversed(pairs))


def test_about_the_share_that_was_asked_for_is_held_out() -> None:
    names = [f"{number:064x}" for number in range(4000)]
    for share in (0, 0.1, 0.5):
        found = sum(held_out(name, share, 3) for name in names) / len(names)
        assert abs(found - share) <= 4 * (share * (1 - share) / len(names)) ** 0.5
    assert [held_out(name, 0.5, 1) for name in names] != [held_out(name, 0.5, 2) for name in names]
    assert all(held_out(name, 0.5, 1) for name in names if held_out(name, 0.1, 1))
