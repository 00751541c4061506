"""Editors of the diffusers library, on this machine: FLUX.2 Klein, FLUX.1 Kontext, Qwen-Image-Edit and others.

The checkpoint names its pipeline; `cfeval.edct.plugins.diffusers_pipelines` knows how each is called, and what each
checkpoint needs. An image is painted at a size that suits the model and comes back in its own.
"""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field, field_validator

from cfeval.core.errors import PluginError, nearest
from cfeval.core.registry import Diagnostic
from cfeval.edct.interfaces import Editor
from cfeval.edct.plugins import diffusers_editor, diffusers_speed
from cfeval.edct.plugins.diffusers_editor import PipelineEditor, settings_for
from cfeval.edct.plugins.diffusers_pipelines import KINDS, Settings, fitting
from cfeval.edct.plugins.diffusers_speed import SpeedOptions, adapter_of
from cfeval.edct.plugins.masks import MaskOptions, examine_masks, mask_files, mask_source
from cfeval.inference.local import devices, pretrained
from cfeval.inference.local.devices import memory_errors
from cfeval.inference.local.libraries import Package, check_packages

# The options that are the pipeline's; those left out take the values in `KINDS`.
SETTINGS = ("steps", "guidance", "image_guidance", "true_cfg", "strength", "edit_threshold", "min_pixels", "max_pixels")


