"""Pipelines of diffusers that edit: what can be set, what they read, and how they are asked for a picture.

FLUX.1 Kontext, for the whole picture and inside a mask: the negative prompt counts only with `true_cfg_scale` > 1,
which doubles the work, since the guidance proper is distilled into the model. Sizes are explicit: without them the
pipeline paints a square.

Stable Diffusion 1 and 2, as InstructPix2Pix, inpainting and img2img (SDEdit): their text encoder reads 77 tokens. The
negative prompt counts where there is guidance: `guidance_scale` > 1.

LEDITS++ on Stable Diffusion inverts the image, then guides it towards the positive and away from the negative part. Its
variables: edit guidance s_e → `guidance`; masking quantile λ → `edit_threshold`; skipped share of the steps → 1 −
`strength` (LEDITS++, Section 3). Randomness enters in the inversion only.

Qwen-Image-Edit and Qwen-Image-Edit-Plus (2509 and later): the negative prompt counts only with `true_cfg_scale` > 1,
and then guidance needs one: a blank where there is nothing to say, as the model's authors do. What it sees of the
original is scaled to about a megapixel whatever comes in.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL import Image

from cfeval.edct.plugins.remote_editor import Uses

if TYPE_CHECKING:
    import torch

Settings = Mapping[str, float]
"""Names of `Options` and their values."""


@dataclass(frozen=True)
class Canvas:
    """One edit as a pipeline takes it; image and mask (white may change) have the size that is painted."""

    image: Image.Image
    mask: Image.Image | None
    prompt: str
    negative_prompt: str
    generator: "torch.Generator"


def _nothing(pipe: Any) -> None:
    del pipe


@dataclass(frozen=True)
class Kind:
    """One pipeline class."""

    settings: Settings
    """What can be set, and what holds where it is not."""
    grid: int
    """Width and height that it paints are multiples of this many pixels."""
    paint: Callable[[Any, Canvas, Settings], Any]
    """Calls the pipeline; its output has `images`, (1, H, W, 3) floats in [0, 1]."""
    negative: Callable[[Settings], bool]
    """Whether it reads a negative prompt under these settings."""
    mask: bool = False
    """Whether it paints inside a mask, and needs one."""
    offload: bool = True
    """Whether its parts can wait in main memory."""
    tokenizer: str = "tokenizer"
    """The tokenizer whose limit decides how much of a prompt is read."""
    prepare: Callable[[Any], None] = _nothing
    """What is done to the loaded pipeline."""

    def uses(self, settings: Settings) -> Uses:
        """What it can use under these settings."""
        return Uses(negative_prompt=self.negative(settings), mask=self.mask, seed=True)


MEGAPIXEL = 1024 * 1024


def _flux_reads_negative(settings: Settings) -> bool:
    return settings["true_cfg"] > 1


def _flux_arguments(canvas: Canvas, settings: Settings) -> dict[str, Any]:
    width, height = canvas.image.size
    return {
        "image": canvas.image,
        "prompt": canvas.prompt,
        "negative_prompt": canvas.negative_prompt if _flux_reads_negative(settings) else None,
        "true_cfg_scale": settings["true_cfg"],
        "guidance_scale": settings["guidance"],
        "num_inference_steps": int(settings["steps"]),
        "generator": canvas.generator,
        "width": width,
        "height": height,
        "max_area": width * height,  # else sizes are scaled to a megapixel
        "_auto_resize": False,  # else the image is squeezed into the nearest of 17 shapes
        "output_type": "np",
    }


def _kontext(pipe: Any, canvas: Canvas, settings: Settings) -> Any:
    return pipe(**_flux_arguments(canvas, settings))


def _kontext_inpaint(pipe: Any, canvas: Canvas, settings: Settings) -> Any:
    return pipe(**_flux_arguments(canvas, settings), mask_image=canvas.mask, strength=settings["strength"])


_KONTEXT_SETTINGS = {"steps": 28, "guidance": 2.5, "true_cfg": 1.0, "min_pixels": MEGAPIXEL, "max_pixels": MEGAPIXEL}
KONTEXT = Kind(_KONTEXT_SETTINGS, grid=16, paint=_kontext, negative=_flux_reads_negative, tokenizer="tokenizer_2")
KONTEXT_INPAINT = Kind(
    {**_KONTEXT_SETTINGS, "strength": 1.0},
    grid=16,
    paint=_kontext_inpaint,
    negative=_flux_reads_negative,
    mask=True,
    tokenizer="tokenizer_2",
)


_STABLE_DIFFUSION_SIZE = {"min_pixels": 512 * 512, "max_pixels": 512 * 512}
"""The size the models were trained at."""


def _guided(settings: Settings) -> bool:
    return settings["guidance"] > 1


def _guided_by_both(settings: Settings) -> bool:
    return settings["guidance"] > 1 and settings["image_guidance"] >= 1


def _stable_diffusion_arguments(canvas: Canvas, settings: Settings) -> dict[str, Any]:
    return {
        "prompt": canvas.prompt,
        "negative_prompt": canvas.negative_prompt,
        "image": canvas.image,
        "guidance_scale": settings["guidance"],
        "num_inference_steps": int(settings["steps"]),
        "generator": canvas.generator,
        "output_type": "np",
    }


def _instruct(pipe: Any, canvas: Canvas, settings: Settings) -> Any:
    return pipe(**_stable_diffusion_arguments(canvas, settings), image_guidance_scale=settings["image_guidance"])


def _image_to_image(pipe: Any, canvas: Canvas, settings: Settings) -> Any:
    return pipe(**_stable_diffusion_arguments(canvas, settings), strength=settings["strength"])


def _inpaint(pipe: Any, canvas: Canvas, settings: Settings) -> Any:
    width, height = canvas.image.size
    masked = {"mask_image": canvas.mask, "strength": settings["strength"], "width": width, "height": height}
    return pipe(**_stable_diffusion_arguments(canvas, settings), **masked)


INSTRUCT_PIX2PIX = Kind(
    {"steps": 100, "guidance": 7.5, "image_guidance": 1.5, **_STABLE_DIFFUSION_SIZE},
    grid=8,
    paint=_instruct,
    negative=_guided_by_both,
)
INPAINT = Kind(
    {"steps": 50, "guidance": 7.5, "strength": 1.0, **_STABLE_DIFFUSION_SIZE},
    grid=8,
    paint=_inpaint,
    negative=_guided,
    mask=True,
)
IMAGE_TO_IMAGE = Kind(
    {"steps": 50, "guidance": 7.5, "strength": 0.75, **_STABLE_DIFFUSION_SIZE},
    grid=8,
    paint=_image_to_image,
    negative=_guided,
)


def _always(settings: Settings) -> bool:
    del settings
    return True


def _prepare(pipe: Any) -> None:
    """The inversion is defined for this one sampler; checkpoints come with all kinds."""
    import diffusers

    sampler: Any = diffusers.DPMSolverMultistepScheduler
    pipe.scheduler = sampler.from_config(pipe.scheduler.config, algorithm_type="sde-dpmsolver++", solver_order=2)


def _ledits_paint(pipe: Any, canvas: Canvas, settings: Settings) -> Any:
    width, height = canvas.image.size
    pipe.invert(
        image=canvas.image,
        source_prompt="",
        num_inversion_steps=int(settings["steps"]),
        skip=1 - settings["strength"],
        generator=canvas.generator,
        width=width,
        height=height,
    )
    away = [canvas.negative_prompt] if canvas.negative_prompt else []
    directions = [canvas.prompt, *away]
    return pipe(
        editing_prompt=directions,
        reverse_editing_direction=[False, *[True for _ in away]],
        edit_guidance_scale=[settings["guidance"] for _ in directions],
        edit_threshold=[settings["edit_threshold"] for _ in directions],
        output_type="np",
    )


LEDITS = Kind(
    {"steps": 30, "guidance": 5.0, "edit_threshold": 0.9, "strength": 0.85, **_STABLE_DIFFUSION_SIZE},
    grid=32,
    paint=_ledits_paint,
    negative=_always,
    offload=False,  # it makes its noise on the device where its parts wait, not where they compute
    prepare=_prepare,
)


def _qwen_reads_negative(settings: Settings) -> bool:
    return settings["true_cfg"] > 1


def _qwen_paint(pipe: Any, canvas: Canvas, settings: Settings) -> Any:
    width, height = canvas.image.size
    return pipe(
        image=canvas.image,
        prompt=canvas.prompt,
        negative_prompt=canvas.negative_prompt or " " if _qwen_reads_negative(settings) else None,
        true_cfg_scale=settings["true_cfg"],
        num_inference_steps=int(settings["steps"]),
        generator=canvas.generator,
        width=width,
        height=height,
        output_type="np",
    )


QWEN = Kind(
    {"steps": 50, "true_cfg": 4.0, "min_pixels": MEGAPIXEL, "max_pixels": MEGAPIXEL},
    grid=32,
    paint=_qwen_paint,
    negative=_qwen_reads_negative,
)
QWEN_PLUS = Kind({**QWEN.settings, "steps": 40}, grid=32, paint=_qwen_paint, negative=_qwen_reads_negative)


KINDS: dict[str, Kind] = {
    "FluxKontextPipeline": KONTEXT,
    "FluxKontextInpaintPipeline": KONTEXT_INPAINT,
    "QwenImageEditPipeline": QWEN,
    "QwenImageEditPlusPipeline": QWEN_PLUS,
    "StableDiffusionInstructPix2PixPipeline": INSTRUCT_PIX2PIX,
    "StableDiffusionInpaintPipeline": INPAINT,
    "StableDiffusionImg2ImgPipeline": IMAGE_TO_IMAGE,
    "LEditsPPPipelineStableDiffusion": LEDITS,
}
