"""Counterfactuals: CPU seconds of one, on one thread

A UNet of 1.97 M parameters in guided-diffusion's architecture, AlexNet explained, ResNet-50 robust, random weights,
64 × 64 pixels, 1000 steps respaced to 100 of which 50 are run, batch 8; DiME with τ = 15 and batch 2. The last two
rows are quicker methods beside the reference of the one they stand for: the cone at x̂0 with one pass back through the
UNet in place of two, and MaskDiME, which has no loops within its steps.

The reference's code runs in turn with ours, on the same weights, where the user's own checkouts of
cairo-thws/DBVCE_eval and guillaumejs2403/DiME lie in `.bench/DBVCE_eval` and `.bench/DiME`, or where `python -m
bench.vce_cost --dbvce FOLDER --dime FOLDER` says; else its figures are those once measured elsewhere. `--gpu` times
images per second at 256 × 256 with a UNet of the papers' size (554 M) on a GPU instead.

The floor is what the operations of the first precision take at the greater of two speeds, measured in the same run:
that of a plain product of matrices and that of a convolution like those of the UNet, there and back.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import conv2d

from bench import meter, vce_reference
from bench.meter import Peak
from bench.scripted_study import PLACE
from bench.table import Table, machine
from bench.timing import in_turn
from cfeval.core import registry
from cfeval.core.errors import CfevalError, PluginError
from cfeval.vce.method import Compute, Method
from cfeval.vce.models import unet_architecture
from cfeval.vce.plugins import guided_diffusion
from cfeval.vce.sampler.batch import Classes
from cfeval.vce.sampler.networks import Models
from cfeval.vce.sampler.sampler import counterfactuals

AIM, STEPS = 0.5, 50
SMALL: dict[str, Any] = {
    "image_size": 64,
    "num_channels": 32,
    "num_res_blocks": 1,
    "channel_mult": (1, 2, 2, 2),
    "attention_resolutions": (16, 8),
    "num_head_channels": 0,
    "num_heads": 4,
    "use_new_attention_order": False,
    "noise_schedule": "linear",
}


@dataclass(frozen=True)
class Row:
    """A line of the table: a method, its batch, and the reference's CPU seconds an image as once measured."""

    name: str
    batch: int
    elsewhere: float
    method: dict[str, Any]

    @property
    def dime(self) -> bool:
        """Whether DiME is its reference."""
        return bool(self.method["preset"] != "dbvce")


def _dbvce(name: str, guidance: str, projection: str, elsewhere: float, **more: str) -> Row:
    said = {"guidance": guidance, "projection": projection, "respacing": "100", "start": 0.5, **more}
    return Row(name, 8, elsewhere, {"preset": "dbvce", "mode": "reference", **said})


def _dime(name: str, preset: str, scale: float) -> Row:
    said = {"preset": preset, "respacing": "100", "start": 0.15, "scales": (scale,), "perceptual_weight": 0.0}
    return Row(name, 2, 5.69, said)


ROWS = (
    _dbvce("no cone, gradient at x̂0", "straight", "none", 2.56),
    _dbvce("no cone, x0-prediction", "x0", "none", 4.30),
    _dbvce("cone, gradient at x̂0", "straight", "cone", 4.53),
    _dbvce("cone, x0-prediction", "x0", "cone", 8.69),
    _dime("DiME, τ = 15", "dime", 8.0),
    _dbvce("cone at x̂0, x0-prediction", "x0", "cone", 8.69, cone_at="x0"),
    _dime("MaskDiME, τ = 15, beside DiME", "maskdime", 64.0),
)


def tables() -> list[Table]:
    """The table of CPU seconds, without the reference's code."""
    return _timed(_arguments([]))


def main() -> None:
    """Time what the arguments ask for; a known error is one line and exit status 2."""
    asked = _arguments(sys.argv[1:])
    try:
        print(f"{machine()}\n")
        for table in _timed(asked):
            print(table.markdown())
    except CfevalError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def _timed(asked: argparse.Namespace) -> list[Table]:
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]), tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(0)
        return gpu_tables(_peak(), asked.batches) if asked.gpu else [_cpu(asked, Path(folder))]


def _arguments(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.vce_cost", description="Cost of a counterfactual.")
    for option, name in (("--dbvce", "cairo-thws/DBVCE_eval"), ("--dime", "guillaumejs2403/DiME")):
        there = PLACE / Path(name).name
        said = f"your checkout of {name}, timed beside (.bench/{there.name} where it is there)"
        parser.add_argument(option, type=Path, default=there if there.is_dir() else None, help=said)
    parser.add_argument("--precision", default="both", choices=("both", "float32", "bfloat16"), help="of the networks")
    parser.add_argument("--repeats", type=int, default=1, help="the least of so many runs counts")
    parser.add_argument("--steps", type=int, default=STEPS, choices=range(1, STEPS + 1), metavar="N", help="to run")
    parser.add_argument("--gpu", action="store_true", help="images per second at 256 × 256 instead")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64], help="with --gpu")
    return parser.parse_args(given)


