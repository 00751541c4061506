"""Own network that a Python function makes: `MODULE:FUNCTION`, called once, returns a torch.nn.Module.

The network takes images (N, 3, size, size), prepared by `mean` and `std`, and returns logits (N, classes).
"""

import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import Field

from cfeval.core import plugin
from cfeval.core.errors import PluginError, nearest
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.libraries import first_line
from cfeval.vce.interfaces import Classifier
from cfeval.vce.models.own_networks import OwnNetworkPlugin


class Plugin(OwnNetworkPlugin):
    """Which function, how images are prepared, and what the outputs stand for."""

    factory: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
    """The function, as MODULE:FUNCTION."""
    folder: str = ""
    """The folder in which the module lies; empty: an installed module."""
    weights: str = plugin.file("")
    """File that the function is called with; empty: it is called with nothing."""

    def dependencies(self) -> tuple[str, ...]:
        """The module where it lies in a folder, the weights, and the names of the classes."""
        source = self._source()
        return (*([f"{source}/" if source.is_dir() else str(source)] if source else []), *super().dependencies())

    def about(self) -> str:
        """The function, and where it is; nothing of it is run."""
        if self.folder and not self._exists():
            module = self.factory.partition(":")[0]
            raise PluginError(f"no module '{module}' in the folder '{self.folder}'; correct `folder` or `factory`")
        return f"{self.factory} makes the network, over {len(self.class_names())} classes"

    def build(self) -> Classifier:
        """The classifier, made.

        Raises:
            PluginError: the function cannot be imported, fails, or returns no network that gives a logit a class.
            InputError: the names of the classes cannot be read.
        """
        return self.classifier(self._network(), self.factory)

    def _network(self) -> Any:
        from torch.nn import Module

        try:
            found = self._function()(*([self.weights] if self.weights else []))
        except PluginError:
            raise
        except Exception as error:  # whatever the user's code lets through
            if out_of_memory(error):
                raise
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
            raise PluginError(f"'{self.factory}' fails: {first_line(error)} ({where}); correct it") from error
        if not isinstance(found, Module):
            raise PluginError(
                f"'{self.factory}' returns {type(found).__name__}, and a torch.nn.Module is needed; let the function "
                "make the network and return it"
            )
        return found

    def _function(self) -> Any:
        module, _, name = self.factory.partition(":")
        place = str(Path(self.folder).absolute())
        if self.folder:
            sys.path.insert(0, place)
        try:
            found = import_module(module)
        finally:
            if self.folder:  # what the network imports later is still found, after what is installed
                sys.path.remove(place)
                sys.path.append(place)
        if not callable(getattr(found, name, None)):
            functions = [key for key, value in vars(found).items() if callable(value) and not key.startswith("_")]
            raise PluginError(f"'{module}' has no function '{name}'; {nearest(name, functions)}")
        return getattr(found, name)

    def _source(self) -> Path | None:
        top = self.factory.partition(":")[0].partition(".")[0]
        if not self.folder:
            return None
        return Path(self.folder, top) if Path(self.folder, top).is_dir() else Path(self.folder, f"{top}.py")

    def _exists(self) -> bool:
        source = self._source()
        return source is not None and source.exists()
