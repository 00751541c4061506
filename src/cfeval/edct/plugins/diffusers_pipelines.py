"""The pipelines of diffusers that edit, by the name of their class: what can be set, what each reads, how it is called.

FLUX.1 Kontext, for the whole image and inside a mask: the negative prompt counts only with `true_cfg_scale` > 1,
which doubles the work, since the guidance proper is distilled into the model. Sizes are explicit: without them the
pipeline paints a square.

FLUX.2 and FLUX.2 Klein read no negative prompt. Klein's distilled checkpoints paint in four steps without guidance; its
base checkpoints want some 50 steps and `guidance` 4, which doubles the work. What they see of the original is at most a
megapixel, and they refuse sides under 64 pixels and shapes beyond 8:1. Diffusers shows all images of a call to all
its prompts; here each prompt of a batch is shown its own.

Qwen-Image-Edit, Qwen-Image-Edit-Plus (2509 and later), Qwen-Image 2.1 and LongCat-Image-Edit read the instruction by a
Qwen model that sees the image too, and paint one image at a time. Qwen's negative prompt counts only with
`true_cfg_scale` > 1, and then guidance needs one: a blank where there is nothing to say, as the model's authors do.
What it sees of the original is scaled to about a megapixel whatever comes in. Qwen-Image 2.1 makes and edits images
with one checkpoint; its authors paint without guidance. A checkpoint that was distilled to a schedule of its own paints
with that one only. LongCat paints about a megapixel of the image's shape whatever is asked: no size can be set.

InstructPix2Pix, inpainting and img2img (SDEdit) on Stable Diffusion 1 and 2: their text encoder reads 77 tokens. The
negative prompt counts where there is guidance: `guidance_scale` > 1.

LEDITS++ inverts the image, then guides it towards the positive and away from the negative part. Its variables: edit
guidance s_e → `guidance`; masking quantile λ → `edit_threshold`; skipped share of the steps → 1 − `strength` (LEDITS++,
Section 3). Randomness enters in the inversion only.

What each published checkpoint needs: parameters are those that the models' authors publish, in billions; memory follows
from them, at two bytes each. What an edit needs beside its weights is taken as a fifth of them and four GiB, which no
GPU has confirmed yet.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isinf
from typing import TYPE_CHECKING, Any

import PIL.Image

from cfeval.core.errors import ParamsError
from cfeval.edct.plugins.remote_editors import Uses

if TYPE_CHECKING:
    import torch

# Names of `Options` and their values.
Settings = Mapping[str, float]

MEGAPIXEL = 1024 * 1024


@dataclass(frozen=True)
class Canvas:
    """One edit as a pipeline takes it; image and mask (white may change) have the size that is painted."""

    image: PIL.Image.Image
    mask: PIL.Image.Image | None
    prompt: str
    negative_prompt: str
    generator: "torch.Generator"


@dataclass(frozen=True)
class Kind:
    """One pipeline class."""

    settings: Settings
    """What can be set, and what holds where it is not."""
    grid: int
    """Width and height that it paints are multiples of this many pixels."""
    paint: Callable[[Any, Sequence[Canvas], Settings], Any]
    """Calls the pipeline; its output has `images`, a tensor (N, 3 or 4, H, W) of floats in [0, 1] on its device."""
    negative: Callable[[Settings], bool]
    """Whether it reads a negative prompt under these settings."""
    mask: bool = False
    """Whether it paints inside a mask, and needs one."""
    offload: bool = True
    """Whether its parts can wait in main memory."""
    batches: bool = False
    """Whether it paints several images of one size at once, each from its own original, prompt and seed."""
    step_cache: bool = False
    """Whether diffusers can keep what hardly changes from one step to the next (First Block Cache)."""
    transformer: bool = True
    """Whether a transformer paints, whose weights and attention can be exchanged and blocks be compiled."""
    lora: bool = True
    """Whether diffusers can lay a low-rank adapter on it."""
    shortest: int = 1
    """Pixels that a side must have at least."""
    longest: float = inf
    """Longer side over shorter side at most."""
    tokenizer: str = "tokenizer"
    """The tokenizer that reads a prompt; with dots where it is a part of a processor."""
    reads: int | None = None
    """Tokens of a prompt that are read, where it is not the tokenizer that says so."""
    prepare: Callable[[Any, Settings], None] = lambda *_: None
    """What is done to the loaded pipeline."""

    def uses(self, settings: Settings) -> Uses:
        """What it can use under these settings."""
        return Uses(negative_prompt=self.negative(settings), mask=self.mask, seed=True)


def guided(settings: Settings) -> bool:
    """A negative prompt is read where there is guidance."""
    return settings["guidance"] > 1


def truly_guided(settings: Settings) -> bool:
    """A negative prompt is read where there is guidance beside the one that is distilled into the model."""
    return settings["true_cfg"] > 1


def _flux_arguments(canvases: Sequence[Canvas], settings: Settings) -> dict[str, Any]:
    width, height = canvases[0].image.size
    masks = [canvas.mask for canvas in canvases]
    return {
        **({"mask_image": masks, "strength": settings["strength"]} if "strength" in settings else {}),
        "image": [canvas.image for canvas in canvases],
        "prompt": [canvas.prompt for canvas in canvases],
        "guidance_scale": settings["guidance"],
        "num_inference_steps": int(settings["steps"]),
        "generator": [canvas.generator for canvas in canvases],
        "width": width,
        "height": height,
        "output_type": "pt",
    }


def _kontext(pipe: Any, canvases: Sequence[Canvas], settings: Settings) -> Any:
    width, height = canvases[0].image.size
    return pipe(
        **_flux_arguments(canvases, settings),
        negative_prompt=[canvas.negative_prompt for canvas in canvases] if truly_guided(settings) else None,
        true_cfg_scale=settings["true_cfg"],
        max_area=width * height,  # else sizes are scaled to a megapixel
        _auto_resize=False,  # else the image is squeezed into the nearest of 17 shapes
    )


_SIZE = {"min_pixels": MEGAPIXEL, "max_pixels": MEGAPIXEL}
_KONTEXT_SETTINGS = {"steps": 28, "guidance": 2.5, "true_cfg": 1.0, **_SIZE}
KONTEXT = Kind(_KONTEXT_SETTINGS, grid=16, paint=_kontext, negative=truly_guided, batches=True, tokenizer="tokenizer_2")
KONTEXT_INPAINT = replace(KONTEXT, settings={**_KONTEXT_SETTINGS, "strength": 1.0}, mask=True)


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


KLEIN = Kind(
    {"steps": 4, "guidance": 1.0, **_SIZE},
    grid=16,
    paint=_flux2,
    negative=lambda _: False,
    batches=True,
    shortest=64,
    longest=8.0,
    reads=500,  # of 512, which the marks of a conversation share
    prepare=_own_image,
)
KLEIN_INPAINT = Kind(
    {**KLEIN.settings, "strength": 1.0},
    grid=16,
    paint=_flux2,
    negative=KLEIN.negative,
    mask=True,
    batches=True,
    reads=KLEIN.reads,
)
FLUX2 = replace(
    KLEIN,
    settings={"steps": 50, "guidance": 4.0, **_SIZE},
    tokenizer="tokenizer.tokenizer",
    reads=440,  # of 512, which the system message shares
)


def _qwen(pipe: Any, canvases: Sequence[Canvas], settings: Settings) -> Any:
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
        output_type="pt",
    )


QWEN = Kind({"steps": 50, "true_cfg": 4.0, **_SIZE}, grid=32, paint=_qwen, negative=truly_guided, step_cache=True)
QWEN_PLUS = replace(QWEN, settings={**QWEN.settings, "steps": 40})


def _qwen_schedule(pipe: Any, settings: Settings) -> None:
    own = pipe.config.sample_sigmas
    if own and len(own) != int(settings["steps"]):
        raise ParamsError(f"the checkpoint has a schedule of its own, of {len(own)} steps; set steps: {len(own)}")


QWEN_2 = replace(
    QWEN,
    settings={"steps": 40, "true_cfg": 1.0, **_SIZE},
    step_cache=False,
    tokenizer="processor.tokenizer",
    prepare=_qwen_schedule,
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
        output_type="pt",
    )


LONGCAT = Kind({"steps": 50, "guidance": 4.5}, grid=16, paint=_longcat, negative=guided, lora=False, reads=512)


# The size the models were trained at.
_STABLE_SIZE = {"min_pixels": 512 * 512, "max_pixels": 512 * 512}


def _stable(pipe: Any, canvases: Sequence[Canvas], settings: Settings) -> Any:
    own = {"image_guidance": "image_guidance_scale", "strength": "strength"}
    arguments: dict[str, Any] = {own[name]: settings[name] for name in own if name in settings}
    if canvases[0].mask:
        width, height = canvases[0].image.size
        arguments |= {"mask_image": [canvas.mask for canvas in canvases], "width": width, "height": height}
    return pipe(
        prompt=[canvas.prompt for canvas in canvases],
        negative_prompt=[canvas.negative_prompt for canvas in canvases],
        image=[canvas.image for canvas in canvases],
        guidance_scale=settings["guidance"],
        num_inference_steps=int(settings["steps"]),
        generator=[canvas.generator for canvas in canvases],
        output_type="pt",
        **arguments,
    )


IMAGE_TO_IMAGE = Kind(
    {"steps": 50, "guidance": 7.5, "strength": 0.75, **_STABLE_SIZE},
    grid=8,
    paint=_stable,
    transformer=False,
    negative=guided,
    batches=True,
)
INPAINT = replace(IMAGE_TO_IMAGE, settings={**IMAGE_TO_IMAGE.settings, "strength": 1.0}, mask=True)
INSTRUCT_PIX2PIX = replace(
    IMAGE_TO_IMAGE,
    settings={"steps": 100, "guidance": 7.5, "image_guidance": 1.5, **_STABLE_SIZE},
    negative=lambda settings: settings["guidance"] > 1 and settings["image_guidance"] >= 1,
)


def _ledits_sampler(pipe: Any, settings: Settings) -> None:
    """The inversion is defined for this one sampler; checkpoints come with all kinds."""
    import diffusers

    del settings
    sampler: Any = diffusers.DPMSolverMultistepScheduler
    pipe.scheduler = sampler.from_config(pipe.scheduler.config, algorithm_type="sde-dpmsolver++", solver_order=2)


def _ledits(pipe: Any, canvases: Sequence[Canvas], settings: Settings) -> Any:
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
        output_type="pt",
    )


LEDITS = Kind(
    {"steps": 30, "guidance": 5.0, "edit_threshold": 0.9, "strength": 0.85, **_STABLE_SIZE},
    grid=32,
    paint=_ledits,
    transformer=False,
    lora=False,  # it exchanges what computes attention, adapters included
    negative=lambda _: True,
    offload=False,  # it makes its noise on the device where its parts wait, not where they compute
    prepare=_ledits_sampler,
)


KINDS: dict[str, Kind] = {
    "Flux2KleinPipeline": KLEIN,
    "Flux2KleinInpaintPipeline": KLEIN_INPAINT,
    "Flux2Pipeline": FLUX2,
    "FluxKontextPipeline": KONTEXT,
    "FluxKontextInpaintPipeline": KONTEXT_INPAINT,
    "LongCatImageEditPipeline": LONGCAT,
    "QwenImage21Pipeline": QWEN_2,
    "QwenImageEditPipeline": QWEN,
    "QwenImageEditPlusPipeline": QWEN_PLUS,
    "StableDiffusionInstructPix2PixPipeline": INSTRUCT_PIX2PIX,
    "StableDiffusionInpaintPipeline": INPAINT,
    "StableDiffusionImg2ImgPipeline": IMAGE_TO_IMAGE,
    "LEditsPPPipelineStableDiffusion": LEDITS,
}


# Of a weight in bfloat16.
_BYTES = 2
_GIB = 2**30


@dataclass(frozen=True)
class EditorModel:
    """A published checkpoint."""

    name: str
    """Its name on the hub."""
    pipelines: tuple[str, ...]
    """Its own pipeline, and others that can use its parts (`pipeline`)."""
    licence: str
    billions: tuple[float, float]
    """Parameters of the network that paints, and of what reads the instruction."""

    @property
    def weights(self) -> float:
        """Bytes of all weights in bfloat16."""
        return sum(self.billions) * 1e9 * _BYTES

    @property
    def memory_bytes(self) -> float:
        """Bytes of GPU memory that an edit is taken to need."""
        return 1.2 * self.weights + 4 * _GIB

    @property
    def kind(self) -> Kind:
        """What its own pipeline can do."""
        return KINDS[self.pipelines[0]]


_KLEIN = ("Flux2KleinPipeline", "Flux2KleinInpaintPipeline")
_KONTEXT = ("FluxKontextPipeline", "FluxKontextInpaintPipeline")
_FREE, _FLUX = "Apache-2.0", "FLUX non-commercial"

# The first is the one to begin with.
MODELS = (
    EditorModel("black-forest-labs/FLUX.2-klein-4B", _KLEIN, _FREE, (3.9, 4.0)),
    EditorModel("black-forest-labs/FLUX.2-klein-9B", _KLEIN, _FLUX, (9.1, 8.2)),
    EditorModel("black-forest-labs/FLUX.2-dev", ("Flux2Pipeline",), _FLUX, (32.2, 24.0)),
    EditorModel("black-forest-labs/FLUX.1-Kontext-dev", _KONTEXT, _FLUX, (11.9, 4.9)),
    EditorModel("meituan-longcat/LongCat-Image-Edit", ("LongCatImageEditPipeline",), _FREE, (6.3, 8.3)),
    EditorModel("Qwen/Qwen-Image-Edit-2511", ("QwenImageEditPlusPipeline",), _FREE, (20.4, 8.3)),
    EditorModel("Qwen/Qwen-Image-Edit", ("QwenImageEditPipeline",), _FREE, (20.4, 8.3)),
    EditorModel("Qwen/Qwen-Image-2.1", ("QwenImage21Pipeline",), "Qwen research, non-commercial", (7.0, 8.8)),
    EditorModel("timbrooks/instruct-pix2pix", ("StableDiffusionInstructPix2PixPipeline",), "MIT", (0.86, 0.12)),
)


def fitting(memory: float) -> list[EditorModel]:
    """The checkpoints that a GPU with so many bytes of memory takes whole."""
    return [model for model in MODELS if model.memory_bytes <= memory]


def table() -> Iterator[tuple[str, ...]]:
    """Heading and rows of the checkpoints and what each needs, as text."""
    yield ("model", "pipelines", "licence", "weights, GiB", "GPU, GiB", "steps", "painted at", "mask", "batches")
    for model in MODELS:
        kinds = [KINDS[name] for name in model.pipelines]
        pixels = model.kind.settings.get("max_pixels")
        rules = [f"{pixels / 1e6:.2f} megapixels, `max_pixels`" if pixels else "1.05 megapixels, always"]
        rules.append(f"sides multiples of {model.kind.grid}")
        if model.kind.shortest > 1:
            rules.append(f"at least {model.kind.shortest}")
        if not isinf(model.kind.longest):
            rules.append(f"at most {model.kind.longest:g} : 1")
        yield (
            f"`{model.name}`",
            ", ".join(f"`{name.removesuffix('Pipeline')}`" for name in model.pipelines),
            model.licence,
            f"{model.weights / _GIB:.0f}",
            f"{model.memory_bytes / _GIB:.0f}",
            f"{model.kind.settings['steps']:g}",
            ", ".join(rules),
            "yes" if any(kind.mask for kind in kinds) else "",
            "yes" if model.kind.batches else "",
        )