def _cpu(asked: argparse.Namespace, folder: Path) -> Table:
    """The table of CPU seconds."""
    for checkout, module in ((asked.dbvce, "guided_diffusion.gaussian_diffusion"), (asked.dime, "core.sample_utils")):
        if checkout:
            vce_reference.find(checkout, module)
    path = _weights(folder, SMALL)
    kinds = ("float32", "bfloat16") if asked.precision == "both" else (asked.precision,)
    models = {kind: _models(path, SMALL, kind, "cpu") for kind in kinds}
    bf16 = "with" if _has("avx512_bf16") else "without"
    product, convolution = _speeds(getattr(torch, kinds[0]))
    rows = []
    for row in ROWS:
        theirs = _reference(row, asked, path)
        works = [_ours(row, models[kind], asked.steps) for kind in kinds]
        seconds = in_turn([*works, *([theirs] if theirs else [])], asked.repeats)
        share = 1.0 if row.dime else asked.steps / STEPS
        least = [value / row.batch / share for value in seconds]
        whole = least[-1] if theirs else row.elsewhere
        said = f"{whole:.2f}" if theirs else f"{whole:.2f}, elsewhere"
        cells = [(f"{ours:.2f}", f"{ours / whole:.2f}{_over(ours, whole)}") for ours in least[: len(kinds)]]
        flops = meter.watched([], "cpu", _ours(replace(row, batch=1), models[kinds[0]], asked.steps), count=True)
        floor = flops["host"].flops / share / max(product, convolution)
        roofline = [f"{floor:.2f}", f"{least[0] / floor:.1f}"]
        rows.append([row.name, said, *(cell for pair in cells for cell in pair), *roofline])
    columns = ["method", "reference", *(name for kind in kinds for name in (kind, "of it"))]
    columns += [f"floor of {kinds[0]}", "times the floor"]
    said = f"One thread, {bf16} avx512_bf16; torch {torch.__version__}; the aim is {AIM} of the reference."
    speeds = f"{kinds[0]}: {product / 1e9:.0f} GFLOPS in a product, {convolution / 1e9:.0f} in convolutions."
    return Table("CPU seconds per counterfactual", columns, rows, [said, speeds])


def _speeds(dtype: torch.dtype) -> tuple[float, float]:
    """Operations per CPU second of a product of matrices, and of a 3 × 3 convolution with its gradient, on one thread.

    The convolution is the most frequent of the small UNet: 64 channels at 32 × 32, batch 8.
    """
    side, batch, channels, pixels = 1024, 8, 64, 32
    left, right = torch.randn(2, side, side).to(dtype)
    images = torch.randn(batch, channels, pixels, pixels).to(dtype).requires_grad_()
    kernel = torch.randn(channels, channels, 3, 3).to(dtype)
    works = [lambda: left @ right, lambda: torch.autograd.grad(conv2d(images, kernel, padding=1).sum(), images)]
    product, convolution = in_turn(works, 10)
    there = 2 * batch * channels**2 * 9 * pixels**2
    return 2 * side**3 / product, 2 * there / convolution


def _over(ours: float, whole: float) -> str:
    return "" if ours <= AIM * whole else " (over)"


def _weights(folder: Path, flags: dict[str, Any]) -> Path:
    """A checkpoint of guided-diffusion with random weights."""
    model = _architecture(flags)
    shapes = unet_architecture.shapes(model, unet_architecture.network(model))
    drawn = {}
    for name, shape in shapes.items():
        spread = 0.05 if shape.ndim < 2 else float(shape[0].numel()) ** -0.5
        drawn[name] = torch.randn(shape.shape) * spread + (1.0 if shape.ndim == 1 and name.endswith("weight") else 0.0)
    torch.save(drawn, folder / "unet.pt")
    return folder / "unet.pt"


def _architecture(flags: dict[str, Any]) -> unet_architecture.Architecture:
    return guided_diffusion.DenoiserPlugin(path="-", **flags).architecture(classes=0, learn_sigma=True)


def _models(path: Path, flags: dict[str, Any], dtype: str, device: str) -> Models:
    """The networks, random weights all."""
    common = {"device": device, "dtype": dtype}
    denoiser = registry.build("denoisers", {"plugin": "guided_diffusion", "path": str(path), **flags, **common})
    random = {"plugin": "torchvision", "weights": "none", **common}
    explained = registry.build("classifiers", {**random, "model": "alexnet"})
    return Models(denoiser, explained, registry.build("classifiers", {**random, "model": "resnet50", "robust": True}))


