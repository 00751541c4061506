"""Counterfactuals: CPU seconds of a valid one, by method

Methods of the default study on its test bed, the classifiers `standard` and `brittle` explained, on one thread. `base`
also comes in bfloat16, which is no quicker for networks as small as these. TA and OTA (mean of the other oracles) are
shares of all counterfactuals, distance is the mean L2 to the original: a form that is as good as the method has the
same three. The seconds of a valid one are those of one, divided by TA; of a confirmed one, by OTA.

![Methods by seconds of one counterfactual, TA and OTA](../images/vce-valid.svg)
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
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator
from matplotlib.transforms import Bbox
from torch import Tensor

from bench.table import Table
from bench.timing import in_turn
from cfeval.core import registry
from cfeval.core.sampling import derive_seed
from cfeval.report.bars import COLORS, GRID, INK, MUTED
from cfeval.report.figures import plain, share_ticks, strip_spines, use_style
from cfeval.vce.method import Compute, Method
from cfeval.vce.metrics.proximity import lp_distance
from cfeval.vce.metrics.validity import oracle_target_accuracy, target_accuracy
from cfeval.vce.sampler.batch import Classes
from cfeval.vce.sampler.networks import Models
from cfeval.vce.sampler.sampler import counterfactuals
from cfeval.vce.stages.counterfactuals import to_images
from cfeval_testbed.scenes import CELL_CLASSES

PARAMS = Path(__file__).parent.parent / "params.yaml"
IMAGES, EXPLAINED = 25, ("standard", "brittle")
"""Images of each source class, towards its near target and towards the one at a middle distance; classifiers."""
PLAIN = (
    *("base", "cone-at-x0", "no-cone", "no-x0", "neither", "stabilized", "region", "classifier-guidance"),
    *("dvce", "dime", "fastdime", "maskdime", "black-box"),
)
"""Methods of the study; its rejection costs what no-cone does, and unguided images are no counterfactuals."""
BFLOAT16 = ("base", "cone-at-x0")
PLACES = [(right, up) for up in (0, -2, 2, -4, 4, -6) for right in (1, -1)]
"""Where a name may stand, from its point: the best first."""
PLOT = Path(__file__).parent.parent / "docs/images/vce-valid.svg"
COLUMNS = ("method", "TA", "OTA", "distance", "CPU s of one", "CPU s of a valid one", "CPU s of a confirmed one")
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
    """One table a classifier, and the figure of all."""
    study = yaml.safe_load(PARAMS.read_text())["vce"]
    torch.set_num_threads(1)
    wanted = _wanted(study["groups"], study["size"], study["seed"])
    found = [_table(name, wanted, study) for name in EXPLAINED]
    plot(found, PLOT)
    return found


def _rows(methods: dict[str, dict[str, Any]]) -> list[Row]:
    found: list[Row] = []
    for name in PLAIN:
        found.append((name, methods[name], "float32"))
        found += [(f"{name}, bfloat16", methods[name], "bfloat16")] if name in BFLOAT16 else []
    return found


def _wanted(groups: Sequence[dict[str, Any]], size: int, seed: int) -> Wanted:
    drawn = registry.build("image_sets", {"plugin": "world"})
    images, targets = [], []
    for group in groups:
        for target in (group["ideal"], group["middle"][0]):
            for one in drawn.images([group["source"]], IMAGES, size, seed):
                images.append(one.image.pixels)
                targets.append(target)
    seeds = [derive_seed(seed, "noise", number % IMAGES) for number in range(len(images))]
    return Wanted(to_images(images), seeds, targets)


def _table(name: str, wanted: Wanted, study: dict[str, Any]) -> Table:
    """Every method, on one explained classifier."""
    single = {"dtype": "float32"}
    world = {
        kind: registry.build("classifiers", study["classifiers"][kind] | single) for kind in {*study["oracles"], name}
    }
    denoiser = registry.build("denoisers", study["denoisers"]["world"] | single)
    models = Models(denoiser, world[name], world[study["robust"]])
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
        of_each = (f"{each / share:.3f}" if share else "none is" for share in (valid, seen))
        cells.append([label, f"{valid:.3f}", f"{seen:.3f}", f"{moved:.2f}", f"{each:.3f}", *of_each])
    about = f"{len(wanted.seeds)} counterfactuals a row; torch {torch.__version__}."
    return Table(f"`{name}` explained", COLUMNS, cells, [about])


def _make(made: dict[str, Tensor], row: Row, wanted: Wanted, models: Models) -> None:
    label, method, precision = row
    compute = Compute(batch=50, precision=precision)
    made[label] = counterfactuals(wanted.images, wanted.seeds, Method(**method), models, wanted.classes, compute).images


def _said(classifier: Any, images: Tensor) -> list[str]:
    with torch.no_grad():
        return [classifier.classes[number] for number in classifier.logits(images, None, True).argmax(1).tolist()]


def plot(found: Sequence[Table], out: Path) -> None:
    """TA and OTA of each method over the seconds of one, a panel a table, as SVG without date."""
    use_style()
    figure = Figure(figsize=(5.2 * len(found), 3.6), layout="constrained")
    panels = list(figure.subplots(1, len(found), sharey=True, squeeze=False).flat)
    for axes, table in zip(panels, found, strict=True):
        _panel(axes, table)
    of_classifier = {"markerfacecolor": "white", "markeredgecolor": COLORS[1]}
    figure.axes[0].plot([], [], "o", color=COLORS[0], label="OTA: by the oracles")
    figure.axes[0].plot([], [], "o", label="TA: by the classifier", **of_classifier)  # type: ignore[arg-type]
    figure.legend(loc="outside upper right", ncols=2)
    figure.supxlabel("CPU seconds of one counterfactual", fontsize=9)
    figure.supylabel("Share seen as the target", fontsize=9)
    figure.draw_without_rendering()  # from here on it is known where what lies
    for axes, table in zip(panels, found, strict=True):
        _name(axes, table)
    figure.savefig(out, metadata={"Date": None, "Creator": None})


def _panel(axes: Axes, table: Table) -> None:
    """A line a method, from what the oracles see (full) to what the classifier sees (open)."""
    strip_spines(axes, "bottom", "left")
    axes.set(xscale="log", ylim=(-0.05, 1.08))
    share_ticks(axes, "y")
    axes.grid(color=GRID, linewidth=0.6)
    axes.set_title(plain(table.title.replace("`", "")), fontsize=9, loc="left")
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(x=0.28)
    for _, x, ta, ota in _points(table):
        axes.plot([x, x], [ota, ta], color=MUTED, linewidth=1, zorder=2)
        axes.plot(x, ta, "o", markersize=6, markerfacecolor="white", markeredgecolor=COLORS[1], zorder=3)
        axes.plot(x, ota, "o", markersize=5, color=COLORS[0], zorder=4)


def _name(axes: Axes, table: Table) -> None:
    """Each method's name beside its point, where neither a point nor another name is."""
    points = _points(table)
    ends = axes.transData.transform([(x, share) for _, x, *shares in points for share in shares])
    taken = [Bbox.from_extents(x - 5, y - 5, x + 5, y + 5) for x, y in ends]
    for label, x, _, ota in points:
        text = axes.annotate(
            plain(label), (x, ota), (0, 0), textcoords="offset points", va="center", fontsize=6.5, color=INK
        )
        for right, up in PLACES:
            text.xyann = 5 * right, 4 * up
            text.set_horizontalalignment("left" if right > 0 else "right")
            box = text.get_window_extent()
            if not any(box.overlaps(other) for other in taken):
                break
        taken.append(box)


def _points(table: Table) -> list[tuple[str, float, float, float]]:
    """Name, seconds of one, TA and OTA of each method in float32, the quickest first."""
    rows = [row for row in table.rows if not row[0].endswith("bfloat16")]
    found = [(label, float(each), float(valid), float(seen)) for label, valid, seen, _, each, *_ in rows]
    return sorted(found, key=lambda point: point[1])
