"""How a classifier reads the user's images: what is told, and what would mend a bad reading."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.images import Image
from cfeval.vce.interfaces import LabelledImage
from cfeval.vce.models.classifier import ClassifierPlugin, NetworkClassifier, Preprocessing
from cfeval.vce.originals import SPREADS, chance_of, limits, reading

SIZE = 8


class Options(ClassifierPlugin):
    """On the processor."""

    device: str = "cpu"

    def about(self) -> str:
        return ""

    def build(self) -> Any:
        raise NotImplementedError


class Bright(torch.nn.Module):
    """Says that an image is bright where its mean input is above a level, and always the same where it is told so."""

    def __init__(self, level: float, always: bool = False) -> None:
        super().__init__()
        self.level, self.always = level, always

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        over = x.mean(dim=(1, 2, 3)) - self.level
        over = torch.ones_like(over) if self.always else over
        return torch.stack((-over, over), dim=1)


def classifier(network: torch.nn.Module, classes: tuple[str, str] = ("dark", "bright"), **spread: Any) -> Any:
    return NetworkClassifier(network, Preprocessing(SIZE, SIZE, **spread), classes, Options(), "own")


def images(count: int = 6) -> list[LabelledImage]:
    levels = {"dark": 60, "bright": 200}
    return [
        LabelledImage(f"{name}-{number}", name, Image.from_pixels(np.full((SIZE, SIZE, 3), level + number, np.uint8)))
        for name, level in levels.items()
        for number in range(count)
    ]


RIGHT = {"mean": (0.5,) * 3, "std": (0.5,) * 3}


def test_a_good_reading_says_what_is_done_to_images() -> None:
    read = reading("own", classifier(Bright(0.0), **RIGHT), images())
    assert (read.right, read.total, read.surely_above, read.advice) == (12, 12, True, "")
    assert read.summary().startswith(
        "images become 8 × 8 pixels (bilinear), mean 0.5 0.5 0.5, std 0.5 0.5 0.5; reads 12 of"
    )


def test_one_that_always_says_the_same_is_no_better_than_chance() -> None:
    read = reading("own", classifier(Bright(0.0, always=True), **RIGHT), images())
    assert (read.right, read.is_bad, read.only, read.order) == (6, True, "bright", ())
    assert "says 'bright' of all: too few" in read.summary()


def test_classes_in_another_order_are_found() -> None:
    read = reading("own", classifier(Bright(0.0), ("bright", "dark"), **RIGHT), images())
    assert (read.right, read.order) == (0, ("dark", "bright"))
    assert "In another order of its outputs it would read 12" in read.summary()


@pytest.mark.parametrize(("mean", "std"), SPREADS)
def test_another_mean_and_spread_are_found(mean: tuple[float, ...], std: tuple[float, ...]) -> None:
    level = float(np.mean([(0.5 - m) / s for m, s in zip(mean, std, strict=True)]))
    read = reading("own", classifier(Bright(level), mean=(-1.0,) * 3, std=(0.05,) * 3), images())
    assert (read.right, read.only) == (6, "bright")
    assert "With `mean: [" in read.summary()
    assert "it would read 12 of them" in read.summary()


def test_a_difference_that_may_be_luck_is_not_told() -> None:
    read = reading("own", classifier(Bright(0.0), ("bright", "dark"), **RIGHT), images(1))
    assert (read.right, read.total, read.order, read.advice) == (0, 2, (), "")


@given(right=st.integers(0, 40), total=st.integers(1, 40), classes=st.integers(2, 10))
def test_chance_lies_within_the_interval_of_what_is_not_surely_better(right: int, total: int, classes: int) -> None:
    right = min(right, total)
    low, high = limits(right, total)
    assert 0 <= low <= right / total <= high <= 1
    always_one_class = total // classes
    assert limits(always_one_class, total)[0] <= chance_of(classes)
