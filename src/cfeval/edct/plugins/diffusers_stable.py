"""Stable Diffusion pipelines of diffusers.

InstructPix2Pix, inpainting and img2img (SDEdit) on Stable Diffusion 1 and 2: their text encoder reads 77 tokens. The
negative prompt counts where there is guidance: `guidance_scale` > 1.

LEDITS++ inverts the image, then guides it towards the positive and away from the negative part. Its variables: edit
guidance s_e → `guidance`; masking quantile λ → `edit_threshold`; skipped share of the steps → 1 − `strength` (LEDITS++,
Section 3). Randomness enters in the inversion only.
"""

from collections.abc import Sequence
from typing import Any

from cfeval.edct.plugins.diffusers_kinds import Canvas, Kind, Settings, always, guided

_SIZE = {"min_pixels": 512 * 512, "max_pixels": 512 * 512}
"""The size the models were trained at."""


def _guided_by_both(settings: Settings) -> bool:
    return settings["guidance"] > 1 and settings["image_guidance"] >= 1


def _arguments(canvases: Sequence[Canvas], settings: Settings) -> dict[str, Any]:
    return {
        "prompt": [canvas.prompt for canvas in canvases],
        "negative_prompt": [canvas.negative_prompt for canvas in canvases],
        "image": [canvas.image for canvas in canvases],
        "guidance_scale": settings["guidance"],
        "num_inference_steps": int(settings["steps"]),
        "generator": [canvas.generator for canvas in canvases],
        "output_type": "np",
    }


def _instruct(pipe: Any, canvases: Sequence[Canvas], settings: Settings) -> Any:
    return pipe(**_arguments(canvases, settings), image_guidance_scale=settings["image_guidance"])


def _image_to_image(pipe: Any, canvases: Sequence[Canvas], settings: Settings) -> Any:
    return pipe(**_arguments(canvases, settings), strength=settings["strength"])


def _inpaint(pipe: Any, canvases: Sequence[Canvas], settings: Settings) -> Any:
    width, height = canvases[0].image.size
    masks = [canvas.mask for canvas in canvases]
    masked = {"mask_image": masks, "strength": settings["strength"], "width": width, "height": height}
    return pipe(**_arguments(canvases, settings), **masked)


INSTRUCT_PIX2PIX = Kind(
    {"steps": 100, "guidance": 7.5, "image_guidance": 1.5, **_SIZE},
    grid=8,
    paint=_instruct,
    transformer=False,
    negative=_guided_by_both,
    batches=True,
)
INPAINT = Kind(
    {"steps": 50, "guidance": 7.5, "strength": 1.0, **_SIZE},
    grid=8,
    paint=_inpaint,
    transformer=False,
    negative=guided,
    mask=True,
    batches=True,
)
IMAGE_TO_IMAGE = Kind(
    {"steps": 50, "guidance": 7.5, "strength": 0.75, **_SIZE},
    grid=8,
    paint=_image_to_image,
    transformer=False,
    negative=guided,
    batches=True,
)


def _prepare(pipe: Any, settings: Settings) -> None:
    """The inversion is defined for this one sampler; checkpoints come with all kinds."""
    import diffusers

    del settings
    sampler: Any = diffusers.DPMSolverMultistepScheduler
    pipe.scheduler = sampler.from_config(pipe.scheduler.config, algorithm_type="sde-dpmsolver++", solver_order=2)


def _ledits_paint(pipe: Any, canvases: Sequence[Canvas], settings: Settings) -> Any:
    [canvas] = canvases
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
    {"steps": 30, "guidance": 5.0, "edit_threshold": 0.9, "strength": 0.85, **_SIZE},
    grid=32,
    paint=_ledits_paint,
    transformer=False,
    lora=False,  # it exchanges what computes attention, adapters included
    negative=always,
    offload=False,  # it makes its noise on the device where its parts wait, not where they compute
    prepare=_prepare,
)
