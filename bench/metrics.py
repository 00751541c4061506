"""Metrics: images per second, ours and others'

The Inception features of FID and the SSIM map of the edit gate, on one thread, beside the same metric of torchmetrics
and piq: the same random images, float32, the same random weights in every network. Seconds are CPU seconds of one
thread, the least of several runs in turn. The last column is the largest difference to our values.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import Tensor

from bench import metric_peers as peers
from bench.table import Table
from bench.timing import in_turn
from cfeval.core import registry
from cfeval.edct.plugins.image_comparison import local_ssim

REPEATS = 3
FID_SIDE, FID_IMAGES = 256, 8
SSIM_SIDE, SSIM_K1 = 1024, 0.1
_PACKAGES = ("torch", "torchmetrics", "torch-fidelity", "scikit-image", "opencv-python-headless")

Run = Callable[[], Tensor]


@dataclass(frozen=True)
class Work:
    """One metric on some images: our run, the peers', why they may differ, and who has no such thing."""

    name: str
    images: int
    ours: Run
    others: Mapping[str, Run | str]
    tolerance: float
    why: Mapping[str, str] = field(default_factory=dict)


def tables() -> list[Table]:
    """The one table."""
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        works = [*_features(Path(folder)), _ssim()]
        found = [_rows(work) for work in works]
    columns = ("metric", "library", "images/s", "times ours", "largest difference")
    notes = [reason for work in works for reason in _reasons(work)]
    return [Table("Metrics", columns, [row for rows in found for row in rows], [*notes, _versions()])]


def _rows(work: Work) -> list[list[str]]:
    """Ours first; a peer that cannot run is a row that says so."""
    runs = {"cfeval": work.ours} | {name: run for name, run in work.others.items() if not isinstance(run, str)}
    values = {name: run() for name, run in runs.items()}
    speeds = [work.images / seconds for seconds in in_turn(list(runs.values()), REPEATS)]
    rows = []
    for (name, value), speed in zip(values.items(), speeds, strict=True):
        apart = "" if name == "cfeval" else _apart(work, name, values["cfeval"], value)
        rows.append([work.name, name, f"{speed:.3g}", f"{speed / speeds[0]:.2f}", apart])
    absent = [[work.name, name, run, "", ""] for name, run in work.others.items() if isinstance(run, str)]
    return rows + absent


def _apart(work: Work, name: str, ours: Tensor, theirs: Tensor) -> str:
    if ours.shape != theirs.shape:
        return "no such map"
    most = float((ours.double() - theirs.double()).abs().max())
    agrees = "" if most <= work.tolerance else (" (see below)" if name in work.why else " (DIFFERS)")
    return f"{most:.1e} of {float(ours.abs().max()):.2g}{agrees}"


def _reasons(work: Work) -> list[str]:
    return [f"{work.name}, {name}: {why}" for name, why in work.why.items() if not isinstance(work.others[name], str)]


def _versions() -> str:
    said = [f"{name} {version(name)}" for name in _PACKAGES]
    try:
        said.append(f"piq {peers.piq_package().__version__}")
    except ImportError:
        said.append("piq is not installed (`make peers`)")
    return ", ".join(said) + "."


def _peer(build: Callable[[], Callable[..., Tensor] | None], *arguments: Tensor) -> Run | str:
    """A peer's run, or why there is none, in a few words."""
    try:
        network = build()
    except ImportError as error:
        return f"not installed: {error}"
    return "has none" if network is None else lambda: network(*arguments)


def _features(folder: Path) -> list[Work]:
    path, images = folder / "inception.pth", _images(FID_IMAGES, FID_SIDE, 3).byte()
    torch.save(peers.inception(), path)
    why = {
        "piq": "it resizes as torch does and not as TensorFlow did, and scales by 127.5 in place of 128 (by its code)."
    }
    works = []
    for width in (64, 2048):
        spec = {"plugin": "inception", "width": width, "weights": str(path), "device": "cpu"}
        ours = registry.build("feature_extractors", spec)
        others = {
            "torchmetrics": _peer(lambda width=width: peers.inception_torchmetrics(width), images),
            "piq": _peer(lambda width=width: peers.inception_piq(width), images),
        }
        name = f"{width} features of Inception-v3, {FID_SIDE} × {FID_SIDE}, {FID_IMAGES} at once"
        works.append(Work(name, FID_IMAGES, lambda ours=ours: ours.features(images), others, 1e-4, why))
    return works


def _ssim() -> Work:
    """The map of a pair, from RGB: gray values by the same function for all."""
    pair = [image.permute(1, 2, 0).byte().numpy() for image in _images(2, SSIM_SIDE, 4)]
    pair[1] = cv2.addWeighted(pair[0], 0.7, pair[1], 0.3, 0)

    def ours() -> Tensor:
        return torch.from_numpy(local_ssim(pair[0], pair[1], SSIM_K1))

    def torchmetrics() -> Tensor:
        from torchmetrics.functional.image import structural_similarity_index_measure as ssim

        said = {"gaussian_kernel": False, "kernel_size": 7, "data_range": 255.0, "k1": SSIM_K1}
        return ssim(*_grays(pair), **said, return_full_image=True)[1][0, 0]

    def piq() -> Callable[[], Tensor]:
        package = peers.piq_package()
        return lambda: package.ssim(*_grays(pair), data_range=255.0, k1=SSIM_K1, downsample=False, reduction="none")

    why = {
        "torchmetrics": "its variances are those of a population, ours (scikit-image's) those of a sample: 49/48.",
        "piq": "it weighs windows of 11 × 11 by a Gaussian and returns their mean, no map.",
    }
    name = f"SSIM map of the edit gate, a pair of {SSIM_SIDE} × {SSIM_SIDE}"
    return Work(name, 1, ours, {"torchmetrics": torchmetrics, "piq": _peer(piq)}, 1e-4, why)


def _grays(pair: list[np.ndarray]) -> list[Tensor]:
    grays = (cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY) for pixels in pair)
    return [torch.from_numpy(gray.astype(np.float32))[None, None] for gray in grays]


def _images(count: int, side: int, seed: int) -> Tensor:
    """Random images (N, 3, H, W) of whole numbers from 0 to 255: noise in patches, as a photograph has surfaces."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.rand((count, 3, side // 16, side // 16), generator=generator)
    fine = torch.rand((count, 3, side, side), generator=generator)
    smooth = torch.nn.functional.interpolate(coarse, size=(side, side), mode="bilinear")
    return (255 * (0.8 * smooth + 0.2 * fine)).round()
