"""What keeps a local model from being used is one line that says what to do; nothing of it is a traceback."""

import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from safetensors.torch import load_file, save_file

from cfeval.backends import registry
from cfeval.backends.registry import Finding
from cfeval.errors import BackendError
from tests.tiny.vlms import checkpoint

Break = Callable[[Path], None]


def remove(*names: str) -> Break:
    def broken(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return broken


def rewrite(name: str, **values: Any) -> Break:
    def broken(folder: Path) -> None:
        content = json.loads((folder / name).read_text()) if (folder / name).exists() else {}
        (folder / name).write_text(json.dumps({**content, **values}))

    return broken


def cut_short(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


def leave_a_pointer(folder: Path) -> None:
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")


def pickle_instead(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def forget_a_weight(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def lose_a_shard(folder: Path) -> None:
    kept = {"embed": "model.safetensors", "head": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": kept}))


def own_code(folder: Path) -> None:
    rewrite("config.json", model_type="own", auto_map={"AutoConfig": "own.Config"})(folder)


BROKEN: dict[str, tuple[Break, str]] = {
    "config": (remove("config.json"), r"incomplete: config.json is missing"),
    "shard": (lose_a_shard, r"incomplete: model-00002-of-00002.safetensors is missing, which .*index.json names"),
    "cut": (cut_short, r"incomplete: model.safetensors is cut short"),
    "pointer": (leave_a_pointer, r"incomplete: model.safetensors is cut short or no safetensors file"),
    "weights": (remove("model.safetensors"), r"incomplete: the weights .* are missing"),
    "pickled": (pickle_instead, r"pickled ones .* convert them to safetensors"),
    "tokenizer": (remove("tokenizer.json", "tokenizer_config.json"), r"incomplete: the tokenizer is missing"),
    "processor": (remove("processor_config.json"), r"incomplete: the image processor is missing"),
    "not JSON": (lambda folder: (folder / "config.json").write_text("{") and None, r"config.json is not JSON"),
    "weight": (forget_a_weight, r"incomplete: 1 weights of its architecture are in no file \(lm_head.weight"),
    "template": (remove("chat_template.jinja"), r"no chat template; take the instruction-tuned"),
    "code": (own_code, r"brings Python code of its own, which is never run"),
    "type": (rewrite("config.json", model_type="tomorrow"), r"cannot be loaded by transformers 5.*`tomorrow`"),
}
SEEN_BEFORE_LOADING = set(BROKEN) - {"weight", "template", "code", "type"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(checkpoint("qwen2_5_vl"), tmp_path / "tiny-vlm")


def spec(model: Path | str, **options: Any) -> dict[str, Any]:
    return {"backend": "transformers", "model": str(model), "device": "cpu", **options}


def fault(model: Path | str, **options: Any) -> str:
    """The error of a build: one line, which names no folder of this machine but what the user wrote."""
    with pytest.raises(BackendError) as caught:
        registry.build("chat", spec(model, **options))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("what", BROKEN)
def test_a_folder_that_is_no_whole_checkpoint_says_what_is_missing(what: str, folder: Path) -> None:
    breaking, expected = BROKEN[what]
    breaking(folder)
    assert re.search(expected, fault(folder))
    found = list(registry.examine("chat", spec(folder)))
    assert [finding.fine for finding in found if "incomplete" in finding.text] == (
        [False] if what in SEEN_BEFORE_LOADING else []
    )


@contextmanager
def hub(monkeypatch: pytest.MonkeyPatch, cache: Path, status: int, code: str) -> Iterator[None]:
    """A hub on loopback that answers every question with one error."""

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("X-Error-Code", code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asked_at(monkeypatch, cache, f"http://127.0.0.1:{server.server_port}")
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def asked_at(monkeypatch: pytest.MonkeyPatch, cache: Path, endpoint: str) -> None:
    """Ask another hub, and keep its answers in a cache of its own."""
    constants = huggingface_hub.constants
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (403, "GatedRepo", "is gated: accept its licence on its page on the hub, then set HF_TOKEN"),
        (404, "RepoNotFound", "no such folder here, no such model on the hub; check the name"),
        (404, "RevisionNotFound", "has the model but not this revision; check `revision`"),
    ],
)
def test_a_model_that_the_hub_does_not_give_says_why(
    status: int, code: str, expected: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with hub(monkeypatch, tmp_path, status, code):
        assert expected in fault("owner/name", revision="v1")


def test_a_hub_out_of_reach_says_how_to_do_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked_at(monkeypatch, tmp_path, "http://127.0.0.1:9")
    expected = "neither a folder here nor complete in the cache, and {}; run `hf download owner/name` where"
    assert expected.format("the hub cannot be reached") in fault("owner/name")
    (found,) = registry.examine("chat", spec("owner/name"))
    assert found == Finding(True, "model 'owner/name' is not on this machine; the first job downloads it from the hub")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert expected.format("HF_HUB_OFFLINE is set") in fault("owner/name")
    (found,) = registry.examine("chat", spec("owner/name"))
    assert not found.fine


def test_a_copy_in_the_hubs_cache_is_used_and_named_by_its_commit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from cfeval.backends.chat.base import ChatRequest, Turn

    asked_at(monkeypatch, tmp_path, "http://127.0.0.1:9")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    commit, store = "0123456789abcdef" * 2 + "01234567", tmp_path / "models--owner--name"
    shutil.copytree(checkpoint("llama"), store / "snapshots" / commit)
    (store / "refs").mkdir()
    (store / "refs" / "main").write_text(commit)
    assert all(finding.fine for finding in registry.examine("chat", spec("owner/name")))
    chat = registry.build("chat", spec("owner/name", max_tokens=1))
    assert chat.chat([ChatRequest("i", (Turn("user", "?"),), 1)])[0].model == "owner/name@0123456789ab"


@pytest.mark.parametrize("model", ["./no/such/folder", "no/such/folder", "a b"])
def test_a_path_that_is_not_there_says_so(model: str) -> None:
    assert f"model '{model}': no such folder here" in fault(model)


def test_a_gpu_that_is_not_there_says_what_to_set(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    expected = "device 'cuda' needs a GPU, and torch finds none here; set device: cpu"
    assert expected in fault(folder, device="cuda")
    found = list(registry.examine("chat", spec(folder, device="cuda")))
    assert [expected in finding.text for finding in found if not finding.fine] == [True]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert "device 'cuda:2' needs a GPU, and torch finds only 2 of them" in fault(folder, device="cuda:2")


@pytest.mark.parametrize(
    ("package", "options"),
    [("flash_attn", {"attention": "flash_attention_2"}), ("accelerate", {"device": "auto", "device_map": "auto"})],
)
def test_a_package_that_is_not_installed_is_named(
    package: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    from cfeval.backends.local_chat import loading

    monkeypatch.setattr(loading, "find_spec", lambda name: None if name == package else object())
    expected = f"needs the package '{package.replace('_', '-')}'; install it, or set"
    assert expected in fault(folder, **options)
    assert not next(registry.examine("chat", spec(folder, **options))).fine


def test_a_package_that_the_library_misses_is_named(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    import transformers

    def missing(*arguments: object, **options: object) -> None:
        raise ImportError("\nTinyProcessor requires the Torchvision library but it was not found.\nCheckout …")

    monkeypatch.setattr(transformers.AutoProcessor, "from_pretrained", missing)
    assert fault(folder) == (
        "model 'tiny-vlm' needs a package that is not installed: "
        "TinyProcessor requires the Torchvision library but it was not found."
    )


def test_a_model_too_large_for_memory_is_seen_before_and_while_loading(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    import torch
    import transformers
    from psutil import virtual_memory

    little = virtual_memory()._replace(available=1000)
    monkeypatch.setattr("psutil.virtual_memory", lambda: little)
    (found,) = [finding for finding in registry.examine("chat", spec(folder)) if not finding.fine]
    assert "set dtype: bfloat16, device_map: auto, or take a smaller model" in found.text

    def full(*arguments: object, **options: object) -> None:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.\nSee …")

    monkeypatch.setattr(transformers.AutoModelForImageTextToText, "from_pretrained", full)
    assert "does not fit into memory; set dtype: bfloat16" in fault(folder)


def test_settings_that_cannot_have_an_effect_are_refused(folder: Path) -> None:
    assert "a folder has no `revision`" in fault(folder, revision="main")
    assert "reads text only; leave min_pixels and max_pixels out" in fault(checkpoint("llama"), max_pixels=100)
    for model, options in ((folder, {"revision": "main"}), (checkpoint("llama"), {"max_pixels": 100})):
        assert not all(finding.fine for finding in registry.examine("chat", spec(model, **options)))


def test_a_look_at_a_model_says_its_size_in_the_type_it_will_have(folder: Path) -> None:
    from cfeval.backends.local_chat.folder import weights_size

    stored = sum(weight.numel() * 4 for weight in load_file(folder / "model.safetensors").values())
    assert weights_size(folder, "auto") == pytest.approx(stored, rel=0.1)
    assert weights_size(folder, "bfloat16") == weights_size(folder, "auto") // 2
    findings = list(registry.examine("chat", spec(folder, max_pixels=100)))
    assert all(finding.fine for finding in findings)
    assert [finding for finding in findings if "at most 100 pixels" in finding.text]
