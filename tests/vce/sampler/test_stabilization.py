"""Stabilised class gradients: by Adam's own optimiser, by hand, and for what they are there: less jumping about."""

import pytest
import torch
from torch import Tensor

from cfeval.vce.method import Compute, Method, Parts
from cfeval.vce.sampler.batch import Batch, Classes
from cfeval.vce.sampler.guidance import StepState, guide
from cfeval.vce.sampler.networks import Models, Networks
from cfeval.vce.sampler.prediction import predict_x0
from cfeval.vce.sampler.sampler import counterfactuals
from cfeval.vce.sampler.schedule import linear, respaced
from cfeval.vce.sampler.stabilization import Past, stabilized
from tests.vce.sampler.toys import ToyClassifier, ToyDenoiser, red_images

GRADIENTS = [torch.randn(2, 3, 4, 4, generator=torch.Generator().manual_seed(seed)) for seed in range(6)]


def run(parts: Parts, gradients: list[Tensor]) -> list[Tensor]:
    past, found = Past(), []
    for gradient in gradients:
        used, past = stabilized(parts, gradient, past)
        found.append(used)
    return found


def test_adam_is_the_mean_gradient_over_the_root_mean_square_with_fading_weights() -> None:
    # Kingma & Ba 2015, Section 3: with the correction, both are means whose weights sum to 1.
    for last, value in enumerate(run(Parts(stabilization="adam", decay=0.8), GRADIENTS)):
        so_far = torch.stack(GRADIENTS[: last + 1]).double()
        first, second = (
            torch.tensor([decay ** (last - k) for k in range(last + 1)], dtype=torch.float64).view(-1, 1, 1, 1, 1)
            for decay in (0.8, 0.999)
        )
        mean = (first * so_far).sum(0) / first.sum()
        square = (second * so_far.square()).sum(0) / second.sum()
        assert torch.allclose(value.double(), mean / square.sqrt(), atol=1e-4)


def test_the_mean_is_the_sum_of_all_gradients_with_fading_weights() -> None:
    found = run(Parts(stabilization="ema", decay=0.9), GRADIENTS)
    for last, value in enumerate(found):
        expected = sum((0.1 * 0.9 ** (last - k) * GRADIENTS[k] for k in range(last + 1)), torch.zeros(()))
        assert torch.allclose(value, expected, atol=1e-6)


def test_without_stabilisation_or_memory_the_gradient_stays_as_it_is() -> None:
    for parts in (Parts(), Parts(stabilization="ema", decay=0.0)):
        assert all(map(torch.equal, run(parts, GRADIENTS), GRADIENTS))


def sensitivity(parts: Parts) -> float:
    """How much the direction turns from step to step, mean angle's cosine taken from 1, along one noisy path.

    The classifier bends strongly, as one that was not trained on noise does (arXiv 2507.00687, Section 4).
    """
    networks = Networks(Models(ToyDenoiser(bend=0.3), ToyClassifier(bend=30.0)), Compute())
    schedule, batch = respaced(linear(1000), "20"), Batch(red_images(4), tuple(range(4)), torch.ones(4).long())
    past, directions = Past(), []
    for index in reversed(range(12)):
        noise = torch.randn(4, 3, 4, 4, generator=torch.Generator().manual_seed(index))
        noisy = schedule.noised(batch.original, index, noise)
        look = predict_x0(networks, schedule, noisy, index, None, False, True)
        found = guide(parts, networks, batch, StepState(schedule, index, 0, noisy, batch.original, look, past), 1.0)
        past = found.past
        assert found.of_class is not None
        directions.append(found.of_class.flatten(1))
    pairs = zip(directions[1:], directions[:-1], strict=True)
    return float(torch.stack([1 - torch.cosine_similarity(one, other) for one, other in pairs]).mean())


def test_a_stabilised_gradient_turns_less_from_step_to_step() -> None:
    bare = {"guidance": "x0", "distance": "none"}
    plain = sensitivity(Parts(**bare))  # type: ignore[arg-type]
    assert plain > 0.3, "the toy's gradients have to be unstable"
    assert sensitivity(Parts(**bare, stabilization="ema")) < plain / 2  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["ema", "adam"])
def test_the_past_of_one_weight_is_not_that_of_the_next(kind: str) -> None:
    # Without noise in the steps, the second attempt must be what it is alone.
    how = {"projection": "none", "respacing": "10", "stochastic": False, "stabilization": kind}
    toys, classes = Models(ToyDenoiser(), ToyClassifier(bend=0.2)), Classes([1] * 4, [0] * 4)
    both = Method(preset="dbvce", scales=(0.001, 3.0), **how)  # type: ignore[arg-type]
    found = counterfactuals(red_images(), range(4), both, toys, classes)
    twice = found.attempts == 1
    assert twice.sum() > 1
    alone = Method(preset="dbvce", scales=(3.0,), **how)  # type: ignore[arg-type]
    once = counterfactuals(red_images(), range(4), alone, toys, classes)
    assert torch.allclose(found.images[twice], once.images[twice], atol=1e-5)


def test_a_batch_that_is_halved_on_its_way_keeps_the_past_of_each_image() -> None:
    method = Method(preset="dbvce", projection="none", respacing="10", scales=(3.0,), stabilization="adam")
    classes = Classes([1] * 4, [0] * 4)
    whole = counterfactuals(red_images(), range(4), method, Models(ToyDenoiser(), ToyClassifier()), classes)
    tight = Models(ToyDenoiser(limit=2, limited=3), ToyClassifier())
    halved = counterfactuals(red_images(), range(4), method, tight, classes, Compute(batch=4))
    assert halved.batch == 2
    assert torch.allclose(whole.images, halved.images, atol=1e-4)
