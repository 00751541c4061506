"""Pixel-space checkpoints of diffusers as denoisers: whatever they predict comes back as noise."""

import json
from pathlib import Path
from typing import Any

import diffusers
import pytest
import torch

from cfeval.core import registry
from cfeval.core.errors import PluginError
from tests.tiny.denoisers import pipeline

NOISY = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(1))
STEPS = torch.tensor([3, 900])


def spec(folder: Path, **changes: Any) -> dict[str, Any]:
    return {"plugin": "diffusers", "model": str(folder), "device": "cpu", **changes}


def built(folder: Path, **changes: Any) -> Any:
    return registry.build("denoisers", spec(folder, **changes))


@pytest.mark.parametrize("target", ["epsilon", "v_prediction", "sample"])
def test_the_noise_gives_the_x0_that_diffusers_own_scheduler_finds(target: str, tmp_path: Path) -> None:
    unet = pipeline(tmp_path, scheduler={"prediction_type": target, "clip_sample": False})
    scheduler = diffusers.DDPMScheduler.from_pretrained(tmp_path / "scheduler")
    scheduler.set_timesteps(1000)
    denoiser = built(tmp_path)
    found = denoiser.predict(NOISY, STEPS)
    said = unet(NOISY, STEPS).sample
    for item, step in enumerate(STEPS):
        wanted = scheduler.step(said[item], int(step), NOISY[item]).pred_original_sample
        level = denoiser.alphas_cumprod[step]
        x0 = (NOISY[item] - (1 - level).sqrt() * found.noise[item]) / level.sqrt()
        assert torch.allclose(x0.float(), wanted, atol=1e-3, rtol=1e-3)
    assert found.variance is None


@pytest.mark.parametrize("schedule", ["linear", "scaled_linear", "squaredcos_cap_v2", "sigmoid"])
def test_the_schedule_is_the_schedulers(schedule: str, tmp_path: Path) -> None:
    pipeline(tmp_path, scheduler={"beta_schedule": schedule, "num_train_timesteps": 500})
    found = built(tmp_path).alphas_cumprod
    assert found.dtype == torch.float64
    wanted = diffusers.DDPMScheduler.from_pretrained(tmp_path / "scheduler").alphas_cumprod
    assert torch.allclose(found.float(), wanted, rtol=1e-4, atol=1e-9)


def test_six_channels_are_noise_and_variance(tmp_path: Path) -> None:
    unet = pipeline(tmp_path, scheduler={"variance_type": "learned_range"}, out_channels=6)
    found, said = built(tmp_path).predict(NOISY, STEPS), unet(NOISY, STEPS).sample
    assert torch.equal(torch.cat([found.noise, found.variance], dim=1), said)


def test_classes_are_told_and_must_be(tmp_path: Path) -> None:
    pipeline(tmp_path, num_class_embeds=4)
    denoiser = built(tmp_path)
    first, other = (denoiser.predict(NOISY, STEPS, torch.tensor([k, k])).noise for k in (0, 3))
    assert denoiser.classes == 4
    assert not torch.allclose(first, other)
    with pytest.raises(PluginError, match="conditional on 4 classes"):
        denoiser.predict(NOISY, STEPS)


def test_a_conditional_unet_that_looks_at_no_text_serves_too(tmp_path: Path) -> None:
    unet = pipeline(tmp_path, "UNet2DConditionModel", scheduler={"name": "DDIMScheduler"})
    denoiser = built(tmp_path)
    assert torch.equal(denoiser.predict(NOISY, STEPS).noise, unet(NOISY, STEPS, None).sample)
    assert (denoiser.image_size, denoiser.classes, denoiser.device.type) == (16, 0, "cpu")


def test_gradients_reach_the_image_and_no_weight(tmp_path: Path) -> None:
    pipeline(tmp_path)
    denoiser = built(tmp_path)
    image = NOISY.clone().requires_grad_()
    denoiser.predict(image, STEPS).noise.sum().backward()
    assert image.grad is not None
    assert image.grad.abs().sum() > 0
    assert all(weight.grad is None for weight in denoiser.unet.parameters())


UNFIT: dict[str, tuple[dict[str, Any], str]] = {
    "latents": ({"in_channels": 4, "out_channels": 4}, "takes 4 channels and gives 4"),
    "text": (
        {"kind": "UNet2DConditionModel", "mid_block_type": "UNetMidBlock2DCrossAttn"},
        "cannot serve as a denoiser: it wants a text, and has no text encoder",
    ),
    "size": ({"sample_size": None}, "names no image size"),
    "classes": ({"class_embed_type": "timestep"}, "classes are embedded as 'timestep'"),
    "variance": ({"scheduler": {"variance_type": "learned"}}, "variance is learned outright"),
    "flow": ({"scheduler": {"name": "FlowMatchEulerDiscreteScheduler"}}, "has no betas"),
}


@pytest.mark.parametrize("kind", UNFIT)
def test_what_cannot_serve_is_one_line(kind: str, tmp_path: Path) -> None:
    made, said = UNFIT[kind]
    pipeline(tmp_path, **made)
    with pytest.raises(PluginError, match=said) as caught:
        built(tmp_path)
    assert "\n" not in str(caught.value)


def test_another_networks_weights_and_no_weights_are_one_line(tmp_path: Path) -> None:
    pipeline(tmp_path)
    config = tmp_path / "unet" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"block_out_channels": [64, 64]}))
    with pytest.raises(PluginError, match="cannot be loaded") as caught:
        built(tmp_path)
    assert str(tmp_path) not in str(caught.value)
    (tmp_path / "unet" / "diffusion_pytorch_model.safetensors").unlink()
    with pytest.raises(PluginError, match="is incomplete: unet: the weights"):
        built(tmp_path)
    (tmp_path / "scheduler" / "scheduler_config.json").unlink()
    with pytest.raises(PluginError, match=r"scheduler/scheduler_config\.json is missing"):
        built(tmp_path)


def test_what_is_said_before_anything_is_spent(tmp_path: Path) -> None:
    pipeline(tmp_path)
    assert all(finding.fine for finding in registry.diagnose("denoisers", spec(tmp_path)))
    named = {Path(name).name for name in registry.dependencies("denoisers", spec(tmp_path))}
    assert {"model_index.json", "diffusion_pytorch_model.safetensors", "scheduler_config.json"} <= named
    assert [registry.resources("denoisers", spec(tmp_path, device=d)).gpu for d in ("cpu", "auto", "cuda")] == [0, 1, 1]
