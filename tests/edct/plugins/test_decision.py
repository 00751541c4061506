"""Shares and verdicts worked out by hand."""

import numpy as np
import pytest

from cfeval.edct.plugins.localised import Limits, Shares, decide, grown, halves_share, shares, stray_share

ALL = np.ones((10, 10), dtype=bool)


def block(rows: slice, columns: slice) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    mask = np.zeros((10, 10), dtype=bool)
    mask[rows, columns] = True
    return mask


def test_shares_are_of_the_pixels_inside_and_outside() -> None:
    mask = block(slice(0, 4), slice(0, 5))
    changed = block(slice(0, 4), slice(0, 1)) | block(slice(8, 10), slice(0, 10))
    assert shares(changed, mask, ALL) == Shares(inside=4 / 20, outside=20 / 80, mask=0.2)


def test_pixels_without_a_counterpart_do_not_count() -> None:
    mask, valid = block(slice(0, 4), slice(0, 5)), block(slice(0, 10), slice(2, 10))
    changed = block(slice(0, 10), slice(0, 3))
    assert shares(changed, mask, valid) == Shares(inside=4 / 12, outside=6 / 68, mask=0.2)


def test_a_mask_that_is_out_of_sight_cannot_be_told_of() -> None:
    found = shares(ALL, block(slice(0, 4), slice(0, 2)), block(slice(0, 10), slice(2, 10)))
    assert found.inside is None
    assert decide(found, Limits())[0] is None


def test_a_mask_of_everything_has_nothing_beside_it() -> None:
    assert shares(ALL, ALL, ALL) == Shares(inside=1, outside=0, mask=1)


@pytest.mark.parametrize(
    ("inside", "outside", "accepted"),
    [(0.11, 0.29, True), (0.1, 0.0, False), (0.5, 0.3, False), (0.0, 1.0, False), (1.0, 0.0, True)],
)
def test_the_papers_limits_are_over_ten_and_under_thirty_percent(inside: float, outside: float, accepted: bool) -> None:
    verdict, reason = decide(Shares(inside, outside, 0.2), Limits())
    assert verdict is accepted
    assert ("of the mask changed" in reason) == (inside <= 0.1)
    assert ("beside the mask changed" in reason) == (outside >= 0.3)


@pytest.mark.parametrize("radius", [0, 1, 2, 5])
def test_a_mask_grows_by_a_disk(radius: int) -> None:
    mask = np.zeros((30, 40), dtype=bool)
    mask[12, 17] = True
    rows, columns = np.mgrid[:30, :40]
    away = np.hypot(rows - 12, columns - 17)
    found = grown(mask, radius / 40)
    assert not found[away > radius + 0.71].any()
    assert found[away <= radius - 0.71].all()
    assert found[12, 17 - radius]
    assert found[12 + radius, 17]


def test_a_change_counts_by_its_place_unless_it_lies_largely_in_the_mask() -> None:
    mask, changed = np.zeros((200, 200), dtype=bool), np.zeros((200, 200), dtype=bool)
    mask[60:140, 60:140] = True
    changed[60:140, 60:170] = True
    assert stray_share(changed, mask) == 0
    changed[4:12, 4:12] = True
    assert stray_share(changed, mask) == pytest.approx(64 / 256)
    changed[4:20, 4:20] = True
    assert stray_share(changed, mask) == 1


@pytest.mark.parametrize(("columns", "expected"), [(slice(None), 1), (slice(0, 20), 0), (slice(0, 0), 1)])
def test_halves_are_compared_whatever_the_direction(columns: slice, expected: float) -> None:
    mask, changed = np.ones((40, 40), dtype=bool), np.zeros((40, 40), dtype=bool)
    changed[:, columns] = True
    for turned in (changed, changed.T, changed[:, ::-1]):
        assert halves_share(turned, mask) == expected


def test_both_limits_can_be_left_aside_as_in_the_paper() -> None:
    found = Shares(0.5, 0.01, 0.2, stray=0.9, halves=0.0)
    assert decide(found, Limits())[0] is False
    assert decide(found, Limits(stray=1, halves=0)) == (True, "")
