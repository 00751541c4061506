"""On a GPU: seconds per edit, tokens per second, and the floor

Models of published sizes with random weights (bench/sizes.py): FLUX.2-Klein, FLUX.1-Kontext and Qwen-Image-Edit
through the `diffusers` editor, Qwen2.5-VL-7B and Qwen3-VL-8B through the `transformers` chat model, and the diffusion
network of 554 million parameters of `vce`. The floor of a part is the larger of its operations over what a large
product of matrices reaches here, and of its bytes (weights once a call, and the cache of keys and values for a token)
over what a large copy reaches here. Parts are timed with the GPU waited for before and after each, the whole without;
"host" is what is left: images, tokens, sampling, Python. Below are the floors of some GPUs, by their data sheets.
Figures of 2026-11-26 are from before images were rounded to bytes on the GPU and prepared while others are painted; no
GPU has been at hand since to say what that saves of the host's share.
"""

import gc
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tests.answers import answers

from bench import checkpoints, floors, meter, sizes, vce_cost
from bench.meter import Part, Peak, Probe
from bench.sizes import ChatSize, EditorSize
from bench.table import Found, Table, machine, today
from cfeval.core import registry
from cfeval.core.errors import PluginError
from cfeval.core.images import Image
from cfeval.edct.interfaces import EditRequest
from cfeval.edct.plugins.diffusers_editor import PipelineEditor, settings_for
from cfeval.edct.plugins.diffusers_pipelines import KINDS
from cfeval.inference.chat import ChatMessage, ChatRequest
from cfeval.inference.local.chat_model import LocalChat

COLUMNS = ("part", "calls", "seconds", "share", "TFLOP", "GB", "floor, s", "times the floor")


@dataclass(frozen=True)
class Place:
    """Where a benchmark runs: a device, the type of its numbers as torch and as we call it, and what it reaches."""

    device: str
    dtype: torch.dtype
    peak: Peak

    @property
    def options(self) -> dict[str, str]:
        """The options of a plugin."""
        return {"device": self.device, "dtype": str(self.dtype).removeprefix("torch.")}


def tables() -> list[Table]:
    """Those of all models, kept one by one; without a GPU, what was found last stays, or else the floors."""
    if not torch.cuda.is_available():
        print("bench: gpu: not measured, torch finds no CUDA GPU here", file=sys.stderr)
        found = Found.read("gpu")
        if found and not any("Not measured" in table.title for table in found.tables):
            sys.exit(0)
        return [Table("Not measured", ("why",), [("torch finds no CUDA GPU on this machine",)]), *floors.tables()]
    place = Place("cuda", torch.bfloat16, meter.peak("cuda", torch.bfloat16, 8192, 2**31))
    works: dict[str, Callable[[], list[Table]]] = {
        **{size.name: partial(edit_tables, size, place, (1, 2, 4)) for size in sizes.EDITORS},
        **{size.name: partial(chat_tables, size, place, (1, 8), tokens=64) for size in sizes.CHATS},
        "vce": partial(vce_cost.gpu_tables, place.peak, (1, 4, 16)),
    }
    made: list[Table] = []
    for name, work in works.items():
        made += _tried(name, work)
        Found(machine(), made, today()).save("gpu")  # a machine that is lent for minutes may go before the last is done
        _release(place)
    return [*made, *floors.tables()]


def _tried(name: str, work: Callable[[], list[Table]]) -> list[Table]:
    """The tables of a work, or one that says why there is none: the others are measured all the same."""
    try:
        return work()
    except Exception as error:
        first = next(iter(str(error).splitlines()), "")
        return [Table(f"{name}: not measured", ("why",), [(f"{type(error).__name__}: {first}",)])]


