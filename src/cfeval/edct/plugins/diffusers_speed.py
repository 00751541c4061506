"""What makes a pipeline of diffusers cheaper: batches, kept steps and small weights.

Each is off unless asked for, since each changes the picture: a batch by the rounding of its sums, a step that is kept
and weights of eight bits by more. How many pictures pass the gate says what it costs.
"""

from dataclasses import asdict, dataclass
from typing import Any

from cfeval.core.errors import ParamsError
from cfeval.edct.plugins.diffusers_kinds import Kind


@dataclass(frozen=True)
class Speed:
    """How a pipeline is made cheaper."""

    batch: int = 1
    """Pictures of one size that are painted at once."""
    step_cache: float = 0.0
    """How much the first block may change between two steps for the others to be kept; 0: none is kept."""
    float8: bool = False
    """Whether the weights of the transformer are stored in eight bits and computed with in the type of the rest."""

    def details(self) -> dict[str, str]:
        """What is set, for the details of a reply."""
        return {name: str(value) for name, value in asdict(self).items() if value != getattr(Speed, name)}


def check(pipeline: str, kind: Kind, speed: Speed, offload: str) -> None:
    """Whether a pipeline can be made cheaper so.

    Raises:
        ParamsError: it cannot.
    """
    if speed.batch > 1 and not kind.batches:
        raise ParamsError(f"{pipeline} paints one picture at a time; remove 'batch'")
    if speed.step_cache and not kind.step_cache:
        raise ParamsError(f"{pipeline} cannot use 'step_cache'; remove it")
    if speed.float8 and pipeline.startswith(("Stable", "LEdits")):
        raise ParamsError(f"{pipeline} has no transformer, which float8 is for; remove it")
    if offload != "none" and speed.float8:
        raise ParamsError(f"offload '{offload}' does not go with float8; remove one of them")


def apply(pipe: Any, speed: Speed) -> None:
    """Make a loaded pipeline cheaper, in the order in which the parts of torch and diffusers bear it."""
    network = getattr(pipe, "transformer", None) or pipe.unet
    if speed.float8:
        import torch

        network.enable_layerwise_casting(storage_dtype=torch.float8_e4m3fn, compute_dtype=network.dtype)
    if speed.step_cache:
        import diffusers

        first_block: Any = diffusers.FirstBlockCacheConfig
        network.enable_cache(first_block(threshold=speed.step_cache))
