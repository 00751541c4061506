"""Editors with a low-rank adapter (peft) and with quantized weights (torchao), on tiny random checkpoints."""

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from cfeval.core.errors import PluginError
from cfeval.edct.interfaces import EditReply
from cfeval.inference.local import hub
from tests.edct.plugins.test_diffusers_editor import _small_conditioning, afresh, edited  # noqa: F401
from tests.tiny.editors import checkpoint

KLEIN, KONTEXT, QWEN = "Flux2KleinPipeline", "FluxKontextPipeline", "QwenImageEditPipeline"
LAYER = "transformer_blocks.0.attn.to_out.0"
"""All three have it."""


def adapter(folder: Path, prefix: str = "transformer", layer: str = LAYER) -> Path:
    """A random adapter of rank 2 on one layer of a part of a pipeline."""
    import torch

    drawn = torch.Generator().manual_seed(5)
    side = 32  # of all networks here
    low = torch.randn(2, side, generator=drawn) * 100
    high = torch.randn(side, 2, generator=drawn)
    name = f"{prefix}.{layer}"
    save_file({f"{name}.lora_A.weight": low, f"{name}.lora_B.weight": high}, folder / "few-steps.safetensors")
    return folder / "few-steps.safetensors"


def by_hand(pipeline: str, file: Path, folder: Path, scale: float) -> Path:
    """The checkpoint with W + scale · B A in place of W."""
    copy = Path(shutil.copytree(checkpoint(pipeline), folder / pipeline))
    weights = next((copy / "transformer").glob("*.safetensors"))
    own, low = load_file(weights), load_file(file)
    name = f"transformer.{LAYER}"
    own[f"{LAYER}.weight"] += scale * low[f"{name}.lora_B.weight"] @ low[f"{name}.lora_A.weight"]
    save_file(own, weights, metadata={"format": "pt"})
    return copy


def painted(pipeline: str, **options: Any) -> EditReply:
    return edited(afresh(pipeline, **options))[0]


def far(one: EditReply, other: EditReply) -> int:
    """The largest difference of two images, of 255 levels."""
    assert one.image is not None
    assert other.image is not None
    return int(np.abs(one.image.pixels.astype(int) - other.image.pixels).max())


@pytest.mark.parametrize("pipeline", [KLEIN, KONTEXT, QWEN])
def test_an_adapter_paints_as_its_sum_with_the_weights_by_hand(pipeline: str, tmp_path: Path) -> None:
    file = adapter(tmp_path)
    plain, fused = painted(pipeline), painted(pipeline, lora=str(file), lora_scale=0.5)
    beside = painted(pipeline, lora=str(file), lora_scale=0.5, lora_fused=False)
    reference = painted(pipeline, model=str(by_hand(pipeline, file, tmp_path, 0.5)))
    assert far(fused, plain) > 3
    assert far(fused, reference) <= 1
    assert far(beside, reference) <= 1
    assert far(painted(pipeline, lora=str(file)), fused) > 1
    assert fused.details["lora_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (fused.details["lora"], fused.details["lora_scale"]) == ("few-steps.safetensors", "0.5")


@pytest.mark.parametrize("fused", [True, False])
def test_an_adapter_for_another_network_is_one_line(fused: bool, tmp_path: Path) -> None:
    """Of other layers, of which diffusers says so; of another part, of which it says nothing."""
    for prefix, layer, message in (
        ("transformer", "transformer_blocks.0.img_mlp.net.2", "does not fit Flux2Transformer2DModel"),
        ("text_encoder", LAYER, "holds nothing for Flux2Transformer2DModel; take one made for it"),
    ):
        file = adapter(tmp_path, prefix, layer)
        with pytest.raises(PluginError, match=message) as caught:
            afresh(KLEIN, lora=str(file), lora_fused=fused)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["torchao_int8", "torchao_float8"])
def test_quantized_weights_are_small_and_paint_nearly_the_same(kind: str, tmp_path: Path) -> None:
    plain, editor = painted(KLEIN, dtype="bfloat16"), afresh(KLEIN, dtype="bfloat16", quantization=kind)
    weight = editor.pipe.transformer.single_transformer_blocks[0].attn.to_out.weight
    assert "torchao" in type(weight).__module__
    [reply] = edited(editor)
    assert reply.details == {**plain.details, "quantization": kind}
    assert far(reply, plain) > 0
    assert reply.image is not None
    assert plain.image is not None
    assert np.abs(reply.image.pixels.astype(int) - plain.image.pixels).mean() < 12
    assert edited(editor) == [reply]
    file = adapter(tmp_path)
    assert far(painted(KLEIN, dtype="bfloat16", quantization=kind, lora=str(file), lora_fused=False), reply) > 3


def test_an_adapter_of_the_hub_is_fetched_by_its_file_and_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def fetched(model: str, revision: str, download: Any) -> Path:
        asked.append((model, revision, download.keywords))
        return tmp_path

    monkeypatch.setattr(hub, "fetched", fetched)
    file = adapter(tmp_path)
    named = {"lora": "owner/few-steps", "lora_file": f"v2/{file.name}", "lora_revision": "abc"}
    assert painted(KLEIN, **named) == painted(KLEIN, lora=str(file))
    assert asked == [("owner/few-steps", "abc", {"filename": f"v2/{file.name}"})]


@pytest.mark.slow
def test_compiled_blocks_take_an_adapter_and_small_weights(tmp_path: Path) -> None:
    both = {"lora": str(adapter(tmp_path)), "lora_fused": False, "quantization": "torchao_int8"}
    plain, compiled = painted(KLEIN, **both), painted(KLEIN, **both, torch_compile=True)
    assert far(plain, compiled) <= 2
