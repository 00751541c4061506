"""Trains one shipped network: `python -m cfeval_testbed.training NAME --out data/models/NAME.safetensors`."""

import argparse
import json
from pathlib import Path

from safetensors.torch import save_file

from cfeval.core.extras import load
from cfeval_testbed.training import SHIPPED
from cfeval_testbed.training.common import Figures, StateDict

NAMES = tuple(SHIPPED)
_OF_KINDS = ("cfeval_testbed.training.reader:train", "cfeval_testbed.training.cell_classifier:train")
"""What trains several networks, and is told which by the end of its name."""


def train(name: str, seed: int, steps: int) -> tuple[StateDict, Figures]:
    """The weights (half precision) and figures of one network."""
    how = SHIPPED[name].train
    of_kind = (name.partition("-")[2],) if how in _OF_KINDS else ()
    trained: tuple[StateDict, Figures] = load(how)(*of_kind, seed, steps)
    return trained


def main() -> None:
    """Reads the command line, trains, and writes the weights and the figures beside them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--seed", type=int, help="by default that of the shipped weights")
    parser.add_argument("--steps", type=int, help="updates; by default as many as the shipped weights were given")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    shipped = SHIPPED[arguments.name]
    seed = shipped.seed if arguments.seed is None else arguments.seed
    weights, figures = train(arguments.name, seed, shipped.steps if arguments.steps is None else arguments.steps)
    save_file(weights, arguments.out)
    arguments.out.chmod(0o644)
    text = json.dumps({"name": arguments.name, **figures}, indent=1, sort_keys=True)
    arguments.out.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
