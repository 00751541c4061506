"""Latent checkpoints of diffusers: what classifiers see is decoded, and gradients go back through the decoder."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from cfeval.core import registry
from cfeval.core.errors import PluginError
from cfeval.vce.interfaces import Autoencoder
from cfeval.vce.method import Compute, Method
from cfeval.vce.sampler.batch import Classes, batch_of
from cfeval.vce.sampler.guidance import StepState, guide
from cfeval.vce.sampler.networks import Models, Networks
from cfeval.vce.sampler.prediction import predict_x0
from cfeval.vce.sampler.sampler import counterfactuals
from cfeval.vce.sampler.schedule import respaced
from tests.tiny.denoisers import latent_pipeline
from tests.vce.sampler.toys import ToyClassifier, red_images

KINDS = [("UNet2DModel", "AutoencoderKL"), ("UNet2DModel", "VQModel"), ("DiTTransformer2DModel", "AutoencoderKL")]
IMAGES = red_images(3, 16)
CLASSES = Classes([1] * 3, [0] * 3)


def built(folder: Path) -> Any:
    return registry.build("denoisers", {"plugin": "diffusers", "model": str(folder), "device": "cpu"})


@pytest.mark.parametrize(("network", "codec"), KINDS)
def test_latents_and_noise_are_those_of_the_networks(network: str, codec: str, tmp_path: Path) -> None:
    finder, autoencoder = latent_pipeline(tmp_path, network, codec)
    denoiser = built(tmp_path)
    assert isinstance(denoiser, Autoencoder)
    assert (denoiser.image_size, denoiser.classes) == (16, 3)
    with torch.no_grad():
        scale = autoencoder.config.scaling_factor
        found = autoencoder.encode(IMAGES)
        latents = (found.latents if codec == "VQModel" else found.latent_dist.mean) * scale
        assert torch.allclose(denoiser.encode(IMAGES), latents)
        assert torch.allclose(denoiser.decode(latents), autoencoder.decode(latents / scale).sample)
        steps, labels = torch.tensor([3, 500, 900]), torch.tensor([0, 1, 2])
        said = finder(latents, steps, class_labels=labels).sample
        noise = denoiser.predict(latents, steps, labels)
        assert torch.allclose(noise.noise, said[:, :4])
        assert (noise.variance is None) == (network == "UNet2DModel")


def test_the_gradient_goes_through_decoder_and_denoiser(tmp_path: Path) -> None:
    latent_pipeline(tmp_path)
    denoiser, classifier = built(tmp_path), ToyClassifier(bend=0.2)
    parts = Method(
        preset="dbvce", projection="none", norm="none", distance="denoiser", lp=2, lp_weight=0.3, scales=(2.0,)
    )
    models = Models(denoiser, classifier)
    networks, schedule = Networks(models, Compute()), respaced(denoiser.alphas_cumprod, "10")
    batch, noisy = batch_of(IMAGES, range(3), parts, models, CLASSES), torch.randn(3, 4, 8, 8)
    look = predict_x0(networks, schedule, noisy, 3, batch.labels, False, True)
    found = guide(parts, networks, batch, StepState(schedule, 3, 0, noisy, noisy, look), 2.0).direction
    leaf, step = noisy.clone().requires_grad_(), torch.full((3,), int(schedule.timesteps[3]))
    shown = denoiser.decode(schedule.clean(leaf, denoiser.predict(leaf, step, batch.labels).noise, 3))
    rise = classifier.logits(shown).log_softmax(1)[:, 1].sum()
    (expected,) = torch.autograd.grad(2.0 * rise - 0.3 * (shown - IMAGES).square().sum(), leaf)
    assert found is not None
    assert torch.allclose(found, expected, atol=1e-5, rtol=1e-3)


def made(denoiser: Any, regions: Tensor | None = None, **how: Any) -> Tensor:
    method = Method.model_validate({"preset": "dbvce", "projection": "none", "respacing": "6", **how})
    models = Models(denoiser, ToyClassifier(gain=40.0))
    return counterfactuals(IMAGES, range(3), method, models, CLASSES, Compute(batch=2), regions=regions).images


def probability(images: Tensor) -> Tensor:
    return ToyClassifier(gain=40.0).logits(images).softmax(1)[:, 1]


@pytest.mark.slow
@pytest.mark.parametrize(("network", "codec"), KINDS)
def test_guidance_moves_the_decoded_images_to_the_target(network: str, codec: str, tmp_path: Path) -> None:
    latent_pipeline(tmp_path, network, codec)
    denoiser = built(tmp_path)
    alone = made(denoiser, preset="unguided", projection="none")
    found = made(denoiser, scales=(6.0,))
    assert found.shape == IMAGES.shape
    assert bool((probability(found) > probability(alone)).all())


@pytest.mark.slow
def test_consensus_and_regions_work_on_latents(tmp_path: Path) -> None:
    latent_pipeline(tmp_path)
    denoiser = built(tmp_path)
    agreed = made(denoiser, projection="consensus", angle=60, scales=(6.0,))
    assert not torch.equal(agreed, made(denoiser, scales=(6.0,)))
    region = torch.zeros(3, 1, 16, 16)
    region[:, :, 3:9, 3:9] = 1
    found = made(denoiser, region, mask="given", region_folder="masks", scales=(6.0,))
    assert torch.equal(found * (1 - region), IMAGES * (1 - region))
    assert ((found != IMAGES) & (region > 0)).any()


def test_what_cannot_serve_is_one_line(tmp_path: Path) -> None:
    latent_pipeline(tmp_path / "channels", in_channels=5, out_channels=5)
    with pytest.raises(PluginError, match="takes 5 channels and gives 5, not 4 and 4"):
        built(tmp_path / "channels")
    latent_pipeline(tmp_path / "kind")
    config = tmp_path / "kind" / "vae" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"_class_name": "AsymmetricAutoencoderKL"}))
    with pytest.raises(PluginError, match="its autoencoder is a AsymmetricAutoencoderKL, not one of AutoencoderKL"):
        built(tmp_path / "kind")
    (tmp_path / "kind" / "vae" / "diffusion_pytorch_model.safetensors").unlink()
    with pytest.raises(PluginError, match="is incomplete: vae: the weights"):
        built(tmp_path / "kind")
