"""Own network in a file of TorchScript (`torch.jit.save`): the network and its weights together.

Such a file is a program, which is run: take only what you or people you trust have made.
"""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.libraries import first_line
from cfeval.vce.interfaces import Classifier
from cfeval.vce.models import checkpoints
from cfeval.vce.models.own_networks import OwnNetworkPlugin

if TYPE_CHECKING:
    from torch.nn import Module


class Plugin(OwnNetworkPlugin):
    """Which file, how images are prepared, and what the outputs stand for."""

    path: str = plugin.file(min_length=1)
    """The file."""

    def about(self) -> str:
        """Whether the file is there, and for how many classes."""
        return f"{checkpoints.about(self.path)}, over {len(self.class_names())} classes"

    def build(self) -> Classifier:
        """The classifier, loaded.

        Raises:
            PluginError: no such file, no TorchScript, or outputs that are not those of the classes.
            InputError: the names of the classes cannot be read.
        """
        checkpoints.about(self.path)
        return self.classifier(_loaded(Path(self.path).expanduser()), Path(self.path).name)


def _loaded(path: Path) -> "Module":
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that TorchScript is no longer developed
            found: Module = torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
    except Exception as error:  # a broken file makes it raise almost anything
        if out_of_memory(error):
            raise
        raise PluginError(
            f"{path}: cannot be read as TorchScript ({first_line(error)[:80]}); weights alone are for state_dict, with "
            "their network in `architecture`"
        ) from error
    return found
