"""FLUX pipelines of diffusers.

FLUX.1 Kontext, for the whole image and inside a mask: the negative prompt counts only with `true_cfg_scale` > 1,
which doubles the work, since the guidance proper is distilled into the model. Sizes are explicit: without them the
pipeline paints a square.

FLUX.2 and FLUX.2 Klein read no negative prompt. Klein's distilled checkpoints paint in four steps without guidance; its
base checkpoints want some 50 steps and `guidance` 4, which doubles the work. What they see of the original is at most a
megapixel, and they refuse sides under 64 pixels and shapes beyond 8:1. Diffusers shows all images of a call to all
its prompts; here each prompt of a batch is shown its own.
"""

from collections.abc import Sequence
from typing import Any

from cfeval.edct.plugins.diffusers_kinds import MEGAPIXEL, Canvas, Kind, Settings, never, truly_guided


def _flux_arguments(canvases: Sequence[Canvas], settings: Settings) -> dict[str, Any]:
    width, height = canvases[0].image.size
    return {
        "image": [canvas.image for canvas in canvases],
        "prompt": [canvas.prompt for canvas in canvases],
        "guidance_scale": settings["guidance"],
        "num_inference_steps": int(settings["steps"]),
        "generator": [canvas.generator for canvas in canvases],
        "width": width,
        "height": height,
        "output_type": "np",
    }


def _inside(canvases: Sequence[Canvas], settings: Settings) -> dict[str, Any]:
    return {"mask_image": [canvas.mask for canvas in canvases], "strength": settings["strength"]}


def _kontext_arguments(canvases: Sequence[Canvas], settings: Settings) -> dict[str, Any]:
    width, height = canvases[0].image.size
    negative = [canvas.negative_prompt for canvas in canvases] if truly_guided(settings) else None
    return {
        **_flux_arguments(canvases, settings),
        "negative_prompt": negative,
        "true_cfg_scale": settings["true_cfg"],
        "max_area": width * height,  # else sizes are scaled to a megapixel
        "_auto_resize": False,  # else the image is squeezed into the nearest of 17 shapes
    }


def _kontext(pipe: Any, canvases: Sequence[Canvas], settings: Settings) -> Any:
    return pipe(**_kontext_arguments(canvases, settings))


def _kontext_inpaint(pipe: Any, canvases: Sequence[Canvas], settings: Settings) -> Any:
    return pipe(**_kontext_arguments(canvases, settings), **_inside(canvases, settings))


_KONTEXT_SETTINGS = {"steps": 28, "guidance": 2.5, "true_cfg": 1.0, "min_pixels": MEGAPIXEL, "max_pixels": MEGAPIXEL}
KONTEXT = Kind(_KONTEXT_SETTINGS, grid=16, paint=_kontext, negative=truly_guided, batches=True, tokenizer="tokenizer_2")
KONTEXT_INPAINT = Kind(
    {**_KONTEXT_SETTINGS, "strength": 1.0},
    grid=16,
    paint=_kontext_inpaint,
    negative=truly_guided,
    mask=True,
    batches=True,
    tokenizer="tokenizer_2",
)


def _own_image(pipe: Any, settings: Settings) -> None:
    """Show each prompt of a batch its own image, where the pipeline would show it the images of all."""
    import torch

    del settings
    all_of_them = pipe.prepare_image_latents

    def each(images: Sequence[Any], batch_size: int, generator: Any, device: Any, dtype: Any) -> tuple[Any, Any]:
        del batch_size
        own = [all_of_them([image], 1, generator, device, dtype) for image in images]
        latents, places = zip(*own, strict=True)
        return torch.cat(latents), torch.cat(places)

    pipe.prepare_image_latents = each


def _flux2(pipe: Any, canvases: Sequence[Canvas], settings: Settings) -> Any:
    return pipe(**_flux_arguments(canvases, settings))


def _flux2_inpaint(pipe: Any, canvases: Sequence[Canvas], settings: Settings) -> Any:
    return pipe(**_flux_arguments(canvases, settings), **_inside(canvases, settings))


_SIZE = {"min_pixels": MEGAPIXEL, "max_pixels": MEGAPIXEL}
KLEIN = Kind(
    {"steps": 4, "guidance": 1.0, **_SIZE},
    grid=16,
    paint=_flux2,
    negative=never,
    batches=True,
    shortest=64,
    longest=8.0,
    reads=500,  # of 512, which the marks of a conversation share
    prepare=_own_image,
)
KLEIN_INPAINT = Kind(
    {**KLEIN.settings, "strength": 1.0},
    grid=16,
    paint=_flux2_inpaint,
    negative=never,
    mask=True,
    batches=True,
    reads=KLEIN.reads,
)
FLUX2 = Kind(
    {"steps": 50, "guidance": 4.0, **_SIZE},
    grid=16,
    paint=_flux2,
    negative=never,
    batches=True,
    shortest=KLEIN.shortest,
    longest=KLEIN.longest,
    tokenizer="tokenizer.tokenizer",
    reads=440,  # of 512, which the system message shares
    prepare=_own_image,
)
