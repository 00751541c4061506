"""Keeps the libraries' notes off the console: what matters to the user is said by cfeval, in one line."""

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from logging import CRITICAL
from typing import Any


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
