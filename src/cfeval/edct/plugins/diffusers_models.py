"""Checkpoints that edit, and what each needs: licence, memory, steps and sizes, in one place.

Parameters are those that the models' authors publish, in billions; memory follows from them, at two bytes each. What an
edit needs beside its weights is taken as a fifth of them and four GiB, which no GPU has confirmed yet.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isinf

from cfeval.edct.plugins.diffusers_pipelines import KINDS, Kind

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
