"""FLUX.1 Kontext, for the whole picture and inside a mask.

The negative prompt counts only with `true_cfg_scale` > 1, which doubles the work: the guidance proper is distilled into
the model. Sizes are explicit: without them the pipeline paints a square.
"""

from typing import Any

from cfeval.backends.diffusion_pipelines.kind import Canvas, Kind, Settings

MEGAPIXEL = 1024 * 1024


def _reads_negative(settings: Settings) -> bool:
    return settings["true_cfg"] > 1


def _arguments(canvas: Canvas, settings: Settings) -> dict[str, Any]:
    width, height = canvas.image.size
    return {
        "image": canvas.image,
        "prompt": canvas.prompt,
        "negative_prompt": canvas.negative_prompt if _reads_negative(settings) else None,
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
    return pipe(**_arguments(canvas, settings))


def _kontext_inpaint(pipe: Any, canvas: Canvas, settings: Settings) -> Any:
    return pipe(**_arguments(canvas, settings), mask_image=canvas.mask, strength=settings["strength"])


_SETTINGS = {"steps": 28, "guidance": 2.5, "true_cfg": 1.0, "min_pixels": MEGAPIXEL, "max_pixels": MEGAPIXEL}
KONTEXT = Kind(_SETTINGS, grid=16, paint=_kontext, negative=_reads_negative, tokenizer="tokenizer_2")
KONTEXT_INPAINT = Kind(
    {**_SETTINGS, "strength": 1.0},
    grid=16,
    paint=_kontext_inpaint,
    negative=_reads_negative,
    mask=True,
    tokenizer="tokenizer_2",
)
