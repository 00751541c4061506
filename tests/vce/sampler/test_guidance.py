"""What each part of the guidance does to a step."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from cfeval.core.errors import PluginError
from cfeval.vce.method import Compute, Method, Parts
from cfeval.vce.sampler.batch import Batch, Classes
from cfeval.vce.sampler.guidance import Guided, StepState, cone, copies, guide, needs_graph, norms
from cfeval.vce.sampler.networks import Models, Networks
from cfeval.vce.sampler.prediction import predict_x0, vjp
from cfeval.vce.sampler.sampler import counterfactuals
from cfeval.vce.sampler.schedule import linear, respaced
from tests.vce.sampler.toys import ToyClassifier, ToyDenoiser, ToyPerceptual, red_images

SCHEDULE = respaced(linear(1000), "10")
INDEX = 3
NOISY = torch.randn(3, 3, 4, 4, generator=torch.Generator().manual_seed(3))
BATCH = Batch(red_images(3), (0, 1, 2), torch.tensor([1, 1, 2]), torch.tensor([1, 1, 2]))


def guided(parts: Parts, **toys: Any) -> Guided:
    """The guidance of one step on toys."""
    nets = {"denoiser": ToyDenoiser(bend=0.3), "classifier": ToyClassifier(bend=0.2), "robust": ToyClassifier(bend=0.9)}
    networks = Networks(Models(**{**nets, **toys}), Compute())
    seen = predict_x0(networks, SCHEDULE, NOISY, INDEX, BATCH.labels, parts.clip_denoised, needs_graph(parts))
    return guide(parts, networks, BATCH, StepState(SCHEDULE, INDEX, 0, NOISY, BATCH.original, seen), parts.scales[0])


def direction(parts: Parts, **toys: Any) -> Tensor:
    """The direction of one step on toys."""
    found = guided(parts, **toys).direction
    assert found is not None
    return found


def seen_by(parts: Parts) -> Any:
    """The denoiser's word on the step."""
    return predict_x0(Networks(Models(ToyDenoiser(bend=0.3)), Compute()), SCHEDULE, NOISY, INDEX, None, False, False)


@pytest.mark.parametrize("norm", ["mean", "noise"])
def test_each_term_has_its_weight_times_the_norm_of_mean_or_noise(norm: str) -> None:
    parts = Parts(guidance="x0", norm=norm, scales=(0.4,), distance="none")  # type: ignore[arg-type]
    seen = seen_by(parts)
    expected = 0.4 * norms(seen.mean if norm == "mean" else seen.noise)
    assert torch.allclose(norms(direction(parts)), expected, rtol=1e-5)


def test_the_distance_pulls_back_to_the_original() -> None:
    parts = Parts(guidance="none", distance="x0", norm="none", lp=2, lp_weight=0.5)
    assert torch.allclose(direction(parts), -0.5 * 2 * (seen_by(parts).x0 - BATCH.original), atol=1e-5)
    noisy = parts.model_copy(update={"distance": "noisy", "lp": 1.0})
    assert torch.allclose(direction(noisy), -0.5 * (NOISY - BATCH.original).sign())


def log_probability(images: Tensor) -> Tensor:
    logits = ToyClassifier(bend=0.2).logits(images).log_softmax(1)
    assert BATCH.targets is not None
    return logits.gather(1, BATCH.targets.view(-1, 1)).sum()


def predicted(noisy: Tensor) -> Tensor:
    noise = ToyDenoiser(bend=0.3).predict(noisy, torch.full((3,), int(SCHEDULE.timesteps[INDEX]))).noise
    return SCHEDULE.clean(noisy, noise, INDEX)


def test_the_three_places_of_the_gradient_are_those_of_autograd() -> None:
    bare = {"norm": "none", "scales": (1.0,), "distance": "none"}
    leaf = NOISY.clone().requires_grad_()
    (noisy,) = torch.autograd.grad(log_probability(leaf), leaf)
    x0 = predicted(leaf)
    through, straight = torch.autograd.grad(log_probability(x0), (leaf, x0))
    for guidance, expected in (("noisy", noisy), ("x0", through), ("straight", straight)):
        found = direction(Parts(guidance=guidance, **bare))  # type: ignore[arg-type]
        assert torch.allclose(found, expected, atol=1e-5), guidance


