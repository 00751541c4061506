"""The libraries that run local models: which are needed, their notes kept quiet, their errors told in one line."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from logging import CRITICAL
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from cfeval.core.errors import PluginError
from cfeval.core.registry import PluginOptions
from cfeval.inference.local.devices import DEVICE


class LocalOptions(PluginOptions):
    """Which model, and where it computes."""

    model: str = Field(min_length=1)
    """A folder with a checkpoint, or a name on the Hugging Face hub (owner/name)."""
    revision: str = ""
    """Branch, tag or commit on the hub, of which only a commit never changes; empty: the main branch."""
    device: str = Field("auto", pattern=DEVICE)
    """auto (a GPU where there is one), cpu, mps, cuda, or one GPU, such as cuda:1."""


class Package(NamedTuple):
    """A package by its import name, the setting that needs it, and what to set instead."""

    name: str
    setting: str
    instead: str


def check_packages(packages: Iterable[Package]) -> None:
    """Check that packages are installed.

    Raises:
        PluginError: the first that is not.
    """
    for name, setting, instead in packages:
        if find_spec(name) is None:
            raise PluginError(f"{setting} needs the package '{name.replace('_', '-')}'; install it, or set {instead}")


def file_in(package: str, file: str) -> Path:
    """A file of an installed package, which is not imported.

    Raises:
        PluginError: the package or the file is not there.
    """
    spec, called = find_spec(package), package.replace("_", "-")
    if spec is None or not spec.submodule_search_locations:
        raise PluginError(f"the package '{called}', which carries weights, is not installed; install it")
    path = Path(spec.submodule_search_locations[0]) / file
    if not path.is_file():
        raise PluginError(f"the package '{called}' has no file {file}; install another version of it")
    return path


def first_line(error: BaseException, folder: Path | None = None, name: str = "") -> str:
    """The first line of an error's text, at most 200 characters, in which a folder goes by its name."""
    text = str(error).replace(str(folder), name) if folder else str(error)
    line = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    return line if len(line) <= 200 else f"{line[:199]}…"


@contextmanager
def quiet(*libraries: str) -> Iterator[None]:
    """Neither warnings nor progress bars of libraries of Hugging Face while it lasts."""
    with ExitStack() as restored, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for library in libraries:
            logging: Any = import_module(f"{library}.utils.logging")
            restored.callback(logging.set_verbosity, logging.get_verbosity())
            logging.set_verbosity(CRITICAL)
            if logging.is_progress_bar_enabled():
                restored.callback(logging.enable_progress_bar)
                logging.disable_progress_bar()
        yield
