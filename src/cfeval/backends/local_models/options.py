"""The options that every local model has."""

from pydantic import Field

from cfeval.backends.local_models.devices import DEVICE
from cfeval.backends.registry import PluginOptions


class LocalOptions(PluginOptions):
    """Which model, and where it computes."""

    model: str = Field(min_length=1)
    """A folder with a checkpoint, or a name on the Hugging Face hub (owner/name)."""
    revision: str = ""
    """Branch, tag or commit on the hub, of which only a commit never changes; empty: the main branch."""
    device: str = Field("auto", pattern=DEVICE)
    """auto (a GPU where there is one), cpu, mps, cuda, or one GPU, such as cuda:1."""
