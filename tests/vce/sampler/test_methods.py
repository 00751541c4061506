"""Every preset on toys: images become green, and no network is asked more than it has to be."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from cfeval.core.errors import PluginError
from cfeval.vce.method import Compute, Method
from cfeval.vce.sampler import sampler
from cfeval.vce.sampler.batch import Classes
from cfeval.vce.sampler.networks import BatchBudget, Models
from cfeval.vce.sampler.sampler import Counterfactuals, accepted, counterfactuals
from tests.vce.sampler.toys import ToyClassifier, ToyDenoiser, ToyPerceptual, red_images

GUIDED = (
    *("classifier-guidance", "dvce", "dbvce", "dime", "fastdime", "maskdime"),
    *("stabilized-guidance", "region-constrained"),
)
COUNT = 4
STRONG = {"dvce": {"scales": (6.0,)}, "dbvce": {"scales": (6.0,)}, "classifier-guidance": {"scales": (30.0,)}}
STRONG |= {"stabilized-guidance": {"scales": (600.0,)}, "region-constrained": {"scales": (6.0,), "region_share": 1.0}}


def models(**changed: Any) -> Models:
    """Toys for every role."""
    toys = {
        "denoiser": ToyDenoiser(),
        "classifier": ToyClassifier(bend=0.2),
        "robust": ToyClassifier(robust=True, bend=0.1),
        "perceptual": ToyPerceptual(),
    }
    return Models(**{**toys, **changed})


def method(preset: str, **changed: Any) -> Method:
    """A method of 10 kept steps."""
    small = {"region_cell": 2} if preset == "region-constrained" else {}
    return Method(**{"preset": preset, "respacing": "10", **small, **changed})


def made(chosen: Method, toys: Models, count: int = COUNT, **how: Any) -> Counterfactuals:
    """Red images on their way to green."""
    how.setdefault("seeds", range(count))
    return counterfactuals(red_images(count), how.pop("seeds"), chosen, toys, Classes([1] * count, [0] * count), **how)


def greenness(images: Tensor) -> float:
    """The mean probability of green."""
    return float(ToyClassifier(bend=0.2).logits(images).softmax(1)[:, 1].mean())


@pytest.mark.parametrize("preset", GUIDED)
def test_every_preset_moves_images_to_the_target(preset: str) -> None:
    found = made(method(preset, **STRONG.get(preset, {})), models())
    assert bool(found.finite.all())
    unguided = made(method("unguided", start=0.3), models())
    assert greenness(found.images) > 0.5 > greenness(unguided.images)


def test_unguided_needs_no_classifier_and_no_classes() -> None:
    denoiser = ToyDenoiser()
    found = counterfactuals(red_images(), range(4), method("unguided"), Models(denoiser))
    assert found.images.shape == (4, 3, 4, 4)
    assert [timestep for _, timestep, _ in denoiser.calls] == [444, 333, 222, 111, 0]


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["unguided", *GUIDED])
def test_the_result_does_not_depend_on_batch_or_order(preset: str) -> None:
    # MaskDiME takes the largest gradients, so that two of almost the same size may swap; none do here.
    chosen = method(preset)
    whole = made(chosen, models()).images
    alone = made(chosen, models(), compute=Compute(batch=1)).images
    assert torch.allclose(whole, alone, atol=1e-5)
    order = [2, 0, 3, 1]
    classes = Classes([1] * COUNT, [0] * COUNT)
    turned = counterfactuals(red_images()[order], order, chosen, models(), classes, Compute(batch=3)).images
    assert torch.allclose(turned, whole[order], atol=1e-5)


def test_equal_seeds_give_equal_noise_and_other_seeds_other_images() -> None:
    image = red_images(1).repeat(3, 1, 1, 1)
    found = counterfactuals(image, [5, 5, 6], method("dbvce"), models(), Classes([1] * 3, [0] * 3)).images
    assert torch.allclose(found[0], found[1], atol=1e-6)
    assert not torch.allclose(found[0], found[2], atol=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "calls"), [("dime", 6 + 6 * 5 // 2), ("fastdime", 6), ("maskdime", 6), ("dbvce", 10), ("dvce", 10)]
)
def test_a_method_calls_the_denoiser_as_often_as_its_paper_says(preset: str, calls: int) -> None:
    toys = models()
    made(method(preset, respacing="20", scales=(1.0,)), toys)
    assert len(toys.denoiser.calls) == calls  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("chosen", "graph"),
    [
        (method("unguided"), False),
        (method("classifier-guidance"), False),
        (method("dbvce"), True),
        (method("dbvce", mode="reference", guidance="straight"), False),
        (method("dbvce", guidance="noisy"), False),
        (method("dbvce", guidance="straight", distance="denoiser"), True),
        (method("dvce"), True),
        (method("dime"), False),
        (method("fastdime"), False),
        (method("maskdime"), False),
        (method("stabilized-guidance"), True),
    ],
    ids=str,
)
def test_no_graph_goes_through_the_denoiser_unless_a_gradient_does(chosen: Method, graph: bool) -> None:
    toys = models()
    made(chosen, toys)
    assert {with_graph for _, _, with_graph in toys.denoiser.calls} == {graph}  # type: ignore[attr-defined]


def test_scales_are_tried_on_the_images_that_are_not_in_the_target_yet() -> None:
    toys = models()
    found = made(method("dime", scales=(0.001, 20.0)), toys)
    first = made(method("dime", scales=(0.001,)), models())
    flipped = accepted(first.images, [1] * COUNT, ToyClassifier(bend=0.2), True, BatchBudget(8))
    assert found.attempts.tolist() == [0 if there else 1 for there in flipped.tolist()]
    assert int(found.attempts.sum()) > 0
    assert torch.allclose(found.images[flipped], first.images[flipped], atol=1e-6)


def test_checkpointing_changes_nothing_but_the_denoiser_calls() -> None:
    plain, toys = made(method("dbvce"), models()), models()
    again = made(method("dbvce"), toys, compute=Compute(checkpoint=True))
    assert torch.equal(plain.images, again.images)
    graphs = [with_graph for _, _, with_graph in toys.denoiser.calls]  # type: ignore[attr-defined]
    assert graphs == [False, True] * 4 + [False], "a last step without variance is not guided"


@pytest.mark.parametrize("preset", ["dbvce", "dvce", "dime", "stabilized-guidance", "maskdime"])
@pytest.mark.parametrize("learned", [False, True])
def test_the_last_step_is_guided_where_that_can_change_the_image(
    preset: str, learned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    toys = models(denoiser=ToyDenoiser(learned=learned))
    chosen = method(preset, scales=(1.0,))
    found = made(chosen, toys)
    asked = len(toys.classifier.seen)  # type: ignore[union-attr]
    assert asked == chosen.steps - (not learned and preset != "maskdime"), "the mask of the last step needs a gradient"
    monkeypatch.setattr(sampler, "_matters", lambda parts, seen: True)
    assert torch.equal(found.images, made(chosen, models(denoiser=ToyDenoiser(learned=learned))).images)


def test_mixed_precision_comes_close() -> None:
    plain = made(method("dbvce"), models()).images
    mixed = made(method("dbvce"), models(), compute=Compute(precision="bfloat16")).images
    assert mixed.dtype == torch.float32
    assert torch.allclose(plain, mixed, atol=0.1)


def test_compiled_networks_are_compiled_once_and_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    monkeypatch.setattr(torch, "compile", lambda function: compiled.append(function) or function)
    found = made(method("dbvce"), models(), compute=Compute(compile=True))
    assert torch.equal(found.images, made(method("dbvce"), models()).images)
    assert len(compiled) == 3


def test_out_of_memory_halves_the_batch_says_so_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = method("dbvce")
    expected = made(chosen, models(), 7, compute=Compute(batch=2)).images
    toys = models(denoiser=ToyDenoiser(limit=2))
    found = made(chosen, toys, 7, compute=Compute(batch=7))
    assert torch.allclose(found.images, expected, atol=1e-6)
    assert found.batch == 2
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "counterfactuals: out of memory with 7 images at once, going on with 4",
        "counterfactuals: out of memory with 4 images at once, going on with 2",
    ]


def test_out_of_memory_in_the_middle_loses_no_finished_step() -> None:
    toys = models(denoiser=ToyDenoiser(limit=2, limited=3))
    found = made(method("dbvce"), toys, 4, compute=Compute(batch=4))
    assert torch.allclose(found.images, made(method("dbvce"), models(), 4).images, atol=1e-5)
    sizes = [size for size, _, _ in toys.denoiser.calls]  # type: ignore[attr-defined]
    assert sizes == [4, 4, 4, 4, 2, 2, 2, 2]


def test_a_single_image_that_does_not_fit_is_one_clear_line() -> None:
    with pytest.raises(PluginError, match="out of memory with a single image"):
        made(method("dbvce"), models(denoiser=ToyDenoiser(limit=0)))


def test_other_runtime_errors_are_not_taken_for_memory() -> None:
    class Broken(ToyDenoiser):
        def predict(self, noisy: Tensor, timesteps: Tensor, labels: Tensor | None = None) -> Any:
            raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        made(method("dbvce"), models(denoiser=Broken()))


def test_an_image_that_diverges_is_marked() -> None:
    def exploding(seeds: Sequence[int], shape: Sequence[int], *purpose: str | int) -> Tensor:
        return torch.stack([torch.full(tuple(shape), float("nan") if seed == 1 else 0.0) for seed in seeds])

    found = made(method("unguided"), models(), draws=exploding)
    assert found.finite.tolist() == [True, False, True, True]


def test_progress_counts_every_image_once() -> None:
    counted: list[int] = []
    made(method("dime"), models(), 5, compute=Compute(batch=2), progress=counted.append)
    assert counted == [2, 2, 1]


def test_rejection_drops_what_is_not_in_the_target_or_not_finite() -> None:
    images = torch.zeros(4, 3, 2, 2)
    images[0, 0], images[1, 1], images[2, 1], images[3, 1] = 1, 1, 5, float("nan")
    found = accepted(images, [1, 1, 1, 1], ToyClassifier(), True, BatchBudget(3))
    assert found.tolist() == [False, True, True, False]


def test_rejection_halves_its_batch_too(capsys: pytest.CaptureFixture[str]) -> None:
    class Small(ToyClassifier):
        def logits(self, images: Tensor, timesteps: Tensor | None = None, prepared: bool = True) -> Tensor:
            if len(images) > 1:
                raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
            return super().logits(images, timesteps, prepared)

    assert accepted(red_images(3), [0, 0, 1], Small(), True, BatchBudget(3)).tolist() == [True, True, False]
    assert "going on with 1" in capsys.readouterr().err
