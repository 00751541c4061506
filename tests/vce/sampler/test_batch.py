"""Whatever does not fit together is one clear line."""

from typing import Any

import pytest
import torch

from cfeval.core.errors import InputError
from cfeval.vce.method import Method
from cfeval.vce.sampler.batch import Classes
from cfeval.vce.sampler.networks import Models
from cfeval.vce.sampler.sampler import counterfactuals
from tests.vce.sampler.toys import ToyClassifier, ToyDenoiser, red_images

DBVCE = Method(preset="dbvce", respacing="4")
PLAIN = Method(preset="dbvce", projection="none", respacing="4")
TOYS = Models(ToyDenoiser(), ToyClassifier(), ToyClassifier())


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"images": torch.zeros(0, 3, 4, 4), "seeds": []}, "the group is empty"),
        ({"images": torch.zeros(2, 1, 4, 4)}, r"must be \(N, 3, H, W\) of torch.float32"),
        ({"images": torch.zeros(2, 3, 4, 4, dtype=torch.uint8)}, "torch.uint8"),
        ({"images": torch.zeros(2, 3, 3, 4)}, "images are 3×4, but the denoiser makes 4×4"),
        ({"images": torch.full((2, 3, 4, 4), 255.0)}, r"must lie in \[-1, 1\]"),
        ({"seeds": [1]}, "seeds: 1 for 2 images"),
        ({"classes": Classes([1, 3], [0, 0])}, "targets: class 3 is not one of the classifier; allowed: 0 to 2"),
        ({"classes": Classes([1, 0], [0, 0])}, "target equals source: 'red'"),
        ({"classes": Classes([1], [0, 0])}, "targets: 1 for 2 images"),
        ({"classes": None}, "needs target classes"),
        ({"models": Models(ToyDenoiser())}, "needs a classifier"),
        ({"models": Models(ToyDenoiser(), ToyClassifier())}, "'cone' needs a robust classifier"),
        ({"models": Models(ToyDenoiser(), ToyClassifier(), ToyClassifier(("red", "gren")))}, "no class 'green'; did"),
        ({"parts": Method(preset="dbvce", projection="consensus")}, "conditional on classes, and this one is not"),
        ({"parts": Method(preset="dime")}, "perceptual_weight 30 needs a perceptual distance"),
        ({"parts": PLAIN, "models": Models(ToyDenoiser(classes=7), ToyClassifier())}, "give denoiser_targets"),
        ({"parts": Method(preset="dbvce", respacing="2000")}, "keeps 2000 of 1000 training steps"),
    ],
)
def test_what_does_not_fit_is_one_clear_line(changed: dict[str, Any], line: str) -> None:
    fitting = {
        "images": red_images(2),
        "seeds": [0, 1],
        "parts": DBVCE,
        "models": TOYS,
        "classes": Classes([1, 2], [0, 0]),
    }
    with pytest.raises(InputError, match=line) as error:
        counterfactuals(**{**fitting, **changed})
    assert "\n" not in str(error.value)


def test_the_robust_classifiers_own_order_of_classes_is_found_by_name() -> None:
    turned = torch.eye(3)[[2, 1, 0]].repeat_interleave(16, dim=1)
    same = torch.eye(3).repeat_interleave(16, dim=1)
    classes = Classes([1, 2], [0, 0])
    robust = ToyClassifier(("blue", "green", "red"), weight=turned)
    models = Models(ToyDenoiser(), ToyClassifier(weight=same * 3), robust)
    found = counterfactuals(red_images(2), [0, 1], DBVCE, models, classes)
    plain = Models(ToyDenoiser(), ToyClassifier(weight=same * 3), ToyClassifier(weight=same))
    assert torch.allclose(found.images, counterfactuals(red_images(2), [0, 1], DBVCE, plain, classes).images)
    wrong = Classes([1, 2], [0, 0], robust_targets=[1, 2])
    other = counterfactuals(red_images(2), [0, 1], DBVCE, models, wrong)
    assert not torch.allclose(found.images[1], other.images[1])


def test_a_conditional_denoiser_is_told_the_target() -> None:
    told: list[Any] = []

    class Listening(ToyDenoiser):
        def predict(self, noisy: Any, timesteps: Any, labels: Any = None) -> Any:
            told.append(labels.tolist())
            return super().predict(noisy, timesteps, labels)

    models = Models(Listening(classes=7), ToyClassifier(), ToyClassifier())
    counterfactuals(red_images(2), [0, 1], DBVCE, models, Classes([1, 2], [0, 0], denoiser_targets=[6, 5]))
    assert told == [[6, 5], [6, 5]]
