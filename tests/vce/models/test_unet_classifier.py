"""The noisy classifiers of guided-diffusion compute what the published architecture says."""

from pathlib import Path
from typing import Any

import pytest
import torch

from cfeval.core import registry
from cfeval.core.errors import ParamsError, PluginError
from tests.tiny.noisy_classifiers import FLAGS, original

IMAGES = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
STEPS = torch.tensor([0, 999])
KINDS: dict[str, dict[str, bool]] = {
    "as published": {},
    "timestep added": {"classifier_use_scale_shift_norm": False},
    "convolutions between levels": {"classifier_resblock_updown": False},
}


def built(path: Path, **changes: Any) -> Any:
    return registry.build("classifiers", {"plugin": "guided_diffusion", "path": str(path), **FLAGS, **changes})


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    torch.save(original().state_dict(), tmp_path / "classifier.pt")
    return tmp_path / "classifier.pt"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_gives_the_logits_of_the_network_it_is_of(kind: str, tmp_path: Path) -> None:
    told = KINDS[kind]
    film = told.get("classifier_use_scale_shift_norm", True)
    network = original(film, told.get("classifier_resblock_updown", True))
    torch.save(network.state_dict(), tmp_path / "classifier.pt")
    classifier = built(tmp_path / "classifier.pt", **told)
    assert (classifier.robust, classifier.timed, classifier.classes) == (False, True, tuple("abcdefg"))
    assert (classifier.logits(IMAGES, STEPS) - network(IMAGES, STEPS)).abs().max() < 1e-4
    assert (network(IMAGES, STEPS) - network(IMAGES, STEPS * 0)).abs().max() > 1e-2, "the timestep counts"


def test_gradients_reach_the_images_as_in_the_network(checkpoint: Path) -> None:
    pulled = []
    for score in (built(checkpoint).logits, original()):
        images = IMAGES.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(score(images, STEPS).log_softmax(1)[:, 2].sum(), images)
        pulled.append(gradient)
    assert (pulled[0] - pulled[1]).abs().max() < 1e-4 * pulled[1].abs().max()


def test_without_a_timestep_the_images_count_as_clean(checkpoint: Path) -> None:
    classifier = built(checkpoint)
    assert torch.equal(classifier.logits(IMAGES), classifier.logits(IMAGES, STEPS * 0))


def test_preparing_resizes_and_divides_by_the_temperature(checkpoint: Path) -> None:
    plain, warm = built(checkpoint), built(checkpoint, temperature=2.0)
    assert torch.equal(warm.logits(IMAGES) * 2, plain.logits(IMAGES))
    assert torch.equal(warm.logits(IMAGES, prepared=False), plain.logits(IMAGES))
    flat = torch.full((1, 3, 64, 64), 0.3)
    assert torch.allclose(plain.logits(flat), plain.logits(flat[:, :, :32, :32]), atol=1e-5)
    with pytest.raises(PluginError, match="takes images of 32 × 32 pixels, not 64 × 64"):
        plain.logits(flat, prepared=False)


def test_a_thousand_classes_are_imagenets(tmp_path: Path) -> None:
    torch.save(original(out=1000).state_dict(), tmp_path / "classifier.pt")
    names = built(tmp_path / "classifier.pt", classes=()).classes
    assert len(names) == 1000
    assert (names[293], names[970], names[980]) == ("cheetah", "alp", "volcano")  # the paper's, by number


def test_other_classes_must_be_named_one_each(checkpoint: Path) -> None:
    with pytest.raises(PluginError, match="have 7 classes, which are not ImageNet's; set 'classes'"):
        built(checkpoint, classes=())
    with pytest.raises(PluginError, match="names 2 classes, and the weights have 7"):
        built(checkpoint, classes=("a", "b"))


def test_weights_that_do_not_fit_are_one_line(checkpoint: Path) -> None:
    for change in ({"classifier_width": 64}, {"classifier_depth": 1}, {"image_size": 64}):
        with pytest.raises(PluginError, match=r"'classifier.pt' does not fit the architecture: .* such weights"):
            built(checkpoint, **change)


def test_an_architecture_that_cannot_be_is_said_before_anything_is_read() -> None:
    spec = {"plugin": "guided_diffusion", "path": "gone.pt", **FLAGS}
    for change, said in (
        ({"image_size": 30}, "cannot be halved 2 times"),
        ({"head_channels": 24}, "multiples of 32 and of head_channels"),
        ({"channel_mult": None}, "none was published for image_size 32"),
    ):
        with pytest.raises(ParamsError, match=said):
            registry.check("classifiers", spec | change, "vce")
    assert [f.fine for f in registry.diagnose("classifiers", spec)] == [True, False]