def edit_tables(size: EditorSize, place: Place, batches: Sequence[int]) -> list[Table]:
    """An edit part by part, and edits of several images at once where the pipeline paints so."""
    kind = KINDS[size.pipeline]
    pipe = checkpoints.pipeline(size, place.device, place.dtype)
    steps = size.timed or size.steps
    given = {"steps": float(steps), "min_pixels": float(size.pixels**2), "max_pixels": float(size.pixels**2)}
    settings = settings_for(size.pipeline, given, masked=False, offload="none")
    kind.prepare(pipe, settings)

    shown = image(size.pixels).png

    def edit(batch: int) -> None:
        editor = PipelineEditor(pipe, kind, settings, None, {}, "take a smaller batch", batch)
        said = "Change the color of the circle to blue."
        requests = [EditRequest(str(n), Image(shown), said, "", seed=n) for n in range(batch)]
        for reply in answers(editor.edit, requests):
            if reply.image is None:
                raise RuntimeError(f"no image came back: {reply.reason}")

    one = partial(edit, 1)
    probes = [Probe(getattr(pipe, name), "forward", title) for name, title in size.readers.items()]
    probes += [Probe(pipe.vae, "encode", "VAE, encoding"), Probe(pipe.transformer, "forward", "transformer")]
    probes += [Probe(pipe.vae, "decode", "VAE, decoding")]
    networks = (*(getattr(pipe, name) for name in size.readers), pipe.vae.encoder, pipe.transformer, pipe.vae.decoder)
    moved = {
        str(probe.part): float(meter.weight_bytes(network)) for probe, network in zip(probes, networks, strict=True)
    }
    counted = meter.watched(probes, place.device, one, count=True)
    timed = meter.watched(probes, place.device, one, count=False)
    whole = min(meter.seconds(place.device, one) for _ in range(2))
    whole += (size.steps / steps - 1) * timed["transformer"].seconds
    for found in (counted, timed):
        found["transformer"] = found["transformer"].times(size.steps // steps)
    title = f"{size.name}-size, {size.pixels} × {size.pixels} pixels, {size.steps} steps: {whole:.3g} s per edit"
    bytes_ = {name: moved[name] * part.calls for name, part in counted.items() if name in moved}
    notes = [_about(place), *([f"{steps} steps were run; the others are taken to be as long."] if size.timed else [])]
    parts = Table(title, COLUMNS, _rows(counted, timed, bytes_, whole, place.peak), notes)
    if not kind.batches or size.timed:
        return [parts]
    rows = []
    for batch in batches:
        try:
            spent = whole if batch == 1 else min(meter.seconds(place.device, partial(edit, batch)) for _ in range(2))
        except PluginError:  # out of memory
            rows.append([str(batch), "does not fit", "", ""])
            break
        floor = sum(place.peak.floor(batch * counted[name].flops, bytes_[name]) for name in bytes_) / batch
        rows.append([str(batch), *(f"{cell:.3g}" for cell in (spent / batch, floor, spent / batch / floor))])
    columns = ("images at once", "seconds per edit", "floor, s", "times the floor")
    return [parts, Table(f"{size.name}-size, images at once", columns, rows)]


def chat_tables(size: ChatSize, place: Place, batches: Sequence[int], tokens: int) -> list[Table]:
    """Tokens a second at each batch, compiled too at the largest that fits, whose parts are told."""
    with tempfile.TemporaryDirectory() as folder:
        path = checkpoints.chat(size, Path(folder), place.device, place.dtype)
        _release(place)
        options = {"plugin": "transformers", "model": str(path), "max_tokens": tokens, **place.options}
        chat: Any = registry.build("chat", {**options, "batch": max(batches)})
    rows: list[list[str]] = []
    parts: list[list[str]] = []
    largest: tuple[list[ChatRequest], int, float] | None = None
    at = 0
    for batch in batches:
        requests = [_request(number, size.pixels) for number in range(batch)]
        work = partial(answers, chat.generate, requests)
        probes, moved = _chat_probes(chat._loaded.model), _chat_bytes(chat, requests, tokens)
        counted = meter.watched(probes, place.device, work, count=True)
        if counted["reading"].calls > 1:
            rows.append([str(batch), "does not fit", "", "", ""])
            break
        timed = meter.watched(probes, place.device, work, count=False)
        whole = min(meter.seconds(place.device, work) for _ in range(2))
        at, parts = batch, _rows(counted, timed, moved, whole, place.peak)
        said = batch * (counted["writing"].calls + 1)
        floor = _floor(counted, moved, place.peak)
        host = timed["host"].seconds / sum(part.seconds for part in timed.values())
        cells = (f"{said / whole:.4g}", f"{said / floor:.4g}", f"{whole / floor:.3g}", f"{host:.0%}")
        rows.append([str(batch), *cells])
        largest = requests, said, floor
    if place.device == "cuda" and largest:
        rows.append(_compiled_row(chat, *largest, place))
    columns = ("batch", "tokens/s", "tokens/s at the floor", "times the floor", "share of the host")
    name = f"{size.name}-size, an image of {size.pixels} × {size.pixels}, {tokens} tokens of reply"
    return [
        Table(name, columns, rows, [_about(place)]),
        Table(f"{size.name}-size part by part, batch {at}", COLUMNS, parts),
    ]


def _compiled_row(chat: Any, requests: Sequence[ChatRequest], said: int, floor: float, place: Place) -> list[str]:
    """The row of a batch with `torch_compile`; what it takes to compile, once a study, is told apart."""
    quick = LocalChat(chat._loaded, chat._conversations, chat._sampling, len(requests), compiled=True)
    work = partial(answers, quick.generate, requests)
    first = meter.seconds(place.device, work)
    whole = min(meter.seconds(place.device, work) for _ in range(2))
    about = f"{len(requests)}, torch_compile (the first took {first:.0f} s)"
    return [about, f"{said / whole:.4g}", f"{said / floor:.4g}", f"{whole / floor:.3g}", ""]


def _chat_probes(model: Any) -> list[Probe]:
    def phase(input_ids: torch.Tensor, **_: Any) -> str:
        return "reading" if input_ids.shape[1] > 1 else "writing"

    return [Probe(model.model.visual, "forward", "vision"), Probe(model, "forward", phase)]


def _chat_bytes(chat: Any, requests: Sequence[ChatRequest], tokens: int) -> dict[str, float]:
    """Bytes that each part must read at least: weights once a call, and for each new token the keys and values."""
    model = chat._loaded.model
    words = meter.weight_bytes(model.model.language_model.layers) + meter.weight_bytes(model.lm_head)
    text = model.config.get_text_config()
    width = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    kept = 2 * text.num_hidden_layers * text.num_key_value_heads * width * model.dtype.itemsize
    prompt = chat._conversations.encode(requests)["input_ids"].shape[1]
    read = sum(len(requests) * (prompt + number) * kept for number in range(1, tokens))
    return {
        "vision": meter.weight_bytes(model.model.visual),
        "reading": words,
        "writing": (tokens - 1) * words + read,
    }


def _floor(counted: dict[str, Part], moved: dict[str, float], peak: Peak) -> float:
    return sum(peak.floor(counted[name].flops, moved[name]) for name in moved)


def _rows(
    counted: dict[str, Part], timed: dict[str, Part], moved: dict[str, float], whole: float, peak: Peak
) -> list[list[str]]:
    """A row for each part, the host's, and the whole's, which was timed without waiting for the parts."""
    watched = sum(part.seconds for part in timed.values())
    rows = []
    for name, bytes_ in moved.items():
        part, spent = counted[name], timed[name].seconds
        floor = peak.floor(part.flops, bytes_)
        cells = (f"{spent:.3g}", f"{spent / watched:.1%}", f"{part.flops / 1e12:.3g}", f"{bytes_ / 1e9:.3g}")
        rows.append([name, str(part.calls), *cells, f"{floor:.3g}", f"{spent / floor:.3g}"])
    host = timed["host"].seconds
    rows.append(["host", "", f"{host:.3g}", f"{host / watched:.1%}", "", "", "", ""])
    floor = _floor(counted, moved, peak)
    return [*rows, ["whole", "", f"{whole:.3g}", "", "", "", f"{floor:.3g}", f"{whole / floor:.3g}"]]


def image(side: int) -> Image:
    """An image of noise."""
    return Image.from_pixels(np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype=np.uint8))


def _request(number: int, side: int) -> ChatRequest:
    return ChatRequest(
        str(number), (ChatMessage("user", "What is in the picture, and how do you know?", image(side)),), number
    )


def _about(place: Place) -> str:
    name = torch.cuda.get_device_name() if place.device == "cuda" else "a processor"
    versions = ", ".join(f"{package} {version(package)}" for package in ("torch", "diffusers", "transformers"))
    reached = f"{place.peak.flops / 1e12:.3g} TFLOP/s in products, {place.peak.bandwidth / 1e9:.4g} GB/s in copies"
    return f"{name}, {place.options['dtype']}: {reached}. {versions}."


def _release(place: Place) -> None:
    gc.collect()
    if place.device == "cuda":
        torch.cuda.empty_cache()
