"""Edits pictures with a loaded pipeline, one at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from cfeval.backends.diffusion_pipelines.kind import Canvas, Kind, Settings
from cfeval.backends.diffusion_pipelines.size import paint_size
from cfeval.backends.editors.base import EditReply, EditRequest
from cfeval.backends.instructions import Prompted, prompt_for
from cfeval.backends.local_models.memory import memory_errors
from cfeval.backends.local_models.quiet import quiet
from cfeval.backends.masks import Mask, Masked, Masker
from cfeval.io.pictures import Picture
from cfeval.records.common import Status

Pixels = npt.NDArray[np.uint8]


class PipelineEditor:
    """An editor around a pipeline.

    A reply's picture has the size of the original; with a mask, the pixels outside are the original's.
    """

    needs_metadata = False

    def __init__(
        self, pipe: Any, kind: Kind, settings: Settings, mask: Masker | None, about: Mapping[str, str], advice: str
    ) -> None:
        self.pipe = pipe
        self.kind = kind
        self.settings = settings
        self.mask = mask
        self.about = {**about, **{name: str(value) for name, value in sorted(settings.items())}}
        self.advice = advice

    def edit(self, requests: Sequence[EditRequest]) -> list[EditReply]:
        """Edit every picture; one without a mask, where one is needed, is `edit_invalid`."""
        with quiet("diffusers", "transformers"):  # values that are no numbers, say, are noticed afterwards
            return [self._edit(request) for request in requests]

    def _edit(self, request: EditRequest) -> EditReply:
        masked = self.mask(request) if self.mask else Masked()
        if masked.reason:
            return EditReply(status=Status.EDIT_INVALID, reason=masked.reason)
        prompted = prompt_for(request, self.kind.uses(self.settings))
        painted, blackened = self._paint(request, prompted, masked.mask)
        details = {
            **self.about,
            **prompted.details,
            **masked.details,
            **self._cut(prompted),
            **_sizes(request, painted),
        }
        if blackened:
            reason = "the checkpoint's safety checker took the picture for unsafe and blackened it"
            return EditReply(details=details, status=Status.MODERATED, reason=reason)
        if not np.isfinite(painted).all():
            reason = "the picture holds values that are no numbers; set dtype: bfloat16 or float32"
            return EditReply(details=details, status=Status.NO_IMAGE, reason=reason)
        return EditReply(Picture.from_pixels(finish(painted, request.picture.pixels, masked.mask)), details)

    def _paint(self, request: EditRequest, prompted: Prompted, mask: Mask | None) -> tuple[npt.NDArray[Any], bool]:
        """What the pipeline paints, (H, W, 3) floats in [0, 1], and whether its safety checker blackened it."""
        import torch

        height, width = request.picture.pixels.shape[:2]
        limits = int(self.settings["min_pixels"]), int(self.settings["max_pixels"])
        size = paint_size((width, height), *limits, self.kind.grid)
        canvas = Canvas(
            image=Image.fromarray(request.picture.pixels).resize(size, Image.Resampling.LANCZOS),
            mask=None if mask is None else mask_at(mask, size),
            prompt=prompted.prompt,
            negative_prompt=prompted.negative_prompt,
            generator=torch.Generator("cpu").manual_seed(request.seed),
        )
        doing = f"painting {size[0]} × {size[1]} pixels for item '{request.item}'"
        with memory_errors(doing, self.advice):
            output = self.kind.paint(self.pipe, canvas, self.settings)
        return np.asarray(output.images[0]), bool((getattr(output, "nsfw_content_detected", None) or [False])[0])

    def _cut(self, prompted: Prompted) -> dict[str, str]:
        """What the model does not read of its texts because they are too long for it."""
        tokenizer = getattr(self.pipe, self.kind.tokenizer)
        texts = {"prompt": prompted.prompt, "negative_prompt": prompted.negative_prompt}
        lengths = {name: len(tokenizer(text, truncation=False).input_ids) for name, text in texts.items()}
        most = int(tokenizer.model_max_length)
        return {f"{name}_cut": f"reads {most} of {n} tokens" for name, n in lengths.items() if n > most}


def mask_at(mask: Mask, size: tuple[int, int]) -> Image.Image:
    """A mask at another size, white where any part of a pixel may change."""
    full = Image.fromarray(mask.astype(np.uint8) * 255).resize(size, Image.Resampling.BOX)
    return full.point(lambda value: 255 if value else 0)


def finish(painted: npt.NDArray[Any], original: Pixels, mask: Mask | None) -> Pixels:
    """A painted picture in the original's size, and outside a mask the original itself."""
    height, width = original.shape[:2]
    image = Image.fromarray((painted.clip(0, 1) * 255).round().astype(np.uint8))
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    return np.asarray(image) if mask is None else np.where(mask[..., None], np.asarray(image), original)


def _sizes(request: EditRequest, painted: npt.NDArray[Any]) -> dict[str, str]:
    shapes = {"size": request.picture.pixels.shape, "painted_size": painted.shape}
    return {name: f"{shape[1]} × {shape[0]}" for name, shape in shapes.items()}
