"""Qwen-Image-Edit and Qwen-Image-Edit-Plus (2509 and later).

The negative prompt counts only with `true_cfg_scale` > 1, and then guidance needs one: a blank where there is nothing
to say, as the model's authors do. What it sees of the original is scaled to about a megapixel whatever comes in.
"""

from typing import Any

from cfeval.backends.diffusion_pipelines.flux import MEGAPIXEL
from cfeval.backends.diffusion_pipelines.kind import Canvas, Kind, Settings


def _reads_negative(settings: Settings) -> bool:
    return settings["true_cfg"] > 1


def _paint(pipe: Any, canvas: Canvas, settings: Settings) -> Any:
    width, height = canvas.image.size
    return pipe(
        image=canvas.image,
        prompt=canvas.prompt,
        negative_prompt=canvas.negative_prompt or " " if _reads_negative(settings) else None,
        true_cfg_scale=settings["true_cfg"],
        num_inference_steps=int(settings["steps"]),
        generator=canvas.generator,
        width=width,
        height=height,
        output_type="np",
    )


EDIT = Kind(
    {"steps": 50, "true_cfg": 4.0, "min_pixels": MEGAPIXEL, "max_pixels": MEGAPIXEL},
    grid=32,
    paint=_paint,
    negative=_reads_negative,
)
EDIT_PLUS = Kind({**EDIT.settings, "steps": 40}, grid=32, paint=_paint, negative=_reads_negative)
