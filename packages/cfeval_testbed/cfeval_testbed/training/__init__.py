"""Training of the built-in networks, one file a network; see `python -m cfeval_testbed.training --help`."""

from typing import NamedTuple


class Training(NamedTuple):
    """How a shipped network was trained."""

    train: str
    """The function that trains it."""
    seed: int
    """Of every draw."""
    steps: int
    """Updates of the weights."""
    after: tuple[str, ...] = ()
    """Shipped networks that it starts from, or whose figures it needs."""


SHIPPED = {
    "reader-a": Training("cfeval_testbed.training.reader:train", 1, 1000),
    "reader-b": Training("cfeval_testbed.training.reader:train", 2, 1000),
    "vlm": Training("cfeval_testbed.training.vlm:train", 3, 2200, ("reader-a",)),
    "easy-vqa": Training("cfeval_testbed.training.easy_vqa:train", 5, 800, ("vlm",)),
    "locator": Training("cfeval_testbed.training.locator:train", 4, 700, ("reader-a",)),
    "editor": Training("cfeval_testbed.training.editor:train", 5, 1000, ("locator", "reader-b")),
    "cell-standard": Training("cfeval_testbed.training.cell_classifier:train", 11, 2000),
    "cell-small": Training("cfeval_testbed.training.cell_classifier:train", 12, 2500),
    "cell-transformer": Training("cfeval_testbed.training.cell_classifier:train", 13, 4000),
    "cell-noisy": Training("cfeval_testbed.training.cell_classifier:train", 14, 2500),
    "cell-robust": Training("cfeval_testbed.training.cell_classifier:train", 15, 2000),
    "cell-random": Training("cfeval_testbed.training.cell_classifier:train", 16, 0),
    "cell-texture": Training("cfeval_testbed.training.cell_classifier:train", 18, 4000),
    "cell-shortcut": Training("cfeval_testbed.training.cell_classifier:train", 19, 3500),
    "cell-brittle": Training("cfeval_testbed.training.cell_classifier:train", 20, 0, ("cell-standard",)),
    "cell-denoiser": Training("cfeval_testbed.training.cell_denoiser:train", 17, 7500),
    "puzzles": Training("cfeval_testbed.training.puzzles:train", 21, 1600),
}
"""The trainings behind data/models."""