def test_without_norms_guidance_and_distance_go_through_the_denoiser_in_one_backward_pass() -> None:
    both = Parts(guidance="x0", norm="none", scales=(0.7,), distance="denoiser", lp=2, lp_weight=0.3)
    leaf = NOISY.clone().requires_grad_()
    x0 = predicted(leaf)
    objective = 0.7 * log_probability(x0) - 0.3 * (x0 - BATCH.original).pow(2).sum()
    assert torch.allclose(direction(both), torch.autograd.grad(objective, leaf)[0], atol=1e-5)


def test_several_backward_passes_give_what_one_vectorised_pass_gives() -> None:
    gradients = [torch.randn(3, 3, 4, 4, generator=torch.Generator().manual_seed(n)) for n in range(3)]
    leaf = NOISY.clone().requires_grad_()
    (max_connections,) = torch.autograd.grad(predicted(leaf), leaf, torch.stack(gradients), is_grads_batched=True)
    for one, other in zip(max_connections, vjp(predicted(leaf), leaf, gradients), strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_the_robust_classifier_is_unchanged_by_its_own_cone() -> None:
    classifier = ToyClassifier(bend=0.2, robust=True)
    with_cone = Parts(projection="cone", distance="none")
    found = direction(with_cone, classifier=classifier, robust=classifier)
    asked = len(classifier.seen)
    alone = direction(Parts(projection="none", distance="none"), classifier=classifier)
    assert asked == 1
    assert torch.allclose(found, alone, atol=1e-6)


def test_the_cone_turns_the_gradient_by_its_angle_towards_the_robust_one() -> None:
    weights = torch.randn(2, 3, 48, generator=torch.Generator().manual_seed(0))
    nets = {"classifier": ToyClassifier(weight=weights[0]), "robust": ToyClassifier(weight=weights[1])}
    base = {"guidance": "straight", "distance": "none"}
    alone = direction(Parts(**base, projection="none"), **nets)  # type: ignore[arg-type]
    turned = direction(Parts(**base, projection="cone", angle=40), **nets)  # type: ignore[arg-type]
    cosine = torch.cosine_similarity(alone.flatten(1), turned.flatten(1))
    assert torch.allclose(cosine, torch.full((3,), math.cos(math.radians(40))), atol=1e-4)


@pytest.mark.parametrize("bend", [0.0, 0.3])
def test_the_cone_at_the_clean_image_is_pulled_back_once(bend: float) -> None:
    parts = Parts(projection="cone", cone_at="x0", in_cone="robust", distance="none", norm="noise", scales=(1.0,))
    weights = torch.randn(2, 3, 48, generator=torch.Generator().manual_seed(0))
    robust, explained = (ToyClassifier(weight=weight) for weight in weights)
    toys = {"denoiser": ToyDenoiser(bend=bend), "robust": robust, "classifier": explained}
    found = direction(parts, **toys)
    networks = Networks(Models(ToyDenoiser(bend=bend)), Compute())
    seen = predict_x0(networks, SCHEDULE, NOISY, INDEX, None, False, True)
    raw = []
    for classifier in (robust, explained):
        clean = seen.x0.detach().requires_grad_()
        said = classifier.logits(clean).log_softmax(1).gather(1, BATCH.targets[:, None]).sum()  # type: ignore[index]
        raw.append(torch.autograd.grad(said, clean)[0])
    pulled = seen.through(cone(raw[0], raw[1], 30.0, "robust"))[0]
    assert torch.allclose(found, pulled / norms(pulled) * norms(seen.noise), atol=1e-5)
    in_paper = direction(parts.model_copy(update={"cone_at": "noisy"}), **toys)
    assert torch.allclose(found, in_paper, atol=1e-4) == (bend == 0), "a denoiser that only scales keeps every angle"


def test_raw_or_prepared_images_and_the_timestep_reach_the_classifier_as_the_mode_says() -> None:
    timed = ToyClassifier(timed=True)
    here = int(SCHEDULE.timesteps[INDEX])
    for method, expected in (
        (Method(preset="dbvce", projection="none"), (3, True, 0)),
        (Method(preset="dbvce", projection="none", guidance="noisy"), (3, True, here)),
        (Method(preset="dbvce", projection="none", mode="reference"), (3, False, here)),
    ):
        timed.seen.clear()
        guided(method, classifier=timed)
        assert timed.seen == [expected]


def test_augmented_copies_are_shown_together() -> None:
    classifier = ToyClassifier()
    guided(Method(preset="dvce", projection="none"), classifier=classifier)
    assert classifier.seen[0][0] == 16 * 3


def test_augmentation_keeps_the_first_copy_and_moves_others_by_the_seed() -> None:
    image = torch.linspace(-1, 1, 2 * 3 * 8 * 8).view(2, 3, 8, 8)
    first = copies(image, 6, (1, 2), "explained", 0, 5)
    assert first.shape == (12, 3, 8, 8)
    assert torch.equal(first[:2], image)
    assert not torch.allclose(first[2:], image.repeat(5, 1, 1, 1))
    assert torch.allclose(first[1::2], copies(image[1:], 6, (2,), "explained", 0, 5), atol=1e-6)
    assert float(first.abs().max()) <= 1 + 1e-6
    assert torch.equal(copies(image, 1, (1, 2)), image)


def test_augmentation_leaves_an_even_image_as_it_is() -> None:
    even = torch.full((1, 3, 8, 8), 0.25)
    assert torch.allclose(copies(even, 8, (7,)), torch.full((8, 3, 8, 8), 0.25), atol=1e-6)


def test_dime_divides_by_the_root_of_alpha_bar_and_fastdime_does_not() -> None:
    root = math.sqrt(float(SCHEDULE.alphas_cumprod[INDEX]))
    parts = {"guidance": "clean", "norm": "none", "loss": "logit", "scales": (2.0,), "distance": "none"}
    leaf = BATCH.original.clone().requires_grad_()
    assert BATCH.targets is not None
    logits = ToyClassifier(bend=0.2).logits(leaf).gather(1, BATCH.targets.view(-1, 1)).sum()
    (expected,) = torch.autograd.grad(logits, leaf)
    assert torch.allclose(direction(Parts(**parts)), 2 * expected / root, atol=1e-5)  # type: ignore[arg-type]
    assert torch.allclose(direction(Parts(**parts, chain_rule=False)), 2 * expected, atol=1e-5)  # type: ignore[arg-type]


def test_the_perceptual_term_pulls_the_clean_estimate_back() -> None:
    parts = Parts(
        guidance="clean", norm="none", scales=(1e-9,), distance="none", perceptual_weight=3.0, chain_rule=False
    )
    networks = Networks(Models(ToyDenoiser(), ToyClassifier(), perceptual=ToyPerceptual()), Compute())
    seen = predict_x0(networks, SCHEDULE, NOISY, INDEX, None, False, False)
    moment = StepState(SCHEDULE, INDEX, 0, NOISY, BATCH.original + 0.1, seen)
    found = guide(parts, networks, BATCH, moment, 1e-9).direction
    assert found is not None
    assert torch.allclose(found, torch.full_like(found, -3.0 * 2 * 0.1 / 48), atol=1e-6)


def test_a_perceptual_distance_without_gradient_is_one_clear_line() -> None:
    class Deaf:
        def distance(self, first: Tensor, second: Tensor) -> Tensor:
            return torch.zeros(len(first))

    networks = Networks(Models(ToyDenoiser(), perceptual=Deaf()), Compute())
    with pytest.raises(PluginError, match="passes no gradient on"):
        networks.perceptual_gradient(BATCH.original, BATCH.original)


def test_consensus_follows_the_classes_of_a_conditional_denoiser() -> None:
    # The toy's noise falls by 0.2 in the label's channel: from red to green its implicit gradient is (−1, 1, 0) at each
    # pixel. The classifier's gradient for green is near (−1, 1, 0) on a red image, and near (0, 1, −1), which is 60°
    # away, on a blue one.
    parts = Method(preset="dbvce", projection="consensus", angle=45.0, guidance="noisy", distance="none")
    networks = Networks(Models(ToyDenoiser(classes=3, bend=0), ToyClassifier()), Compute())
    label = torch.tensor([1])
    for channel, kept in ((0, True), (2, False)):
        shown = torch.zeros(1, 3, 4, 4)
        shown[:, channel] = 1.0
        batch = Batch(shown, (0,), label, labels=label, other_labels=torch.tensor([0]))
        seen = predict_x0(networks, SCHEDULE, shown, INDEX, label, False, False)
        of_class = guide(parts, networks, batch, StepState(SCHEDULE, INDEX, 0, shown, shown, seen), 0.1).of_class
        assert of_class is not None
        assert bool((of_class != 0).all()) == kept
        assert bool((of_class != 0).any()) == kept


def test_consensus_runs_from_the_way_in() -> None:
    parts = Method(preset="dbvce", projection="consensus", angle=45.0, respacing="10")
    toys = Models(ToyDenoiser(classes=3), ToyClassifier())
    found = counterfactuals(red_images(), range(4), parts, toys, Classes([1] * 4, [0] * 4))
    assert bool(found.finite.all())
    assert len(toys.denoiser.calls) == 5 + 4, "the last step is not guided"  # type: ignore[attr-defined]
