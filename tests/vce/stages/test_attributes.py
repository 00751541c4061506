"""MNAC and CD of groups, and both directions of two classes together, on images of plain colours."""

import numpy as np
import pytest
import torch

from cfeval.vce.metrics.proximity import correlation_difference
from cfeval.vce.metrics.realism import frechet_distance
from cfeval.vce.models.attributes import of_class
from cfeval.vce.records import GroupScore, VceCondition, VceScore
from cfeval.vce.stages.group_figures import Distributions
from cfeval.vce.stages.group_scores import group_scores
from tests.vce.stages.colors import Means, plain, views

CONDITION = VceCondition(image_set="plain", denoiser="none", classifier="colors", method="by-hand")
DATA = np.array([[1, 1, 0], [1, 0, 1], [0, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]], dtype=bool)


class Bright:
    """Sees whether each channel is above 127; counts the images it is shown."""

    attributes = ("Red", "Green", "Blue")

    def __init__(self, labels: np.ndarray | None = DATA) -> None:
        self.labels, self.shown = labels, 0

    def decisions(self, images: torch.Tensor) -> torch.Tensor:
        self.shown += len(images)
        return images.float().mean(dim=(2, 3)) > 127

    def of_class(self, name: str) -> frozenset[str] | None:
        return of_class(name, self.attributes)


def channels(number: int, red: int) -> tuple[int, int, int]:
    return red + number, 60 if number % 3 else 200, 40 * number


IMAGES = {f"on{n}": plain(*channels(n, 180)) for n in range(6)} | {f"off{n}": plain(*channels(n, 20)) for n in range(6)}
IMAGES |= {f"on{n}-off": plain(30, 200 if n > 2 else channels(n, 0)[1], 40 * n) for n in range(6)}
IMAGES |= {f"off{n}-on": plain(190, channels(n, 0)[1], 250 if n < 4 else 40 * n) for n in range(6)}


def scored(source: str, target: str, side: str, **values: float) -> list[VceScore]:
    other = "off" if side == "on" else "on"
    common = {"source": source, "target": target, "pair": "ideal", "before": source, "predicted": target}
    return [
        VceScore(
            id=f"{side}{n}-{other}",
            source_image=f"{side}{n}",
            others={k: v + n / 10 for k, v in values.items()},
            **common,
        )
        for n in range(6)
    ]


def grouped(found: list[VceScore], oracle: Bright) -> list[GroupScore]:
    distributions = Distributions(views(IMAGES), {"fid": Means()}, splits=3, batch=4)
    return list(group_scores(found, CONDITION, distributions, {}, 1, {"bright": oracle}))


BOTH = [*scored("Red", "not Red", "on", fs=0.2), *scored("not Red", "Red", "off", fs=0.2)]


def decided(names: list[str]) -> np.ndarray:
    return np.array([IMAGES[name].pixels.mean(axis=(0, 1)) > 127 for name in names])


def test_a_groups_mnac_is_its_own_and_cd_that_of_both_directions() -> None:
    oracle = Bright()
    found = {group.group.source: group.figures for group in grouped(BOTH, oracle)}
    before = {side: decided([f"{side}{n}" for n in range(6)]) for side in ("on", "off")}
    after = {side: decided([f"{side}{n}-{'off' if side == 'on' else 'on'}" for n in range(6)]) for side in before}
    for source, side in (("Red", "on"), ("not Red", "off")):
        assert found[source]["mnac_bright"] == pytest.approx((before[side] != after[side]).sum(axis=1).mean(), abs=1e-6)
        sides = [np.concatenate([part["on"], part["off"]]) for part in (before, after)]
        expected = correlation_difference(*sides, DATA, 0)
        assert found[source]["cd_bright"] == pytest.approx(expected, abs=1e-6)
    assert oracle.shown == 24, "every image is looked at once"


def test_without_the_other_direction_or_labels_or_a_known_class_there_is_no_cd() -> None:
    for some, oracle in (
        (BOTH[:6], Bright()),
        (BOTH, Bright(labels=None)),
        ([one.model_copy(update={"target": "dark"}) for one in BOTH[:6]], Bright()),
    ):
        for group in grouped(some, oracle):
            assert "mnac_bright" in group.figures
            assert "cd_bright" not in group.figures


def test_pairs_of_other_classes_that_share_the_attribute_are_no_other_direction() -> None:
    """Red and its absence, and Red and Blue: Red goes in the one and comes in the other, of other images."""
    elsewhere = [one.model_copy(update={"source": "Blue", "target": "Red"}) for one in BOTH[6:]]
    for group in grouped([*BOTH[:6], *elsewhere], Bright()):
        assert "mnac_bright" in group.figures
        assert "cd_bright" not in group.figures
    back = [one.model_copy(update={"source": "Red", "target": "Blue"}) for one in BOTH[:6]]
    found = [group.figures["cd_bright"] for group in grouped([*back, *elsewhere], Bright())]
    assert found[0] == found[1], "of both classes' attributes, whichever direction is looked at"


def test_an_oracle_that_does_not_know_the_classes_is_not_asked() -> None:
    class Elsewhere(Bright):
        def of_class(self, name: str) -> frozenset[str] | None:
            return None

    oracle = Elsewhere()
    assert not [name for group in grouped(BOTH, oracle) for name in group.figures if "bright" in name]
    assert oracle.shown == 0


def test_distances_of_both_directions_are_of_their_images_together() -> None:
    one, other = (group.figures for group in grouped(BOTH, Bright()))
    means = [
        np.array([IMAGES[name].pixels.mean(axis=(0, 1)) for name in names])
        for names in ([n for n in IMAGES if "-" not in n], [n for n in IMAGES if "-" in n])
    ]
    assert one["fid_both"] == other["fid_both"] == pytest.approx(frechet_distance(*means), abs=1e-4)
    assert "fid_both" not in grouped(BOTH[:6], Bright())[0].figures


def test_face_verification_is_the_share_of_similarities_above_a_half() -> None:
    figures = grouped(BOTH[:6], Bright())[0].figures
    assert figures["fva"] == pytest.approx(2 / 6, abs=1e-6)  # .2, .3, .4, .5, .6, .7
    assert figures["fs"] == pytest.approx(0.45)
