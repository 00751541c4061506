"""Pixel-space diffusion models of the diffusers library: a folder or hub name of a DDPM or DDIM pipeline.

Its UNet finds the noise; its scheduler's configuration says how much noise each step has and what the UNet predicts.
Models that work on latents or want a text are none of these.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cfeval.core.errors import PluginError
from cfeval.core.registry import Diagnostic
from cfeval.inference.local import devices, pretrained
from cfeval.inference.local.devices import memory_errors, out_of_memory
from cfeval.inference.local.hub import Checkpoint
from cfeval.inference.local.libraries import first_line, quiet
from cfeval.inference.local.weights import read_json, weights_fault, weights_size
from cfeval.vce.interfaces import Denoiser
from cfeval.vce.models.unet_denoiser import SMALLER, UNetDenoiser, dtype_on, of_scheduler, placed

PARTS = ("unet", "scheduler")
KINDS = ("UNet2DModel", "UNet2DConditionModel")


class Plugin(pretrained.LocalPlugin):
    """Which checkpoint, and where it computes."""

    dtype: devices.Dtype = "auto"
    """Number format; auto: float16 on a GPU, float32 on a processor."""

    def dependencies(self) -> tuple[str, ...]:
        """The checkpoint's files, where it is a folder."""
        return tuple(map(str, self._checkpoint().files()))

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether device and checkpoint are there and fit; no weights are read."""

        def room() -> pretrained.Room:
            device = devices.chosen(self.device)
            return pretrained.Room(device, device, devices.memory(device), SMALLER)

        def size(folder: Path) -> int:
            return weights_size(folder / "unet", dtype_on(devices.chosen(self.device), self.dtype))

        yield from pretrained.findings(self._checkpoint(), (), room, size)

    def build(self) -> Denoiser:
        """The denoiser, its weights loaded.

        Raises:
            PluginError: checkpoint, device or memory do not suffice, or it is no pixel-space model without text.
        """
        device = devices.chosen(self.device)
        checkpoint = self._checkpoint()
        folder = checkpoint.whole()
        model = checkpoint.name(folder)
        kind = _checked(folder, model)
        with memory_errors(f"loading model '{model}'", SMALLER):
            unet, scheduler = _loaded(folder, model, kind)
            unet = placed(unet, device, self.dtype)
        classes = unet.config.num_class_embeds or 0
        steps = of_scheduler(scheduler, model)
        return UNetDenoiser(unet, steps, unet.config.sample_size, classes, scheduler.config.prediction_type)

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(self.model, self.revision, "model_index.json", _fault, lambda _: PARTS)


def _fault(folder: Path) -> str:
    """What a folder lacks: one line, or empty."""
    named = {"unet": "config.json", "scheduler": "scheduler_config.json"}
    absent = [f"{part}/{name}" for part, name in named.items() if not (folder / part / name).is_file()]
    if absent:
        return f"{absent[0]} is missing"
    fault = weights_fault(folder / "unet")
    return fault and f"unet: {fault}"


def _checked(folder: Path, model: str) -> str:
    """The class of its UNet.

    Raises:
        PluginError: it is none that finds noise in an RGB image by itself.
    """
    config, scheduler = (
        read_json(folder / "unet" / "config.json"),
        read_json(folder / "scheduler/scheduler_config.json"),
    )
    kind = str(config.get("_class_name"))
    fault = _unfit(kind, config) or _untold(scheduler)
    if fault:
        raise PluginError(
            f"model '{model}' cannot serve as a denoiser: {fault}; give a pixel-space DDPM or DDIM checkpoint"
        )
    return kind


def _unfit(kind: str, config: dict[str, Any]) -> str:
    """What a UNet has that a denoiser of RGB images has not: one phrase, or empty."""
    if kind not in KINDS:
        return f"its UNet is a {kind}, not one of {', '.join(KINDS)}"
    blocks = (*config.get("down_block_types", ()), *config.get("up_block_types", ()), config.get("mid_block_type"))
    if kind == "UNet2DConditionModel" and any("Cross" in str(block) for block in blocks):
        return "it wants a text"
    channels = config.get("in_channels", 3), config.get("out_channels", 3)
    if channels not in ((3, 3), (3, 6)):
        return f"it takes {channels[0]} channels and gives {channels[1]}, not 3 and 3 (or 6, with the variance)"
    if config.get("class_embed_type") is not None:
        return f"its classes are embedded as '{config['class_embed_type']}'"
    return "" if isinstance(config.get("sample_size"), int) else "it names no image size (sample_size)"


def _untold(config: dict[str, Any]) -> str:
    """What a scheduler says that is not understood: one phrase, or empty."""
    target = config.get("prediction_type", "epsilon")
    if target not in ("epsilon", "v_prediction", "sample"):
        return f"it predicts '{target}', not epsilon, v_prediction or sample"
    variance = config.get("variance_type", "fixed_small")
    return "its variance is learned outright (variance_type: learned)" if variance == "learned" else ""


def _loaded(folder: Path, model: str, kind: str) -> tuple[Any, Any]:
    """UNet and scheduler."""
    import diffusers

    scheduler = read_json(folder / "scheduler" / "scheduler_config.json").get("_class_name", "DDPMScheduler")
    try:
        with quiet("diffusers"):
            unet = getattr(diffusers, kind).from_pretrained(
                folder / "unet", local_files_only=True, use_safetensors=True
            )
            return unet, getattr(diffusers, scheduler).from_pretrained(folder / "scheduler", local_files_only=True)
    except Exception as error:  # whatever is wrong with a checkpoint surfaces as any kind of error
        if out_of_memory(error):
            raise
        reason = first_line(error, folder, model)
        raise PluginError(f"model '{model}' cannot be loaded ({reason}); copy or download it again") from error
