"""What tables are made from stays small: some bytes for each further score, however much a record of it would take."""

import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from cfeval.cvqa.records import CvqaScore
from cfeval.cvqa.tables.replies import cvqa_material
from cfeval.edct.records import Score
from cfeval.edct.tables.scores import material
from cfeval.vce.records import VceScore
from cfeval.vce.tables.group_scores import group_material
from tests.cvqa.tables.scores import condition as cvqa_condition
from tests.cvqa.tables.scores import score as cvqa_score
from tests.edct.tables.study import condition, score
from tests.vce.tables.groups import condition as vce_condition

ROWS = 3000


def edct_scores(vlm: str) -> Iterator[Score]:
    for number in range(ROWS):
        yield score(
            condition(vlm=vlm), f"item-{number:06d}", number % 2, cluster=f"{number:016x}", correct=1, verified=1
        )


def cvqa_scores() -> Iterator[CvqaScore]:
    for number in range(ROWS):
        yield cvqa_score(f"pair-{number:06d}", "original", str(number % 5), "1", coco=number)


def vce_scores() -> Iterator[VceScore]:
    for number in range(ROWS):
        names = {"id": f"c-{number:06d}", "source_image": f"image-{number:06d}", "source": "a", "target": "b"}
        said = {"predicted": "b", "oracles": {"vit": "b"}, "distances": {"st_lpips": number / ROWS, "d1": number / 7}}
        yield VceScore.model_validate(names | {"pair": "ideal"} | said)


def bytes_a_row(gather: Callable[[], object], rows: int) -> float:
    """What is held of each row when all are gathered; the least of three times, since threads of other tests count."""
    return min(_bytes_held(gather) for _ in range(3)) / rows


def _bytes_held(gather: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        held = gather()
        size, _ = tracemalloc.get_traced_memory()
        del held
    finally:
        tracemalloc.stop()
    return size


@pytest.mark.slow
def test_a_further_condition_about_the_same_items_takes_less_than_a_hundred_bytes_a_score() -> None:
    first = material({condition(vlm="one"): edct_scores("one")})
    assert bytes_a_row(lambda: material({condition(vlm="two"): edct_scores("two")}), ROWS) < 100
    assert len(first.scores) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gather", "most"),
    [
        (lambda: cvqa_material({cvqa_condition(): cvqa_scores()}), 500),
        (lambda: group_material([], {vce_condition(): vce_scores()}), 500),
    ],
    ids=["cvqa", "vce"],
)
def test_a_score_takes_little_in_every_study(gather: Callable[[], object], most: int) -> None:
    assert bytes_a_row(gather, ROWS) < most
