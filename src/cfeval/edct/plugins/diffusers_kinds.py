"""What an editor needs to know of a pipeline of diffusers: what can be set, what it reads, how it is asked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import PIL.Image

from cfeval.edct.plugins.remote_editor import Uses

if TYPE_CHECKING:
    import torch

Settings = Mapping[str, float]
"""Names of `Options` and their values."""

MEGAPIXEL = 1024 * 1024


@dataclass(frozen=True)
class Canvas:
    """One edit as a pipeline takes it; image and mask (white may change) have the size that is painted."""

    image: PIL.Image.Image
    mask: PIL.Image.Image | None
    prompt: str
    negative_prompt: str
    generator: "torch.Generator"


def _nothing(pipe: Any, settings: Settings) -> None:
    del pipe, settings


@dataclass(frozen=True)
class Kind:
    """One pipeline class."""

    settings: Settings
    """What can be set, and what holds where it is not."""
    grid: int
    """Width and height that it paints are multiples of this many pixels."""
    paint: Callable[[Any, Sequence[Canvas], Settings], Any]
    """Calls the pipeline; its output has `images`, (N, H, W, 3) floats in [0, 1]."""
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
    prepare: Callable[[Any, Settings], None] = _nothing
    """What is done to the loaded pipeline."""

    def uses(self, settings: Settings) -> Uses:
        """What it can use under these settings."""
        return Uses(negative_prompt=self.negative(settings), mask=self.mask, seed=True)


def always(settings: Settings) -> bool:
    """A negative prompt is read whatever is set."""
    del settings
    return True


def never(settings: Settings) -> bool:
    """No negative prompt is read."""
    del settings
    return False


def guided(settings: Settings) -> bool:
    """A negative prompt is read where there is guidance."""
    return settings["guidance"] > 1


def truly_guided(settings: Settings) -> bool:
    """A negative prompt is read where there is guidance beside the one that is distilled into the model."""
    return settings["true_cfg"] > 1
