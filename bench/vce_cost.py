"""`make bench-vce`: CPU seconds per counterfactual on one thread, beside the reference's.

A UNet of 1.97 M parameters in guided-diffusion's architecture, AlexNet explained, ResNet-50 robust, random weights,
64 × 64 pixels, 1000 steps respaced to 100 of which 50 are run, batch 8; DiME with τ = 15 and batch 2. With
`--dbvce FOLDER --dime FOLDER`, the user's own checkouts of cairo-thws/DBVCE_eval and guillaumejs2403/DiME, the
reference runs in turn with it on the same weights; else its figures are those once measured elsewhere. `--steps N` runs
N of the 50 steps, which cost all the same, and counts for 50.

`--gpu` times images per second at 256 × 256 with a UNet of the papers' size (554 M) on a GPU instead.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bench import vce_reference
from bench.gate import _processor
from cfeval.backends import registry
from cfeval.backends.denoisers import guided_diffusion
from cfeval.backends.unets import guided
from cfeval.diffusion.counterfactuals import Classes, counterfactuals
from cfeval.diffusion.networks import Models
from cfeval.errors import BackendError, CfevalError
from cfeval.params.vce_method import Compute, Method

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
        """Whether it is DiME's."""
        return bool(self.method["preset"] == "dime")


def _dbvce(name: str, guidance: str, projection: str, elsewhere: float) -> Row:
    said = {"guidance": guidance, "projection": projection, "respacing": "100", "start": 0.5}
    return Row(name, 8, elsewhere, {"preset": "dbvce", "mode": "reference", **said})


ROWS = (
    _dbvce("no cone, gradient at x̂0", "straight", "none", 2.56),
    _dbvce("no cone, x0-prediction", "x0", "none", 4.30),
    _dbvce("cone, gradient at x̂0", "straight", "cone", 4.53),
    _dbvce("cone, x0-prediction", "x0", "cone", 8.69),
    Row(
        "DiME, τ = 15",
        2,
        5.69,
        {"preset": "dime", "respacing": "100", "start": 0.15, "scales": (8.0,), "perceptual_weight": 0.0},
    ),
)


def main() -> None:
    """Time what the arguments ask for; a known error is one line and exit status 2."""
    asked = _arguments()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]), tempfile.TemporaryDirectory() as folder:
            torch.manual_seed(0)
            (_gpu if asked.gpu else _cpu)(asked, Path(folder))
    except CfevalError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-vce", description="Cost of a counterfactual.")
    parser.add_argument("--dbvce", type=Path, help="your checkout of cairo-thws/DBVCE_eval, timed beside")
    parser.add_argument("--dime", type=Path, help="your checkout of guillaumejs2403/DiME, timed beside")
    parser.add_argument("--precision", default="both", choices=("both", "float32", "bfloat16"), help="of the networks")
    parser.add_argument("--repeats", type=int, default=1, help="the least of so many runs counts")
    parser.add_argument("--steps", type=int, default=STEPS, choices=range(1, STEPS + 1), metavar="N", help="to run")
    parser.add_argument("--gpu", action="store_true", help="images per second at 256 × 256 instead")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64], help="with --gpu")
    return parser.parse_args()


def _cpu(asked: argparse.Namespace, folder: Path) -> None:
    """The table of CPU seconds."""
    for checkout, module in ((asked.dbvce, "guided_diffusion.gaussian_diffusion"), (asked.dime, "core.sample_utils")):
        if checkout:
            vce_reference.find(checkout, module)
    path = _weights(folder, SMALL)
    kinds = ("float32", "bfloat16") if asked.precision == "both" else (asked.precision,)
    models = {kind: _models(path, SMALL, kind, "cpu") for kind in kinds}
    bf16 = "with" if _has("avx512_bf16") else "without"
    print(f"{_processor()}, one thread, {bf16} avx512_bf16; torch {torch.__version__}\n")
    print(f"| | reference | {' | '.join(f'{kind} | of it' for kind in kinds)} |\n|---{'|---' * (1 + 2 * len(kinds))}|")
    for row in ROWS:
        theirs = _reference(row, asked, path)
        works = [_ours(row, models[kind], asked.steps) for kind in kinds]
        seconds = _in_turn([*works, *([theirs] if theirs else [])], asked.repeats)
        share = 1.0 if row.dime else asked.steps / STEPS
        least = [value / row.batch / share for value in seconds]
        whole = least[-1] if theirs else row.elsewhere
        said = f"{whole:.2f}" if theirs else f"{whole:.2f}, elsewhere"
        cells = [
            f"{ours:.2f} | {ours / whole:.2f}{'' if ours <= AIM * whole else ' (over)'}" for ours in least[: len(kinds)]
        ]
        print(f"| {row.name} | {said} | {' | '.join(cells)} |", flush=True)
    print(f"\nCPU seconds per counterfactual; the aim is {AIM} of the reference.")


