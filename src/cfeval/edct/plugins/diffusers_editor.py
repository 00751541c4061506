"""An editor of a diffusers checkpoint: its pipeline in memory, set, and asked for images.

A checkpoint is a folder for each part of its pipeline. The pipeline is set to what was given, checked against what it
can use, and to its own values for the rest; it paints near the image's own shape, within limits, on the model's grid.

Images of one size can share a batch. A batch is always whole, its last image repeated where requests are too few,
so that the same sums are rounded the same way whatever else is asked: an image does not depend on its company.
"""

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import PIL.Image

from cfeval.core.errors import ParamsError, PluginError
from cfeval.core.images import Image, Mask, Pixels
from cfeval.core.records import Status
from cfeval.edct import edit_cost
from cfeval.edct.interfaces import EditReply, EditRequest
from cfeval.edct.plugins import diffusers_speed
from cfeval.edct.plugins.diffusers_pipelines import KINDS, MEGAPIXEL, Canvas, Kind, Settings
from cfeval.edct.plugins.diffusers_speed import Lora, SpeedOptions
from cfeval.edct.plugins.masks import Masked, MaskSource
from cfeval.edct.plugins.remote_editors import prompt_for
from cfeval.inference.batching import Batcher
from cfeval.inference.local.devices import Dtype, memory_errors, out_of_memory
from cfeval.inference.local.hub import Checkpoint, read_json, weights_fault, weights_size
from cfeval.inference.local.libraries import LocalOptions, first_line, quiet

if TYPE_CHECKING:
    import torch

INDEX = "model_index.json"
Offload = Literal["none", "model", "sequential"]


@dataclass(frozen=True)
class Sketch:
    """A request that is ready to be painted."""

    request: EditRequest
    canvas: Canvas
    mask: Mask | None
    details: dict[str, str]


# A request, what was painted for it, whether all of it are numbers, whether the checkpoint's safety checker blackened
# it, and the seconds it took.
Painted = tuple[Sketch, Pixels, bool, bool, float]


