"""Keeps the libraries' notes off the console: what matters to the user is said by cfeval, in one line."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from logging import CRITICAL
from typing import Any


@contextmanager
def quiet() -> Iterator[None]:
    """Neither warnings nor progress bars of `transformers` while it lasts."""
    import transformers

    logging: Any = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(CRITICAL)
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