def _weights(folder: Path, flags: dict[str, Any]) -> Path:
    """A checkpoint of guided-diffusion with random weights."""
    model = _architecture(flags)
    shapes = guided.shapes(model, guided.network(model))
    drawn = {}
    for name, shape in shapes.items():
        spread = 0.05 if shape.ndim < 2 else float(shape[0].numel()) ** -0.5
        drawn[name] = torch.randn(shape.shape) * spread + (1.0 if shape.ndim == 1 and name.endswith("weight") else 0.0)
    torch.save(drawn, folder / "unet.pt")
    return folder / "unet.pt"


def _architecture(flags: dict[str, Any]) -> guided.Architecture:
    return guided_diffusion.architecture(guided_diffusion.Options(path="-", **flags), classes=0, learn_sigma=True)


def _models(path: Path, flags: dict[str, Any], dtype: str, device: str) -> Models:
    """The networks, random weights all."""
    common = {"device": device, "dtype": dtype}
    denoiser = registry.build("denoisers", {"backend": "guided_diffusion", "path": str(path), **flags, **common})
    random = {"backend": "torchvision", "weights": "none", **common}
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


def _in_turn(works: list[Callable[[], object]], repeats: int) -> list[float]:
    """The least CPU seconds of each, run in turn, so that a busy machine is busy for all of them."""
    least = [float("inf")] * len(works)
    for _ in range(repeats):
        for number, work in enumerate(works):
            start = time.process_time()
            work()
            least[number] = min(least[number], time.process_time() - start)
    return least


def _images(count: int, side: int) -> Tensor:
    return torch.rand(count, 3, side, side) * 2 - 1


def _has(flag: str) -> bool:
    about = Path("/proc/cpuinfo")
    return about.is_file() and flag in about.read_text()


LARGE_STEPS, PAPER_STEPS, PAPER_SECONDS = 4, 100, 1.9
"""Steps that are run for a time, steps of the papers' setting, and its seconds an image on four A100."""


def _gpu(asked: argparse.Namespace, folder: Path) -> None:
    """Images per second on a GPU: cone and x0-prediction, four steps timed and scaled to the papers' 100."""
    if not torch.cuda.is_available():
        raise BackendError(
            "--gpu: torch finds no CUDA GPU here; run it where `nvidia-smi` lists one, or leave --gpu out"
        )
    flags: dict[str, Any] = {"image_size": 256}
    models = _models(_weights(folder, flags), flags, "float16", "cuda")
    said = {"guidance": "x0", "projection": "cone", "respacing": "200", "start": LARGE_STEPS / 200}
    method = Method(preset="dbvce", mode="reference", **said)
    print(f"{torch.cuda.get_device_name()}; torch {torch.__version__}; float16, cone and x0-prediction, 256 × 256\n")
    print("| batch | images/s | s per image | times the paper's | memory, GiB |\n|---|---|---|---|---|")
    for batch in asked.batches:
        with _or_full(batch) as fits:
            seconds = _step_seconds(models, method, batch) * PAPER_STEPS / batch
        if not fits:
            return
        memory = torch.cuda.max_memory_allocated() / 2**30
        speed = PAPER_SECONDS / seconds
        print(f"| {batch} | {1 / seconds:.3f} | {seconds:.2f} | {speed:.1f} | {memory:.1f} |", flush=True)
    print(f"\nThe paper: {PAPER_SECONDS} s per image on four A100 (80 GB) together, AlexNet and the others on average.")


def _step_seconds(models: Models, method: Method, batch: int) -> float:
    """Wall seconds of a step for a batch, the second run's."""
    images = _images(batch, 256).cuda()
    seconds = 0.0
    for _ in range(2):
        torch.cuda.synchronize()
        start = time.perf_counter()
        made = counterfactuals(images, list(range(batch)), method, models, Classes([3] * batch), Compute(batch=batch))
        torch.cuda.synchronize()
        seconds = (time.perf_counter() - start) / LARGE_STEPS
        if made.batch < batch:
            raise torch.OutOfMemoryError
    return seconds


@contextmanager
def _or_full(batch: int) -> Iterator[list[int]]:
    """Say that a batch does not fit, and leave the list empty."""
    fits = [batch]
    try:
        yield fits
    except torch.OutOfMemoryError:
        fits.clear()
        print(f"| {batch} | does not fit | | | |")


if __name__ == "__main__":
    main()