class PipelineEditor:
    """An editor around a pipeline.

    A reply's image has the size of the original; with a mask, the pixels outside are the original's.
    """

    needs_metadata = False

    def __init__(
        self,
        pipe: Any,
        kind: Kind,
        settings: Settings,
        mask: MaskSource | None,
        about: Mapping[str, str],
        advice: str,
        batch: int = 1,
    ) -> None:
        self.pipe = pipe
        self.kind = kind
        self.settings = settings
        self.mask = mask
        self.about = {**about, **{name: str(value) for name, value in sorted(settings.items())}}
        self.advice = advice
        self.batch = batch
        self._requests = Batcher(self._edit_all)

    async def edit(self, request: EditRequest) -> EditReply:
        """Edit an image; one without a mask, where one is needed, or of a shape it cannot take is `edit_invalid`."""
        return await self._requests.answer(request)

    def _edit_all(self, requests: Sequence[EditRequest]) -> list[EditReply]:
        """The replies; while one batch is painted, the next ones are sketched and earlier ones written, by threads.

        Libraries that warn of values that are no numbers are kept quiet: such an image has a status.
        """
        replies: dict[int, EditReply] = {}
        alike: dict[tuple[int, int], dict[int, Sketch]] = {}
        painted: dict[int, Future[EditReply]] = {}

        def paint(sketches: dict[int, Sketch]) -> None:
            made = self._paint(list(sketches.values()))
            painted.update({n: writing.submit(_reply, *result) for n, result in zip(sketches, made, strict=True)})

        sketching = ThreadPoolExecutor(1)
        with quiet("diffusers", "transformers"), ThreadPoolExecutor() as writing:
            try:
                for number, future in enumerate([sketching.submit(self._sketch, request) for request in requests]):
                    sketch = future.result()
                    if isinstance(sketch, EditReply):
                        replies[number] = sketch
                        continue
                    size = sketch.canvas.image.size
                    alike.setdefault(size, {})[number] = sketch
                    if len(alike[size]) == self.batch:
                        paint(alike.pop(size))
                for sketches in alike.values():
                    paint(sketches)
            finally:
                sketching.shutdown(cancel_futures=True)
        replies |= {number: reply.result() for number, reply in painted.items()}
        return [replies[number] for number in range(len(requests))]

    def _sketch(self, request: EditRequest) -> Sketch | EditReply:
        import torch

        masked = self.mask(request) if self.mask else Masked()
        if masked.reason:
            return EditReply(status=Status.EDIT_INVALID, reason=masked.reason)
        prompted = prompt_for(request, self.kind.uses(self.settings))
        height, width = request.image.pixels.shape[:2]
        least, most = (int(self.settings.get(name, MEGAPIXEL)) for name in ("min_pixels", "max_pixels"))
        size = paint_size((width, height), least, most, self.kind.grid)
        if reason := misfit(size, self.kind):
            return EditReply(status=Status.EDIT_INVALID, reason=reason)
        canvas = Canvas(
            image=PIL.Image.fromarray(request.image.pixels).resize(size, PIL.Image.Resampling.LANCZOS),
            mask=None if masked.mask is None else mask_at(masked.mask, size),
            prompt=prompted.prompt,
            negative_prompt=prompted.negative_prompt,
            generator=torch.Generator("cpu").manual_seed(request.seed),
        )
        details = {**self.about, **prompted.details, **masked.details}
        return Sketch(request, canvas, masked.mask, details)

    def _paint(self, sketches: Sequence[Sketch]) -> list[Painted]:
        width, height = sketches[0].canvas.image.size
        sketches = [replace(sketch, details={**sketch.details, **self._cut(sketch.canvas)}) for sketch in sketches]
        whom = f"item '{sketches[0].request.item}'" + (f" and {len(sketches) - 1} more" if len(sketches) > 1 else "")
        canvases = [sketch.canvas for sketch in sketches]
        for _ in range(self.batch - len(canvases)):  # the last one again, with the same random numbers
            canvases.append(replace(canvases[-1], generator=canvases[-1].generator.clone_state()))
        began = time.perf_counter()
        with memory_errors(f"painting {width} × {height} pixels for {whom}", self.advice):
            output = self.kind.paint(self.pipe, canvases, self.settings)
            images, finite = to_pixels(output.images)
        spent = time.perf_counter() - began
        blackened = getattr(output, "nsfw_content_detected", None) or [False for _ in canvases]
        made = zip(sketches, images, finite, blackened, strict=False)
        return [(sketch, image, fine, bool(black), spent / len(sketches)) for sketch, image, fine, black in made]

    def _cut(self, canvas: Canvas) -> dict[str, str]:
        """What the model does not read of its texts because they are too long for it."""
        # Never while the pipeline paints: a fast tokenizer keeps between its calls whether it truncates, and the
        # pipeline would read a text of any length.
        tokenizer = attrgetter(self.kind.tokenizer)(self.pipe)
        texts = {"prompt": canvas.prompt, "negative_prompt": canvas.negative_prompt}
        lengths = {name: len(tokenizer(text, truncation=False).input_ids) for name, text in texts.items()}
        most = self.kind.reads or int(tokenizer.model_max_length)
        return {f"{name}_cut": f"reads {most} of {n} tokens" for name, n in lengths.items() if n > most}


def _reply(sketch: Sketch, painted: Pixels, finite: bool, blackened: bool, seconds: float) -> EditReply:
    shapes = {"size": sketch.request.image.pixels.shape, "painted_size": painted.shape}
    details = {**sketch.details, **{name: f"{shape[1]} × {shape[0]}" for name, shape in shapes.items()}}
    if blackened:
        reason = "the checkpoint's safety checker took the image for unsafe and blackened it"
        return EditReply(details=details, status=Status.MODERATED, reason=reason)
    if not finite:
        reason = "the image holds values that are no numbers; set dtype: bfloat16 or float32"
        return EditReply(details=details, status=Status.NO_IMAGE, reason=reason)
    image = Image.from_pixels(finish(painted, sketch.request.image.pixels, sketch.mask))
    edit_cost.note_times([image.sha256], seconds)
    return EditReply(image, details)


