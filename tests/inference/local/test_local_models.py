"""What the plugins that compute on this machine share: checkpoints in folders and on a hub, devices, memory."""

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from cfeval.core import registry
from cfeval.core.errors import CfevalError, OutputError, PluginError
from cfeval.core.images import Image
from cfeval.edct.interfaces import EditRequest
from cfeval.edct.plugins.masks import MaskOptions, examine_masks, mask_source
from cfeval.inference.chat import ChatMessage, ChatRequest
from cfeval.inference.local.devices import out_of_memory
from cfeval.inference.local.hub import weights_fault, weights_size
from tests.answers import answers
from tests.slow import fast_only
from tests.tiny import editors, vlms
from tests.tiny.hub import COMMIT, MODEL, NOWHERE, asked_at, hub

PIPELINE = "StableDiffusionImg2ImgPipeline"
SMALL: dict[str, dict[str, Any]] = {
    "chat": {"plugin": "transformers", "device": "cpu", "max_tokens": 3},
    "editors": {"plugin": "diffusers", "device": "cpu", "steps": 2, "max_pixels": 64 * 64},
}
CHECKPOINTS: dict[str, Callable[[], Path]] = {
    "chat": lambda: vlms.checkpoint("llama"),
    "editors": lambda: editors.checkpoint(PIPELINE),
}
INDEXES = {"chat": "config.json", "editors": "model_index.json"}
WEIGHTS = {"chat": "model.safetensors", "editors": "unet/diffusion_pytorch_model.safetensors"}
FAMILIES = pytest.mark.parametrize("family", SMALL)
CHAT_FAST = pytest.mark.parametrize("family", fast_only(SMALL, "chat"))


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked_at(monkeypatch, NOWHERE, tmp_path / "cache")


def spec(family: str, model: Path | str, **options: Any) -> dict[str, Any]:
    return {**SMALL[family], "model": str(model), **options}


def answer(family: str, model: Path | str) -> tuple[str, str]:
    """What a plugin made of one request, and what it calls its model."""
    built = registry.build(family, spec(family, model))
    if family == "chat":
        reply = answers(built.generate, [ChatRequest("i", (ChatMessage("user", "what?"),), 1)])[0]
        return reply.text, reply.model
    image = Image.from_pixels(np.zeros((64, 48, 3), np.uint8))
    reply = answers(built.edit, [EditRequest("i", image, "make it blue", "red", seed=1, concept="bus")])[0]
    return reply.image.sha256, reply.details["model"]


def fault(family: str, model: Path | str, **options: Any) -> str:
    """The error of a build: one line, which the doctor says too."""
    with pytest.raises(CfevalError) as caught:
        registry.build(family, spec(family, model, **options))
    text = str(caught.value)
    assert "\n" not in text
    assert [f.text for f in registry.diagnose(family, spec(family, model, **options)) if not f.fine] == [text]
    return text


def told(family: str, model: Path | str) -> str:
    """What the doctor says, which is fine."""
    findings = list(registry.diagnose(family, spec(family, model)))
    assert all(finding.fine for finding in findings), findings
    return "; ".join(finding.text for finding in findings)


