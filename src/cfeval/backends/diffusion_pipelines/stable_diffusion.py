"""Editors on Stable Diffusion 1 and 2: InstructPix2Pix, inpainting, and img2img (SDEdit).

Their text encoder reads 77 tokens. The negative prompt counts where there is guidance: `guidance_scale` > 1.
"""

from typing import Any

from cfeval.backends.diffusion_pipelines.kind import Canvas, Kind, Settings

TRAINED = {"min_pixels": 512 * 512, "max_pixels": 512 * 512}
"""The size the models were trained at."""


def _guided(settings: Settings) -> bool:
    return settings["guidance"] > 1


def _guided_by_both(settings: Settings) -> bool:
    return settings["guidance"] > 1 and settings["image_guidance"] >= 1


def _arguments(canvas: Canvas, settings: Settings) -> dict[str, Any]:
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
    return pipe(**_arguments(canvas, settings), image_guidance_scale=settings["image_guidance"])


def _image_to_image(pipe: Any, canvas: Canvas, settings: Settings) -> Any:
    return pipe(**_arguments(canvas, settings), strength=settings["strength"])


def _inpaint(pipe: Any, canvas: Canvas, settings: Settings) -> Any:
    width, height = canvas.image.size
    masked = {"mask_image": canvas.mask, "strength": settings["strength"], "width": width, "height": height}
    return pipe(**_arguments(canvas, settings), **masked)


INSTRUCT_PIX2PIX = Kind(
    {"steps": 100, "guidance": 7.5, "image_guidance": 1.5, **TRAINED},
    grid=8,
    paint=_instruct,
    negative=_guided_by_both,
)
INPAINT = Kind(
    {"steps": 50, "guidance": 7.5, "strength": 1.0, **TRAINED}, grid=8, paint=_inpaint, negative=_guided, mask=True
)
IMAGE_TO_IMAGE = Kind(
    {"steps": 50, "guidance": 7.5, "strength": 0.75, **TRAINED}, grid=8, paint=_image_to_image, negative=_guided
)