def to_pixels(images: "torch.Tensor") -> tuple[Pixels, list[bool]]:
    """Painted images, before white where they have an opacity, as (N, H, W, 3), and whether all of each are numbers.

    They are rounded on their device, from which one byte a value then comes instead of four.

    Args:
        images: (N, 3 or 4, H, W), floats in [0, 1].
    """
    import torch

    colors = images.float()
    if colors.shape[1] == 4:
        opacity = colors[:, 3:]
        colors = colors[:, :3] * opacity + (1 - opacity)
    finite: list[bool] = colors.isfinite().flatten(1).all(1).tolist()
    return (colors.clamp(0, 1) * 255).round().to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy(), finite


def misfit(size: tuple[int, int], kind: Kind) -> str:
    """Why a pipeline cannot paint a size, width and height in pixels; empty where it can."""
    short, long = sorted(size)
    if short < kind.shortest:
        return f"it would be painted at {size[0]} × {size[1]} pixels, and a side needs at least {kind.shortest}"
    if long > kind.longest * short:
        return f"its sides are as {long} to {short}, and the longer may be {kind.longest:g} times the shorter at most"
    return ""


def mask_at(mask: Mask, size: tuple[int, int]) -> PIL.Image.Image:
    """A mask at another size, white where any part of a pixel may change."""
    full = PIL.Image.fromarray(mask.astype(np.uint8) * 255).resize(size, PIL.Image.Resampling.BOX)
    return full.point(lambda value: 255 if value else 0)


def finish(painted: Pixels, original: Pixels, mask: Mask | None) -> Pixels:
    """A painted image in the original's size, and outside a mask the original itself."""
    height, width = original.shape[:2]
    image = PIL.Image.fromarray(painted)
    if image.size != (width, height):
        image = image.resize((width, height), PIL.Image.Resampling.LANCZOS)
    return np.asarray(image) if mask is None else np.where(mask[..., None], np.asarray(image), original)


def paint_size(size: tuple[int, int], least: int, most: int, grid: int) -> tuple[int, int]:
    """Width and height to paint at, multiples of `grid`.

    The image is enlarged to `least` pixels or shrunk to `most`; of the four sizes on the grid around that, the one
    within `most` that keeps the shape best, and the largest of these.

    Args:
        least: pixels that a smaller image is enlarged to.
        most: pixels that a larger image is shrunk to.
        grid: side of a cell in pixels.
    """
    width, height = size
    area = min(max(width * height, least), most)
    scale = math.sqrt(area / (width * height))
    around = product(_around(width * scale, grid), _around(height * scale, grid))

    def badness(painted: tuple[int, int]) -> tuple[bool, float, int]:
        pixels = painted[0] * painted[1]
        stretch = math.log(painted[0] * height / (painted[1] * width))
        return pixels > most, abs(stretch), -pixels

    return min(around, key=badness)


def _around(length: float, grid: int) -> tuple[int, int]:
    cells = length / grid
    return max(grid, math.floor(cells + 1e-6) * grid), max(grid, math.ceil(cells - 1e-6) * grid)


def settings_for(pipeline: str, given: Mapping[str, float], masked: bool, offload: str) -> Settings:
    """All settings of a pipeline.

    Raises:
        ParamsError: one that this pipeline cannot use, or values that do not fit each other.
    """
    kind = KINDS[pipeline]
    for name in given:
        if name not in kind.settings:
            raise ParamsError(
                f"{pipeline} cannot use '{name}'; remove it; it can be set: {', '.join(sorted(kind.settings))}"
            )
    if masked and not kind.mask:
        raise ParamsError(f"{pipeline} cannot use a mask; remove 'masks' and 'mask_model'")
    if kind.mask and not masked:
        raise ParamsError(f"{pipeline} paints inside a mask; set 'masks' (a folder, or whole) or 'mask_model'")
    if offload != "none" and not kind.offload:
        raise ParamsError(f"{pipeline} cannot use offload '{offload}'; set offload: none")
    settings = {**kind.settings, **given}
    steps, strength = settings["steps"], settings.get("strength", 1.0)
    if int(steps * strength) < 1:
        raise ParamsError(f"{pipeline}: no step is left of steps {steps:g} at strength {strength:g}; raise one of them")
    if "min_pixels" not in settings:
        return settings
    least, most = settings["min_pixels"], settings["max_pixels"]
    if least > most and "min_pixels" in given and "max_pixels" in given:
        raise ParamsError(f"min_pixels {least:g} is over max_pixels {most:g}; swap or remove one of them")
    # A limit that is given moves the pipeline's own other one along.
    if "max_pixels" in given:
        return {**settings, "min_pixels": min(least, most)}
    return {**settings, "max_pixels": max(least, most)}