class Plugin(SpeedOptions, MaskOptions, pretrained.LocalPlugin):
    """Which checkpoint, where it computes, and how it paints. A pipeline refuses an option that it cannot use."""

    pipeline: str = ""
    """The class of the pipeline; empty: the one that the checkpoint names."""
    dtype: devices.Dtype = "auto"
    """Number format; auto: bfloat16 on a GPU, float32 on a processor."""
    offload: diffusers_editor.Offload = "none"
    """What waits in main memory, on a GPU too small for all: model (the parts not at work) or sequential (all layers
    but the one at work; slow)."""
    steps: int | None = Field(None, ge=1, le=1000)
    """Of denoising."""
    guidance: float | None = Field(None, ge=0)
    """How strongly the text guides (guidance_scale; for LEDITS++ the edit guidance). FLUX.2 Klein reads it in its base
    checkpoints only."""
    image_guidance: float | None = Field(None, ge=0)
    """How strongly the original guides (InstructPix2Pix)."""
    true_cfg: float | None = Field(None, ge=0)
    """FLUX and Qwen: guidance by a negative prompt; over 1 it is read, and the work doubles."""
    strength: float | None = Field(None, gt=0, le=1)
    """Share of the noise schedule that the image goes through: 1 keeps least of the original."""
    edit_threshold: float | None = Field(None, gt=0, lt=1)
    """LEDITS++: share of the image that an edit leaves alone."""
    min_pixels: int | None = Field(None, ge=1)
    """Width × height that a smaller image is enlarged to for painting."""
    max_pixels: int | None = Field(None, ge=1)
    """Width × height that a larger image is shrunk to for painting."""

    @field_validator("pipeline")
    @classmethod
    def _is_pipeline(cls, name: str) -> str:
        if name and name not in KINDS:
            raise ValueError(f"no pipeline that edits; {nearest(name, KINDS)}")
        return name

    def dependencies(self) -> tuple[str, ...]:
        """The checkpoint's files and the adapter's, where they are the user's own, and the masks'."""
        own = (*diffusers_editor.checkpoint_of(self).files(), *diffusers_speed.adapter_files(self))
        return tuple(map(str, (*own, *mask_files(self))))

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether device, checkpoint, settings and masks are there and fit; no weights are read."""

        def room() -> pretrained.Room:
            device = _device(self)
            place = device if self.offload == "none" else "cpu"
            return pretrained.Room(device, place, devices.memory(place), _advice(self, device))

        def size(folder: Path) -> int:
            return diffusers_editor.size(folder, diffusers_editor.dtype_on(_device(self), self.dtype), self)

        checkpoint = diffusers_editor.checkpoint_of(self)
        if (yield from pretrained.findings(checkpoint, _packages(self), room, size)):
            yield pretrained.finding(lambda: f"painted by {_pipeline(self)[0]}{_added(self)}")
        if self.lora:
            yield pretrained.finding(lambda: diffusers_speed.about_adapter(self))
        try:
            device = devices.chosen(self.device)
        except PluginError:  # said before
            device = ""
        if device.startswith("cuda"):
            memory = devices.memory(device)
            names = ", ".join(model.name for model in fitting(memory)) or "none without offload or float8"
            yield Diagnostic(True, f"published editors that fit the {memory / 2**30:.0f} GiB of {device}: {names}")
        if self.masks or self.mask_model:
            yield pretrained.finding(lambda: examine_masks(self))

    def advice(self) -> str:
        """That nobody knows beforehand how long edits take here, and who tells."""
        if self.speed == "fast":
            return (
                "speed fast changes images: put the editor behind plugin gated; `cfeval edct edit-cost` compares its "
                "seconds and accepted edits with those of an editor without it"
            )
        return ""

    def build(self) -> Editor:
        """The editor, its pipeline loaded.

        Raises:
            ParamsError: the pipeline cannot use an option.
            PluginError: checkpoint, device or memory do not suffice.
        """
        pipeline, settings = _pipeline(self)
        check_packages(_packages(self))
        device = _device(self)
        dtype = diffusers_editor.dtype_on(device, self.dtype)
        checkpoint = diffusers_editor.checkpoint_of(self)
        folder = checkpoint.whole()
        model = checkpoint.name(folder)
        advice = _advice(self, device)
        with memory_errors(f"loading model '{model}'", advice):
            mask = mask_source(self, device)
            speed, lora = diffusers_speed.preset(self, KINDS[pipeline], device, self.offload), adapter_of(self)
            pipe = diffusers_editor.load(folder, model, pipeline, dtype, device, self.offload, speed, lora)
        KINDS[pipeline].prepare(pipe, settings)
        about = {"pipeline": pipeline, "model": model, "dtype": dtype, **diffusers_speed.details(speed, lora)}
        return PipelineEditor(pipe, KINDS[pipeline], settings, mask, about, advice, self.batch)


def _pipeline(options: Plugin) -> tuple[str, Settings]:
    name = diffusers_editor.pipeline_of(diffusers_editor.checkpoint_of(options), options.pipeline)
    given = {key: value for key in SETTINGS if (value := getattr(options, key)) is not None}
    diffusers_speed.check_speed(name, KINDS[name], options, options.offload)
    if options.scheduler:
        scheduler = diffusers_editor.scheduler_of(diffusers_editor.checkpoint_of(options))
        diffusers_speed.check_scheduler(scheduler, options)
    return name, settings_for(name, given, bool(options.masks or options.mask_model), options.offload)


def _added(options: Plugin) -> str:
    """What the preset sets here, to be read after the pipeline's name."""
    if options.speed == "plain":
        return ""
    kind = KINDS[_pipeline(options)[0]]
    faster = diffusers_speed.preset(options, kind, _device(options), options.offload)
    details = diffusers_speed.details(faster).items()
    return (
        f"; speed fast: {', '.join(f'{name} {value}' for name, value in details) or 'nothing that it could set here'}"
    )


def _packages(options: Plugin) -> list[Package]:
    offload = [Package("accelerate", f"offload: {options.offload}", "offload: none")]
    return [*(offload if options.offload != "none" else []), *diffusers_speed.packages(options)]


def _device(options: Plugin) -> str:
    device = devices.chosen(options.device)
    if device == "cpu" and options.offload != "none":
        raise PluginError(f"offload '{options.offload}' needs a GPU, and none is used; set offload: none")
    diffusers_speed.check_device(options, device)
    return device


def _advice(options: Plugin, device: str) -> str:
    """What to set where memory runs out: only what is not set yet."""
    smaller = "bfloat16" if options.dtype == "float32" or (options.dtype == "auto" and device == "cpu") else ""
    ways = [f"dtype: {smaller}"] if smaller else []
    if device != "cpu" and options.offload != "sequential":
        ways.append("offload: model" if options.offload == "none" else "offload: sequential")
    return f"set {', '.join([*ways, 'a smaller max_pixels'])}, or take a larger machine"
