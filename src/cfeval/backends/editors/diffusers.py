"""Editors of the diffusers library, on this machine: FLUX.1 Kontext, Qwen-Image-Edit, InstructPix2Pix and others.

The checkpoint names its pipeline; `cfeval.backends.diffusion_pipelines` knows how each is called. A picture is painted
at a size that suits the model and comes back in its own; one at a time, so that no picture depends on its batch.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import Field, field_validator

from cfeval.backends.diffusion_pipelines import loading
from cfeval.backends.diffusion_pipelines.editing import PipelineEditor
from cfeval.backends.diffusion_pipelines.kind import Settings
from cfeval.backends.diffusion_pipelines.kinds import KINDS
from cfeval.backends.diffusion_pipelines.settings import settings_for
from cfeval.backends.editors.base import Editor
from cfeval.backends.local_models.checkpoint import is_folder
from cfeval.backends.local_models.device import DEVICES, Dtype, device_for, dtype_for, memory_errors
from cfeval.backends.masks import MaskOptions, examine_masks, mask_files, masker
from cfeval.backends.registry import Finding, Needs
from cfeval.errors import BackendError, CfevalError, nearest

SETTINGS = ("steps", "guidance", "image_guidance", "true_cfg", "strength", "edit_threshold", "min_pixels", "max_pixels")
"""The options that are the pipeline's; those left out take the values in `KINDS`."""


class Options(MaskOptions):
    """Which checkpoint, where it computes, and how it paints. A pipeline refuses an option that it cannot use."""

    model: str = Field(min_length=1)
    """A folder, or a model of the Hugging Face hub (organisation/model)."""
    revision: str = ""
    """Branch, tag or commit of a hub model; empty: its main branch."""
    pipeline: str = ""
    """The class of the pipeline; empty: the one that the checkpoint names."""
    device: str = Field("auto", pattern=DEVICES)
    """auto (a GPU where there is one), cpu, mps, cuda, or one GPU, such as cuda:1."""
    dtype: Dtype = "auto"
    """Number format; auto: bfloat16 on a GPU, float32 on a processor."""
    offload: loading.Offload = "none"
    """What waits in main memory, on a GPU too small for all: model (the parts not at work) or sequential (all layers
    but the one at work; slow)."""
    steps: int | None = Field(None, ge=1, le=1000)
    """Of denoising."""
    guidance: float | None = Field(None, ge=0)
    """How strongly the text guides (guidance_scale; for LEDITS++ the edit guidance)."""
    image_guidance: float | None = Field(None, ge=0)
    """How strongly the original guides (InstructPix2Pix)."""
    true_cfg: float | None = Field(None, ge=0)
    """FLUX and Qwen: guidance by a negative prompt; over 1 it is read, and the work doubles."""
    strength: float | None = Field(None, gt=0, le=1)
    """Share of the noise schedule that the picture goes through: 1 keeps least of the original."""
    edit_threshold: float | None = Field(None, gt=0, lt=1)
    """LEDITS++: share of the picture that an edit leaves alone."""
    min_pixels: int | None = Field(None, ge=1)
    """Width × height that a smaller picture is enlarged to for painting."""
    max_pixels: int | None = Field(None, ge=1)
    """Width × height that a larger picture is shrunk to for painting."""

    @field_validator("pipeline")
    @classmethod
    def _known(cls, name: str) -> str:
        if name and name not in KINDS:
            raise ValueError(f"no pipeline that edits; {nearest(name, KINDS)}")
        return name


def needs(options: Options) -> Needs:
    """A GPU, unless the processor is asked for."""
    return Needs(gpu=0 if options.device == "cpu" else 1)


def files(options: Options) -> tuple[str, ...]:
    """The checkpoint's files, where it is a folder, and the masks'."""
    folder = Path(options.model)
    own = loading.files_of(folder) if (folder / loading.INDEX).is_file() else []
    return tuple(str(path) for path in (*own, *mask_files(options)))


def examine(options: Options) -> Iterator[Finding]:
    """Whether the checkpoint, the device and the masks are there and fit; no weights are read."""
    yield _finding(lambda: _about_checkpoint(options))
    yield _finding(lambda: _about_device(options))
    if options.masks or options.mask_model:
        yield _finding(lambda: examine_masks(options))


def build(options: Options) -> Editor:
    """The editor, its pipeline loaded.

    Raises:
        ParamsError: the pipeline cannot use an option.
        BackendError: checkpoint, device or memory do not suffice.
    """
    name, settings = _pipeline(options)
    device = _device(options)
    dtype = dtype_for(options.dtype, device)
    folder = loading.fetched(options.model, options.revision, name)
    advice = _advice(options, device)
    with memory_errors(f"loading {options.model}", advice):
        mask = masker(options, device)
        pipe = loading.load(folder, name, dtype, device, options.offload)
    model = folder.resolve().name if is_folder(options.model) else f"{options.model}@{folder.name}"
    about = {"pipeline": name, "model": model, "dtype": str(dtype).removeprefix("torch.")}
    return PipelineEditor(pipe, KINDS[name], settings, mask, about, advice)


def _pipeline(options: Options) -> tuple[str, Settings]:
    """The pipeline's name and settings."""
    index = loading.index_of(options.model, options.revision)
    name = loading.pipeline_of(index, options.model, options.pipeline)
    given = {key: value for key in SETTINGS if (value := getattr(options, key)) is not None}
    return name, settings_for(name, given, bool(options.masks or options.mask_model), options.offload)


def _device(options: Options) -> str:
    device = device_for(options.device)
    if device == "cpu" and options.offload != "none":
        raise BackendError(f"offload '{options.offload}' needs a GPU, and none is used; set offload: none")
    return device


def _advice(options: Options, device: str) -> str:
    """What to set where memory runs out: only what is not set yet."""
    smaller = "bfloat16" if options.dtype == "float32" or (options.dtype == "auto" and device == "cpu") else ""
    ways = [f"dtype: {smaller}"] if smaller else []
    if device != "cpu" and options.offload != "sequential":
        ways.append("offload: model" if options.offload == "none" else "offload: sequential")
    return f"set {', '.join([*ways, 'a smaller max_pixels'])}, or take a larger machine"


def _about_checkpoint(options: Options) -> str:
    name, _ = _pipeline(options)
    if not is_folder(options.model):
        return f"{options.model}: {name}, from the hub; what the cache lacks is downloaded at the first use"
    folder = Path(options.model)
    loading.check_folder(folder)
    return f"{options.model}: {name}, complete, {loading.weight_of(folder) / 1e9:.1f} GB of weights"


def _about_device(options: Options) -> str:
    device = _device(options)
    slow = ", which takes minutes a picture with models of billions of weights" if device == "cpu" else ""
    return f"computes on {device}{slow}"


def _finding(check: Callable[[], str]) -> Finding:
    try:
        return Finding(True, check())
    except CfevalError as error:
        return Finding(False, str(error))