def _ours(row: Row, models: Models, steps: int) -> Callable[[], object]:
    images, targets = _images(row.batch, 64), Classes([3] * row.batch)
    seeds, method = list(range(row.batch)), Method(**row.method | ({} if row.dime else {"start": steps / 100}))
    return lambda: counterfactuals(images, seeds, method, models, targets, Compute(batch=row.batch))


def _reference(row: Row, asked: argparse.Namespace, path: Path) -> Callable[[], object] | None:
    """The reference's run of a row; None where there is no checkout."""
    if not (asked.dime if row.dime else asked.dbvce):
        return None
    from torchvision.models import alexnet, resnet50

    weights = torch.load(path, weights_only=True)
    explained, robust = alexnet().eval(), resnet50().eval() if row.method.get("projection") == "cone" else None
    model = _architecture(SMALL)
    if row.dime:
        run = vce_reference.dime(weights, model, explained, depth=15)
    else:
        run = vce_reference.dbvce(
            weights, model, explained, robust, x0=row.method["guidance"] == "x0", steps=asked.steps
        )
    images, targets = _images(row.batch, 64), torch.full((row.batch,), 3)
    return lambda: run(images, targets)


def _images(count: int, side: int) -> Tensor:
    return torch.rand(count, 3, side, side) * 2 - 1


def _has(flag: str) -> bool:
    about = Path("/proc/cpuinfo")
    return about.is_file() and flag in about.read_text()


LARGE_STEPS, PAPER_STEPS, PAPER_SECONDS, PAPER_GPUS = 4, 100, 1.9, 4
"""Steps that are run for a time, steps of the papers' setting, its seconds an image, and on how many GPUs together."""


def _peak() -> Peak:
    """What the GPU reaches in half precision."""
    if not torch.cuda.is_available():
        raise PluginError(
            "--gpu: torch finds no CUDA GPU here; run it where `nvidia-smi` lists one, or leave --gpu out"
        )
    return meter.peak("cuda", torch.float16, 8192, 2**31)


def gpu_tables(
    peak: Peak, batches: Sequence[int], device: str = "cuda", flags: Mapping[str, Any] | None = None
) -> list[Table]:
    """Images per second: cone and x0-prediction, four steps timed and scaled to the papers' 100.

    Args:
        peak: what the device reaches.
        batches: images at once.
        device: where.
        flags: of guided-diffusion's UNet; None: those of the papers, at 256 × 256.
    """
    flags = flags or {"image_size": 256}
    with tempfile.TemporaryDirectory() as folder:
        dtype = "float16" if device == "cuda" else "float32"
        models = _models(_weights(Path(folder), dict(flags)), dict(flags), dtype, device)
    said = {"guidance": "x0", "projection": "cone", "respacing": "200", "start": LARGE_STEPS / 200}
    method, side = Method(preset="dbvce", mode="reference", **said), int(flags["image_size"])
    rows = []
    for batch in batches:
        run = _four_steps(models, method, batch, side, device)
        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        try:
            flops = meter.watched([], device, run, count=True)["host"].flops
            seconds = meter.seconds(device, run) / LARGE_STEPS * PAPER_STEPS / batch
        except torch.OutOfMemoryError:
            rows.append([str(batch), "does not fit", "", "", "", ""])
            break
        floor = flops / LARGE_STEPS * PAPER_STEPS / batch / peak.flops
        memory = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0
        cells = (
            f"{seconds:.2f}",
            f"{floor:.2f}",
            f"{seconds / floor:.1f}",
            f"{PAPER_GPUS * PAPER_SECONDS / seconds:.1f}",
        )
        rows.append([str(batch), *cells, f"{memory:.1f}"])
    columns = ("batch", "s per image", "floor, s", "times the floor", "times the paper's speed", "memory, GiB")
    about = f"torch {torch.__version__}; {dtype}, cone and x0-prediction, {side} × {side}, {PAPER_STEPS} steps."
    paper = f"The paper: {PAPER_SECONDS} s per image on {PAPER_GPUS} A100 (80 GB) together, on average of classifiers."
    return [Table("vce, counterfactuals on a GPU", columns, rows, [about, paper])]


def _four_steps(models: Models, method: Method, batch: int, side: int, device: str) -> Callable[[], object]:
    images, targets = _images(batch, side).to(device), Classes([3] * batch)

    def run() -> None:
        made = counterfactuals(images, list(range(batch)), method, models, targets, Compute(batch=batch))
        if made.batch < batch:  # it went on with fewer, for want of memory
            raise torch.OutOfMemoryError

    return run


if __name__ == "__main__":
    main()
