"""A linear probe: what it says of images that were left out is what a fit without them says."""

import numpy as np
import pytest

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.vce.plugins.efficientnet_lite import STRENGTHS, fit_probe
from tests.tiny.classifiers import write_colors, write_images


def drawn(seed: int, apart: float, count: int = 24, width: int = 40) -> tuple[np.ndarray, list[int]]:  # type: ignore[type-arg]
    random = np.random.default_rng(seed)
    labels = [number % 3 for number in range(count)]
    return random.normal(size=(count, width)) + apart * np.eye(3, width)[labels] * 5, labels


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("apart", [0.0, 0.3, 1.0])
def test_the_share_of_left_out_images_is_that_of_fits_without_them(
    seed: int, apart: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "cfeval.vce.plugins.efficientnet_lite.STRENGTHS", (0.1,)
    )  # the choice of strength sees all images
    features, labels = drawn(seed, apart)
    whole = fit_probe(features, labels, 3)
    agree = []
    for out in range(len(labels)):
        rest = [place for place in range(len(labels)) if place != out]
        fitted = fit_probe(features[rest], [labels[place] for place in rest], 3)
        right = (features[out] @ fitted.weight.T + fitted.bias).argmax() == labels[out]
        agree.append(right == whole.right[out])
    assert np.mean(agree) >= 0.9, "the mean and the weights of the classes, which all images share, may tip a few"


def test_classes_that_are_apart_are_told_apart_and_noise_is_not() -> None:
    features, labels = drawn(1, 1.0)
    fitted = fit_probe(features, labels, 3)
    assert ((features @ fitted.weight.T + fitted.bias).argmax(1) == labels).all()
    assert fitted.right.mean() > 0.9
    assert fit_probe(*drawn(1, 0.0, 90), 3).right.mean() < 0.6
    assert len(STRENGTHS) > 1


def test_images_that_cannot_be_told_apart_give_no_oracle(tmp_path) -> None:  # type: ignore[no-untyped-def]
    spec = {"plugin": "linear_probe", "device": "cpu"}
    made = registry.build("classifiers", {**spec, "path": str(write_colors(tmp_path / "colors"))})
    assert made.classes == ("blue", "red")
    assert made.notes == ("fitted to 12 images; left out of the fit, 12 of them are read rightly",)
    same = write_images(tmp_path / "noise", {"a": 3, "b": 3})
    with pytest.raises(InputError, match="which may be chance; add images, or name another oracle"):
        registry.build("classifiers", {**spec, "path": str(same)})
