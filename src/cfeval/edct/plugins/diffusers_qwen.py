"""Pipelines of diffusers whose instruction is read by a Qwen model that sees the image too; one image at a time.

Qwen-Image-Edit and Qwen-Image-Edit-Plus (2509 and later): the negative prompt counts only with `true_cfg_scale` > 1,
and then guidance needs one: a blank where there is nothing to say, as the model's authors do. What it sees of the
original is scaled to about a megapixel whatever comes in.

Qwen-Image 2.1 makes and edits images with one checkpoint; its authors paint without guidance. A checkpoint that was
distilled to a schedule of its own paints with that one only.

LongCat-Image-Edit paints about a megapixel of the image's shape whatever is asked, so that no size can be set.
"""

from collections.abc import Sequence
from typing import Any

from cfeval.core.errors import ParamsError
from cfeval.edct.plugins.diffusers_kinds import MEGAPIXEL, Canvas, Kind, Settings, guided, truly_guided

_SIZE = {"min_pixels": MEGAPIXEL, "max_pixels": MEGAPIXEL}


def _paint(pipe: Any, canvases: Sequence[Canvas], settings: Settings) -> Any:
    [canvas] = canvases
    width, height = canvas.image.size
    return pipe(
        image=canvas.image,
        prompt=canvas.prompt,
        negative_prompt=canvas.negative_prompt or " " if truly_guided(settings) else None,
        true_cfg_scale=settings["true_cfg"],
        num_inference_steps=int(settings["steps"]),
        generator=canvas.generator,
        width=width,
        height=height,
        output_type="np",
    )


QWEN = Kind({"steps": 50, "true_cfg": 4.0, **_SIZE}, grid=32, paint=_paint, negative=truly_guided, step_cache=True)
QWEN_PLUS = Kind({**QWEN.settings, "steps": 40}, grid=32, paint=_paint, negative=truly_guided, step_cache=True)


def _own_schedule(pipe: Any, settings: Settings) -> None:
    own = pipe.config.sample_sigmas
    if own and len(own) != int(settings["steps"]):
        raise ParamsError(f"the checkpoint has a schedule of its own, of {len(own)} steps; set steps: {len(own)}")


QWEN_2 = Kind(
    {"steps": 40, "true_cfg": 1.0, **_SIZE},
    grid=32,
    paint=_paint,
    negative=truly_guided,
    tokenizer="processor.tokenizer",
    prepare=_own_schedule,
)


def _longcat(pipe: Any, canvases: Sequence[Canvas], settings: Settings) -> Any:
    [canvas] = canvases
    return pipe(
        image=canvas.image,
        prompt=canvas.prompt,
        negative_prompt=canvas.negative_prompt,
        guidance_scale=settings["guidance"],
        num_inference_steps=int(settings["steps"]),
        generator=canvas.generator,
        output_type="np",
    )


LONGCAT = Kind({"steps": 50, "guidance": 4.5}, grid=16, paint=_longcat, negative=guided, lora=False, reads=512)
