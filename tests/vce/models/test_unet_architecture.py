"""Checkpoints of guided-diffusion compute the same as a UNet of diffusers."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from cfeval.core import registry
from cfeval.core.errors import ParamsError, PluginError
from tests.slow import first_fast
from tests.tiny.denoisers import guided, original
from tests.vce.models.variants import VARIANTS, flags, options

NOISY = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
STEPS = torch.tensor([0, 999])


def built(variant: str, path: Path, **changes: Any) -> Any:
    return registry.build("denoisers", options(variant, path) | changes)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Not to be changed."""
    return guided(tmp_path_factory.mktemp("guided"), "as 256, unconditional")


@pytest.mark.slow
@pytest.mark.parametrize("variant", first_fast(VARIANTS))
def test_a_checkpoint_finds_the_same_noise_as_the_network_it_is_of(variant: str, tmp_path: Path) -> None:
    network, denoiser = original(variant), built(variant, guided(tmp_path, variant))
    labels = torch.tensor([0, flags(variant)["classes"] - 1]) if denoiser.classes else None
    wanted = network(NOISY, STEPS, labels)
    found = denoiser.predict(NOISY, STEPS, labels)
    assert denoiser.classes == flags(variant)["classes"]
    assert (found.noise - wanted[:, :3]).abs().max() < 1e-4
    assert wanted[:, :3].std() > 0.1, "a network that says nothing would agree with any"
    if flags(variant)["learn_sigma"]:
        assert (found.variance - wanted[:, 3:]).abs().max() < 1e-4
    else:
        assert found.variance is None


@pytest.mark.slow
def test_gradients_reach_the_image_as_in_the_network_and_no_weight(checkpoint: Path) -> None:
    denoiser, network = built("as 256, unconditional", checkpoint), original("as 256, unconditional")
    pulled = []
    for predict in (lambda x: denoiser.predict(x, STEPS).noise, lambda x: network(x, STEPS)[:, :3]):
        image = NOISY.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(predict(image).square().sum(), image)
        pulled.append(gradient)
    assert (pulled[0] - pulled[1]).abs().max() < 1e-4 * pulled[1].abs().max()
    assert not any(weight.requires_grad for weight in denoiser.unet.parameters())


@pytest.mark.slow
def test_weights_in_half_precision_are_read_as_published(checkpoint: Path, tmp_path: Path) -> None:
    half = {name: value.half() for name, value in torch.load(checkpoint, weights_only=True).items()}
    torch.save(half, tmp_path / "half.pt")
    found = built("as 256, unconditional", tmp_path / "half.pt").predict(NOISY, STEPS).noise
    assert found.dtype == torch.float32
    assert (found - built("as 256, unconditional", checkpoint).predict(NOISY, STEPS).noise).abs().max() < 0.01


@pytest.mark.slow
def test_bfloat16_says_nearly_the_same(checkpoint: Path) -> None:
    fine, coarse = (built("as 256, unconditional", checkpoint, dtype=kind) for kind in ("float32", "bfloat16"))
    wanted, found = (denoiser.predict(NOISY, STEPS).noise for denoiser in (fine, coarse))
    assert found.dtype == torch.float32
    assert (found - wanted).norm() < 0.03 * wanted.norm()


def squared_cosine(share: float) -> Tensor:
    return torch.cos(torch.tensor((share + 0.008) / 1.008 * torch.pi / 2, dtype=torch.float64)) ** 2


def test_the_schedule_is_linear_or_cosine(checkpoint: Path) -> None:
    linear = built("as 256, unconditional", checkpoint).alphas_cumprod
    cosine = built("as 256, unconditional", checkpoint, noise_schedule="cosine").alphas_cumprod
    assert linear.dtype == cosine.dtype == torch.float64
    assert linear[0].item() == pytest.approx(1 - 1e-4)
    assert linear[497].item() == pytest.approx(0.0802, abs=5e-5)  # the papers' first step
    assert cosine[499].item() == pytest.approx((squared_cosine(0.5) / squared_cosine(0)).item())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"num_channels": 64}, r"time_embed.0.weight is 128×32, not 256×64; \d+ such weights"),
        ({"num_res_blocks": 1}, "such weights"),
        ({"channel_mult": (1, 1, 2, 2)}, "is missing"),
        ({"use_scale_shift_norm": False}, "emb_layers.1.weight is 64×128, not 32×128"),
        ({"attention_resolutions": (16, 8, 32)}, "input_blocks.1.1.norm.weight is missing"),
    ],
)
def test_weights_that_do_not_fit_are_one_line(checkpoint: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(PluginError, match=rf"'model.pt' does not fit the architecture: .*{said}") as caught:
        built("as 256, unconditional", checkpoint, **change)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"image_size": 100}, "cannot be halved 3 times"),
        ({"num_channels": 40}, "multiples of 32"),
        ({"num_head_channels": 24}, "attention heads do not divide"),
        ({"noise_schedule": None}, "no checkpoint was published for image_size 32"),
        ({"device": "gpu"}, "device"),
    ],
)
def test_an_architecture_that_cannot_be_is_said_before_anything_is_read(change: dict[str, Any], said: str) -> None:
    spec = options("as 256, unconditional", "nowhere.pt") | {"channel_mult": (1, 1, 2, 2)} | change
    with pytest.raises(ParamsError, match=said):
        registry.check("denoisers", spec, "vce")


def test_a_file_with_code_in_it_a_cut_one_and_none_are_one_line_each(checkpoint: Path, tmp_path: Path) -> None:
    torch.save({"a": print}, tmp_path / "code.pt")
    torch.save([torch.zeros(1)], tmp_path / "list.pt")
    (tmp_path / "cut.pt").write_bytes(checkpoint.read_bytes()[:5000])
    said = {"code": "holds more than weights", "cut": "is cut short", "list": "no state dict", "none": "check the path"}
    for name, text in said.items():
        with pytest.raises(PluginError, match=text):
            built("as 256, unconditional", tmp_path / f"{name}.pt")


@pytest.mark.slow
def test_a_conditional_one_without_labels_is_one_line(tmp_path: Path) -> None:
    denoiser = built("as 256, conditional", guided(tmp_path, "as 256, conditional"))
    with pytest.raises(PluginError, match="conditional on 10 classes"):
        denoiser.predict(NOISY, STEPS)


def test_what_is_said_before_anything_is_spent_names_the_missing_file(checkpoint: Path) -> None:
    here = list(registry.diagnose("denoisers", options("as 256, unconditional", checkpoint)))
    gone = list(registry.diagnose("denoisers", options("as 256, unconditional", "gone.pt")))
    assert all(finding.fine for finding in here)
    assert [finding.text for finding in gone if not finding.fine] == [
        "no weights 'gone.pt' where 'path' says; check the path"
    ]
    assert registry.dependencies("denoisers", options("as 256, unconditional", "gone.pt")) == ("gone.pt",)


def test_a_gpu_is_needed_unless_the_processor_is_asked_for(checkpoint: Path) -> None:
    spec = options("as 256, unconditional", checkpoint)
    assert [registry.resources("denoisers", spec | {"device": d}).gpu for d in ("cpu", "auto", "cuda:1")] == [0, 1, 1]


def test_the_benchmark_of_cost_makes_a_checkpoint_of_two_million_weights(tmp_path: Path) -> None:
    from bench import vce_cost

    weights = torch.load(vce_cost._weights(tmp_path, vce_cost.SMALL), weights_only=True)
    assert sum(tensor.numel() for tensor in weights.values()) == pytest.approx(1.97e6, rel=0.01), (
        "as its docstring says"
    )