@pytest.mark.slow
@CHAT_FAST
def test_a_model_of_the_hub_is_fetched_once_and_named_by_its_commit(
    family: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(CHECKPOINTS[family](), tmp_path / "served"))
    weights = folder / WEIGHTS[family]
    for other in ("other.fp16.safetensors", "other.non_ema.safetensors", "consolidated.safetensors", "pickled.bin"):
        weights.with_name(other).write_bytes(b"not to be fetched")
    with hub(folder) as (address, fetched):
        asked_at(monkeypatch, address)
        assert f"model '{MODEL}' is not on this machine; the first job downloads it" in told(family, MODEL)
        assert fetched == [INDEXES[family]]
        first = answer(family, MODEL)
        assert len(fetched) == len(set(fetched))
        assert WEIGHTS[family] in fetched
        assert not [name for name in fetched if name.endswith(("ema.safetensors", "fp16.safetensors", ".bin"))]
        before = list(fetched)
        assert answer(family, MODEL) == first == (answer(family, folder)[0], f"{MODEL}@{COMMIT}")
        assert fetched == before
    asked_at(monkeypatch, NOWHERE)
    assert answer(family, MODEL) == first
    assert f"model '{MODEL}@{COMMIT}' is complete" in told(family, MODEL)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert answer(family, MODEL) == first


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (404, "RepoNotFound", "is no folder here and no public model on the hub; check the name, or set HF_TOKEN"),
        (401, "RepoNotFound", "is no folder here and no public model on the hub; check the name, or set HF_TOKEN"),
        (403, "GatedRepo", "is gated: accept its licence on its page on the hub, then set HF_TOKEN"),
        (404, "RevisionNotFound", "has no revision 'v9' on the hub; give a branch, tag or commit"),
        (503, "", "neither a folder here nor complete in the cache, and the hub failed (Server error '503"),
    ],
)
@FAMILIES
def test_what_the_hub_refuses_is_one_line_with_what_to_do(
    family: str, status: int, code: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub(None, status, code) as (address, _):
        asked_at(monkeypatch, address)
        assert fault(family, MODEL, revision="v9").startswith(f"model '{MODEL}' {expected}".split(" neither")[0])
        assert expected in fault(family, MODEL, revision="v9")


@FAMILIES
def test_a_model_that_lacks_what_its_kind_has_is_of_another_format(
    family: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "served").mkdir()
    with hub(tmp_path / "served") as (address, _):
        asked_at(monkeypatch, address)
        assert "lacks a file on the hub that is needed" in fault(family, MODEL)


@FAMILIES
def test_a_hub_out_of_reach_says_how_to_do_without(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = "model 'models/mine' is neither a folder here nor complete in the cache, and"
    do = "; run `hf download models/mine` where there is a network, or give the path of a folder"
    assert fault(family, "models/mine") == f"{expected} the hub cannot be reached ([Errno 111] Connection refused){do}"
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert fault(family, "models/mine") == f"{expected} HF_HUB_OFFLINE is set{do}"


@CHAT_FAST
def test_a_download_that_was_broken_off_is_not_taken_for_whole(
    family: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with hub(CHECKPOINTS[family]()) as (address, _):
        asked_at(monkeypatch, address)
        told(family, MODEL)  # fetches the index alone
        (copy,) = (tmp_path / "cache").glob("models--*/snapshots/*")
        assert "the first job downloads it" in told(family, MODEL)
        answer(family, MODEL)
        (copy / WEIGHTS[family]).unlink()
        assert "the first job downloads it" in told(family, MODEL)
    asked_at(monkeypatch, NOWHERE)
    assert "nor complete in the cache" in fault(family, MODEL)


def test_a_disk_that_fills_up_while_a_model_is_fetched_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "cache")

    with hub(vlms.checkpoint("llama")) as (address, _):
        asked_at(monkeypatch, address)
        monkeypatch.setattr(huggingface_hub, "snapshot_download", full)
        with pytest.raises(OutputError, match=r"^cannot write cache: the disk is full; free some space"):
            registry.build("chat", spec("chat", MODEL))


@pytest.mark.parametrize("model", ["./no/such/folder", "no/such/folder", "a b", "some one/some..model"])
@FAMILIES
def test_a_path_that_is_not_there_says_so(family: str, model: str) -> None:
    expected = "no such folder here, and no name that the hub could have (owner/name); check the path"
    assert fault(family, model) == f"model '{model}': {expected}"


@pytest.mark.slow
@FAMILIES
def test_a_folder_has_no_revision(family: str) -> None:
    folder = CHECKPOINTS[family]()
    assert fault(family, folder, revision="main") == (
        f"model '{folder.name}' is a folder here, and a folder has no revision; leave it out"
    )


def test_a_mask_model_comes_from_the_hub_too(monkeypatch: pytest.MonkeyPatch) -> None:
    options = MaskOptions(mask_model=MODEL)
    with hub(editors.checkpoint("clipseg")) as (address, fetched):
        asked_at(monkeypatch, address)
        assert examine_masks(options) == (
            f"mask model '{MODEL}' is not on this machine; the first job downloads it from the hub"
        )
        mask_source(options)
        assert "model.safetensors" in fetched
    asked_at(monkeypatch, NOWHERE)
    assert examine_masks(options) == f"mask model '{MODEL}@{COMMIT}' is complete"
    with pytest.raises(PluginError, match="'someone/other' is neither a folder here nor complete in the cache"):
        mask_source(MaskOptions(mask_model="someone/other"))


@FAMILIES
def test_results_depend_on_every_file_of_the_folder_that_is_not_hidden(family: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(CHECKPOINTS[family](), tmp_path / "model"))
    weights = folder / WEIGHTS[family]
    (weights.parent / "additional_chat_templates").mkdir()
    (weights.parent / "additional_chat_templates" / "tool.jinja").touch()
    (weights.parent / "any.thing").touch()
    expected = {str(path) for path in folder.rglob("*") if path.is_file()}
    (weights.parent / ".cache").mkdir()
    (weights.parent / ".cache" / "lock").touch()
    assert set(registry.dependencies(family, spec(family, folder))) == expected
    shards = {"a": weights.name, "b": "gone.safetensors"}
    (index := weights.parent / "x.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    named = set(registry.dependencies(family, spec(family, folder)))
    assert named == {*expected, str(index), str(weights.with_name("gone.safetensors"))}


@FAMILIES
def test_a_folder_that_is_not_there_lacks_its_first_file_and_a_name_on_the_hub_has_none(
    family: str, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    assert registry.dependencies(family, spec(family, gone)) == (str(gone / INDEXES[family]),)
    assert registry.dependencies(family, spec(family, "owner/name")) == ()


@FAMILIES
def test_a_device_that_is_not_there_says_what_torch_finds(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    todo = "set device: auto, or check the driver (`nvidia-smi`) and that torch is a build for it"
    for device in ("mps", "cuda", "cuda:0"):
        expected = f"device '{device}': torch finds no such device here (it finds 1 cpu); {todo}"
        assert fault(family, CHECKPOINTS[family](), device=device) == expected
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert "(it finds 2 cuda, 1 cpu)" in fault(family, CHECKPOINTS[family](), device="cuda:2")


@FAMILIES
def test_weights_that_memory_cannot_hold_are_seen_before(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from psutil import virtual_memory

    little = virtual_memory()._replace(available=1000)
    monkeypatch.setattr("psutil.virtual_memory", lambda: little)
    folder = CHECKPOINTS[family]()
    (found,) = [f.text for f in registry.diagnose(family, spec(family, folder)) if not f.fine]
    expected = f"the weights of '{folder.name}' take 0.0 GiB of memory, the host has 0.0 GiB; set dtype: bfloat16"
    assert found.startswith(expected)


def test_the_size_of_weights_is_that_in_the_type_they_will_have(tmp_path: Path) -> None:
    numbers = {"a": np.zeros((3, 5), np.float32), "b": np.zeros(7, np.float16), "c": np.zeros(11, np.int64)}
    save_file(numbers, tmp_path / "model.safetensors")
    save_file(numbers, tmp_path / "consolidated.safetensors")
    assert weights_size(tmp_path, "auto") == 15 * 4 + 7 * 2 + 11 * 8
    assert weights_size(tmp_path, "bfloat16") == 15 * 2 + 7 * 2 + 11 * 8
    assert weights_size(tmp_path, "float32") == 15 * 4 + 7 * 4 + 11 * 8
    assert load_file(tmp_path / "model.safetensors").keys() == numbers.keys()


@pytest.mark.parametrize("length", [0, 2, 5, 2**63])
@pytest.mark.parametrize("rest", [b"", b"{}more", b"[]", b'{"a":', b'{"a":{"dtype":"F32"}}'])
def test_what_is_no_safetensors_file_is_seen_without_loading(length: int, rest: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(length.to_bytes(8, "little") + rest)
    assert weights_fault(tmp_path) == "model.safetensors is cut short or no safetensors file"


@pytest.mark.parametrize("content", ["{", "[]", ""])
def test_an_index_that_cannot_be_read_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(content)
    assert weights_fault(tmp_path) == "model.safetensors.index.json is not JSON, or empty"


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (MemoryError(), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), True),
        (RuntimeError("MPS plugin out of memory (MPS allocated: 9 GB)"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_memory_that_runs_out_is_told_from_other_errors(error: Exception, full: bool) -> None:
    assert out_of_memory(error) == full
