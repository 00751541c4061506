"""Training of the built-in networks, one file a network; see `python -m cfeval.world.training --help`."""

from typing import NamedTuple


class Training(NamedTuple):
    """How a shipped network was trained."""

    module: str
    """The module of this package that trains it."""
    seed: int
    """Of every draw."""
    steps: int
    """Updates of the weights."""
    after: tuple[str, ...] = ()
    """Shipped networks that it starts from, or whose figures it needs."""


SHIPPED = {
    "reader-a": Training("reader", 1, 1000),
    "reader-b": Training("reader", 2, 1000),
    "vlm": Training("vlm", 3, 2200, ("reader-a",)),
    "easy-vqa": Training("easy_vqa", 5, 800, ("vlm",)),
    "locator": Training("locator", 4, 700, ("reader-a",)),
    "editor": Training("editor", 5, 1000, ("locator", "reader-b")),
    "cell-standard": Training("cell_classifier", 11, 2000),
    "cell-small": Training("cell_classifier", 12, 2500),
    "cell-transformer": Training("cell_classifier", 13, 4000),
    "cell-noisy": Training("cell_classifier", 14, 2500),
    "cell-robust": Training("cell_classifier", 15, 2000),
    "cell-random": Training("cell_classifier", 16, 0),
    "cell-denoiser": Training("cell_denoiser", 17, 4000),
    "puzzles": Training("puzzles", 21, 1600),
}
"""The trainings behind data/models."""
