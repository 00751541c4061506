"""Trains one shipped network: `python -m cfeval.world.training NAME --seed S --out data/models/NAME.safetensors`."""

import argparse
import importlib
import json
from pathlib import Path

from safetensors.torch import save_file

from cfeval.world.training.common import Figures, StateDict

NAMES = ("reader-a", "reader-b", "vlm", "easy-vqa", "locator", "editor")
_STEPS = {"reader-a": 1000, "reader-b": 1000, "vlm": 2200, "easy-vqa": 1400, "locator": 900, "editor": 2500}


def train(name: str, seed: int, steps: int) -> tuple[StateDict, Figures]:
    """The weights (half precision) and figures of one network."""
    module = importlib.import_module(
        f"cfeval.world.training.{name.partition('-')[0] if 'reader' in name else _file(name)}"
    )
    if name.startswith("reader-"):
        return module.train(name.removeprefix("reader-"), seed, steps)  # type: ignore[no-any-return]
    return module.train(seed, steps)  # type: ignore[no-any-return]


def _file(name: str) -> str:
    return name.replace("-", "_")


def main() -> None:
    """Reads the command line, trains, and writes the weights and the figures beside them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="updates; by default what the shipped weights were given")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    weights, figures = train(arguments.name, arguments.seed, arguments.steps or _STEPS[arguments.name])
    save_file(weights, arguments.out)
    text = json.dumps({"name": arguments.name, **figures}, indent=1, sort_keys=True)
    arguments.out.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
