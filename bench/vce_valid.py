"""Counterfactuals: CPU seconds of a valid one, by method

Methods of the default study on its test bed, the classifiers `standard` and `brittle` explained, on one thread. `base`
also comes in quicker forms: with the cone at x̂0, where one gradient goes through the denoiser in place of two, and in
bfloat16, which is no quicker for networks as small as these. TA and OTA (mean of the other oracles) are shares of all
counterfactuals, distance is the mean L2 to the original: a form that is as good as the method has the same three.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import torch
import yaml
from torch import Tensor

from bench.table import Table
from bench.timing import in_turn
from cfeval.core import registry
from cfeval.core.sampling import derive_seed
from cfeval.testbed.scenes import CELL_CLASSES
from cfeval.vce.method import Compute, Method
from cfeval.vce.metrics.proximity import lp_distance
from cfeval.vce.metrics.validity import oracle_target_accuracy, target_accuracy
from cfeval.vce.sampler.batch import Classes
from cfeval.vce.sampler.networks import Models
from cfeval.vce.sampler.sampler import counterfactuals
from cfeval.vce.stages.counterfactuals import to_images

PARAMS = Path(__file__).parent.parent / "params.yaml"
IMAGES, EXPLAINED = 25, ("standard", "brittle")
"""Images of each source class, towards its near target and towards the one at a middle distance; classifiers."""
PLAIN = ("base", "no-cone", "stabilized", "dvce", "dime", "fastdime", "maskdime")
Row = tuple[str, dict[str, Any], str]
"""What a row is called, its method, and the precision of its networks."""


@dataclass(frozen=True)
class Wanted:
    """Originals (N, 3, H, W), the seed of each, and the class that each is to be seen as."""

    images: Tensor
    seeds: list[int]
    targets: list[str]

    @property
    def classes(self) -> Classes:
        """The targets by number."""
        return Classes([CELL_CLASSES.index(target) for target in self.targets])


def tables() -> list[Table]:
    """One table a classifier."""
    study = yaml.safe_load(PARAMS.read_text())["vce"]
    torch.set_num_threads(1)
    wanted = _wanted(study["groups"], study["size"], study["seed"])
    return [_table(name, wanted, study) for name in EXPLAINED]


def _rows(methods: dict[str, dict[str, Any]]) -> list[Row]:
    at_x0 = methods["base"] | {"cone_at": "x0"}
    quick = [("base, bfloat16", methods["base"], "bfloat16"), ("base, cone at x̂0", at_x0, "float32")]
    plain = [(name, methods[name], "float32") for name in PLAIN]
    return [plain[0], *quick, ("base, cone at x̂0, bfloat16", at_x0, "bfloat16"), *plain[1:]]


def _wanted(groups: Sequence[dict[str, Any]], size: int, seed: int) -> Wanted:
    drawn = registry.build("image_sets", {"plugin": "world"})
    images, targets = [], []
    for group in groups:
        for target in (group["ideal"], group["middle"][0]):
            for image in drawn.images([group["source"]], IMAGES, size, seed):
                images.append(image.picture.pixels)
                targets.append(target)
    seeds = [derive_seed(seed, "noise", number % IMAGES) for number in range(len(images))]
    return Wanted(to_images(images), seeds, targets)


def _table(name: str, wanted: Wanted, study: dict[str, Any]) -> Table:
    """Every method, on one explained classifier."""
    world = {kind: registry.build("classifiers", study["classifiers"][kind]) for kind in {*study["oracles"], name}}
    models = Models(registry.build("denoisers", study["denoisers"]["world"]), world[name], world[study["robust"]])
    methods = {key: {k: v for k, v in said.items() if k != "reject"} for key, said in study["methods"].items()}
    rows = _rows(methods)
    made: dict[str, Tensor] = {}
    works = [partial(_make, made, row, wanted, models) for row in rows]
    seconds = in_turn(works, 1)
    oracles = [world[kind] for kind in study["oracles"] if kind != name]
    cells = []
    for (label, _, _), took in zip(rows, seconds, strict=True):
        said = _said(models.classifier, made[label])
        valid = target_accuracy(said, wanted.targets)
        seen = mean(oracle_target_accuracy(_said(oracle, made[label]), wanted.targets) for oracle in oracles)
        moved = lp_distance(wanted.images, made[label], 2).mean()
        each = took / len(wanted.seeds)
        a_valid = f"{each / valid:.3f}" if valid else "none is valid"
        cells.append([label, f"{valid:.3f}", f"{seen:.3f}", f"{moved:.2f}", f"{each:.3f}", a_valid])
    columns = ("method", "TA", "OTA", "distance", "CPU s of one", "CPU s of a valid one")
    about = f"{len(wanted.seeds)} counterfactuals a row; torch {torch.__version__}."
    return Table(f"`{name}` explained", columns, cells, [about])


def _make(made: dict[str, Tensor], row: Row, wanted: Wanted, models: Models) -> None:
    label, method, precision = row
    compute = Compute(batch=50, precision=precision)
    made[label] = counterfactuals(wanted.images, wanted.seeds, Method(**method), models, wanted.classes, compute).images


def _said(classifier: Any, images: Tensor) -> list[str]:
    with torch.no_grad():
        return [classifier.classes[number] for number in classifier.logits(images, None, True).argmax(1).tolist()]