def checkpoint_of(options: LocalOptions) -> Checkpoint:
    """The checkpoint that options name."""
    return Checkpoint(options.model, options.revision, INDEX, _fault, _parts)


def pipeline_of(checkpoint: Checkpoint, wanted: str) -> str:
    """The pipeline to use: the one that is wanted, else the checkpoint's own.

    Raises:
        PluginError: none is wanted, and the checkpoint's own edits no images here; or it cannot be found.
    """
    content = checkpoint.content()
    own = wanted or content.get("_class_name")
    if own not in KINDS:
        raise PluginError(
            f"model '{checkpoint.name()}' is a checkpoint of {own!r}, which is no editor here; set 'pipeline' to one "
            f"that can use its parts: {', '.join(sorted(KINDS))}"
        )
    return str(own)


def scheduler_of(checkpoint: Checkpoint) -> type:
    """The class of a checkpoint's scheduler."""
    import diffusers

    scheduler: type = getattr(diffusers, str(checkpoint.content()["scheduler"][1]))
    return scheduler


def dtype_on(device: str, wanted: Dtype) -> Dtype:
    """The type of a pipeline's numbers; auto is bfloat16 on a GPU, and float32 on a processor."""
    if wanted != "auto":
        return wanted
    return "float32" if device == "cpu" else "bfloat16"


def size(folder: Path, dtype: Dtype, options: SpeedOptions) -> int:
    """Bytes that the weights of all parts take in memory, those of the transformer as small as options make them."""
    sizes = {part: weights_size(folder / part, dtype) for part in _parts(read_json(folder / INDEX))}
    if "transformer" in sizes:
        bits = 32 if dtype == "float32" else 16
        sizes["transformer"] = diffusers_speed.smaller(options, sizes["transformer"], bits)
    return sum(sizes.values())


def load(
    folder: Path,
    model: str,
    pipeline: str,
    dtype: Dtype,
    device: str,
    offload: Offload,
    speed: SpeedOptions,
    lora: Lora | None,
) -> Any:
    """Load a checkpoint as a pipeline, put it where it computes, and make it as cheap as asked.

    Raises:
        PluginError: the parts do not fit the pipeline.
    """
    import diffusers
    import torch

    with quiet("diffusers", "transformers"):
        number_type = getattr(torch, dtype)
        pipe = _from_folder(
            getattr(diffusers, pipeline), folder, model, number_type, diffusers_speed.quantization(speed, number_type)
        )
        pipe.set_progress_bar_config(disable=True)
        diffusers_speed.apply(pipe, speed, lora)
        if offload == "none":
            return pipe.to(device)
        getattr(pipe, f"enable_{offload}_cpu_offload")(device=device)
        return pipe


def _parts(content: dict[str, Any]) -> list[str]:
    return sorted(name for name, entry in content.items() if isinstance(entry, list) and entry and entry[0])


def _fault(folder: Path) -> str:
    """What a folder lacks of a whole checkpoint: one line, or empty."""
    for part in _parts(read_json(folder / INDEX)):
        if not any((folder / part).glob("*.json")):
            return f"{part} is missing"
        if (folder / part / "config.json").is_file() and (fault := weights_fault(folder / part)):
            return f"{part}: {fault}"
    return ""


def _from_folder(pipeline: Any, folder: Path, model: str, dtype: "torch.dtype", quantization: Any) -> Any:
    options = {"quantization_config": quantization} if quantization else {}
    try:
        return pipeline.from_pretrained(folder, dtype=dtype, local_files_only=True, use_safetensors=True, **options)
    except ModuleNotFoundError:
        raise
    except Exception as error:  # whatever is wrong with a checkpoint surfaces as any kind of error
        if out_of_memory(error):
            raise
        raise PluginError(
            f"model '{model}' cannot be loaded as {pipeline.__name__} ({first_line(error, folder, model)}); "
            "set 'pipeline' to the one it is for, or download it again"
        ) from error
