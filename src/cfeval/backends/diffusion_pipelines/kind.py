"""What the pipelines have in common: what can be set, what they read, and how they are asked for a picture."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL import Image

from cfeval.backends.instructions import Uses

if TYPE_CHECKING:
    import torch

Settings = Mapping[str, float]
"""Names of `Options` and their values."""


@dataclass(frozen=True)
class Canvas:
    """One edit as a pipeline takes it; image and mask (white may change) have the size that is painted."""

    image: Image.Image
    mask: Image.Image | None
    prompt: str
    negative_prompt: str
    generator: "torch.Generator"


def _nothing(pipe: Any) -> None:
    del pipe


@dataclass(frozen=True)
class Kind:
    """One pipeline class."""

    settings: Settings
    """What can be set, and what holds where it is not."""
    grid: int
    """Width and height that it paints are multiples of this many pixels."""
    paint: Callable[[Any, Canvas, Settings], Any]
    """Calls the pipeline; its output has `images`, (1, H, W, 3) floats in [0, 1]."""
    negative: Callable[[Settings], bool]
    """Whether it reads a negative prompt under these settings."""
    mask: bool = False
    """Whether it paints inside a mask, and needs one."""
    offload: bool = True
    """Whether its parts can wait in main memory."""
    tokenizer: str = "tokenizer"
    """The tokenizer whose limit decides how much of a prompt is read."""
    prepare: Callable[[Any], None] = _nothing
    """What is done to the loaded pipeline."""

    def uses(self, settings: Settings) -> Uses:
        """What it can use under these settings."""
        return Uses(negative_prompt=self.negative(settings), mask=self.mask, seed=True)
